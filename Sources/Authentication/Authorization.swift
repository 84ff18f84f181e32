internal import Media

/// The value of an `Authorization` header: user and proof, RFC 7616 §3.4 and RFC 7617 §2, or a token, RFC 6750 §2.1.
package enum Authorization: Hashable {
  /// User name and password in plain text.
  case basic(user: [UInt8], password: [UInt8])
  /// A hash over the password and the server's nonce.
  case digest(Digest)
  /// A token, RFC 6750 §2.1.
  case bearer(String)

  /// The parameters of the Digest scheme.
  package struct Digest: Hashable {
    var user: String
    var realm: String
    var nonce: String
    var uri: String
    /// The hash in hexadecimal digits.
    var response: String
    var algorithm: DigestAlgorithm
    /// `nc` and `cnonce` of quality of protection `auth`; nil for a proof of RFC 2069.
    var protection: Protection?
  }

  /// The client's input to the hash with `qop=auth`.
  package struct Protection: Hashable {
    var nonceCount: String
    var clientNonce: String

    /// The value of ``nonceCount``: 1 to 8 hexadecimal digits; nil for other text.
    var number: UInt32? {
      guard (1...8).contains(self.nonceCount.utf8.count),
        self.nonceCount.utf8.allSatisfy({ $0.hexadecimalValue != nil })
      else { return nil }
      return UInt32(self.nonceCount, radix: 16)
    }
  }

  /// Parses a header value; nil for other schemes and malformed values.
  package init?(parsing value: String) {
    guard let space = value.utf8.firstIndex(of: UInt8(ascii: " ")) else { return nil }
    let scheme = value[..<space]
    let rest = value[space...].trimmingSpace()
    if scheme.equalsIgnoringCase("Basic") {
      guard let bytes = Base64.decode(rest), let colon = bytes.firstIndex(of: UInt8(ascii: ":")) else { return nil }
      self = .basic(user: Array(bytes[..<colon]), password: Array(bytes[(colon + 1)...]))
    } else if scheme.equalsIgnoringCase("Digest") {
      guard let digest = Digest(parsing: rest) else { return nil }
      self = .digest(digest)
    } else if scheme.equalsIgnoringCase("Bearer") {
      guard rest.utf8.count <= AccessToken.maximumLength, AccessToken.isToken(rest) else { return nil }
      self = .bearer(rest)
    } else {
      return nil
    }
  }
}

extension Authorization.Digest {
  /// Parses `name=value` or `name="value"` separated by commas; nil when a parameter is missing, repeated or
  /// unsupported.
  init?(parsing text: String) {
    var parameters: [String: String] = [:]
    for part in text.splitOutsideQuotes(UInt8(ascii: ",")) where !part.isEmpty {
      guard let equals = part.utf8.firstIndex(of: UInt8(ascii: "=")) else { return nil }
      let name = String(decoding: part[..<equals].trimmingSpace().utf8.map(\.lowercasedASCII), as: UTF8.self)
      let value = part[part.utf8.index(after: equals)...].trimmingSpace().unquoted()
      guard parameters.updateValue(value, forKey: name) == nil else { return nil }
    }
    guard let user = parameters["username"], let realm = parameters["realm"], let nonce = parameters["nonce"],
      let uri = parameters["uri"], let response = parameters["response"],
      let algorithm = DigestAlgorithm(named: parameters["algorithm"])
    else { return nil }
    self.init(
      user: user, realm: realm, nonce: nonce, uri: uri, response: response, algorithm: algorithm, protection: nil)
    if let quality = parameters["qop"] {
      guard quality.equalsIgnoringCase("auth"), let count = parameters["nc"], let clientNonce = parameters["cnonce"],
        !clientNonce.isEmpty
      else { return nil }
      let protection = Authorization.Protection(nonceCount: count, clientNonce: clientNonce)
      guard protection.number != nil else { return nil }
      self.protection = protection
    }
  }
}
