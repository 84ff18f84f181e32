/// The value of an `Authorization` header: user and proof, RFC 7616 §3.4 and RFC 7617 §2.
enum Authorization: Hashable {
  /// User name and password in plain text.
  case basic(user: [UInt8], password: [UInt8])
  /// A hash over the password and the server's nonce.
  case digest(Digest)

  /// The parameters of the Digest scheme.
  struct Digest: Hashable {
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
  struct Protection: Hashable {
    var nonceCount: String
    var clientNonce: String
  }

  /// Parses a header value; nil for other schemes and malformed values.
  init?(parsing value: String) {
    guard let space = value.utf8.firstIndex(of: UInt8(ascii: " ")) else { return nil }
    let scheme = value[..<space]
    let rest = value[space...].trimmingSpace()
    if scheme.equalsIgnoringCase("Basic") {
      guard let bytes = decodeBase64(rest), let colon = bytes.firstIndex(of: UInt8(ascii: ":")) else { return nil }
      self = .basic(user: Array(bytes[..<colon]), password: Array(bytes[(colon + 1)...]))
    } else if scheme.equalsIgnoringCase("Digest") {
      guard let digest = Digest(parsing: rest) else { return nil }
      self = .digest(digest)
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
      self.protection = Authorization.Protection(nonceCount: count, clientNonce: clientNonce)
    }
  }
}

/// Decodes Base64, RFC 4648 §4, with or without padding; nil when a character is not in the alphabet.
private func decodeBase64(_ text: String) -> [UInt8]? {
  var bytes: [UInt8] = []
  var bits: UInt32 = 0
  var bitCount = 0
  var digits = text.utf8[...]
  while digits.last == UInt8(ascii: "=") { digits.removeLast() }
  for digit in digits {
    let value: UInt8
    switch digit {
    case UInt8(ascii: "A")...UInt8(ascii: "Z"): value = digit - UInt8(ascii: "A")
    case UInt8(ascii: "a")...UInt8(ascii: "z"): value = digit - UInt8(ascii: "a") + 26
    case UInt8(ascii: "0")...UInt8(ascii: "9"): value = digit - UInt8(ascii: "0") + 52
    case UInt8(ascii: "+"): value = 62
    case UInt8(ascii: "/"): value = 63
    default: return nil
    }
    bits = (bits << 6 | UInt32(value)) & 0xffff
    bitCount += 6
    if bitCount >= 8 {
      bitCount -= 8
      bytes.append(UInt8(truncatingIfNeeded: bits >> UInt32(bitCount)))
    }
  }
  return bytes
}
