internal import Cryptography
internal import Media

/// The hash algorithm of the Digest scheme, RFC 7616 §3.3.
package enum DigestAlgorithm: String, Hashable, CaseIterable {
  /// Preferred by RFC 7616; supported by ONVIF cameras and recorders.
  case sha256 = "SHA-256"
  /// Supported by nearly every player, and the default without an `algorithm` parameter.
  case md5 = "MD5"

  /// The algorithm of an `algorithm` parameter, MD5 without one; nil when it is not supported.
  init?(named name: String?) {
    guard let name else {
      self = .md5
      return
    }
    guard let algorithm = Self.allCases.first(where: { $0.rawValue.equalsIgnoringCase(name) }) else { return nil }
    self = algorithm
  }

  /// The hash of the parts joined by colons, in lower-case hexadecimal digits.
  package func hash(_ parts: String...) -> String {
    Hexadecimal.encode(self.digest(of: parts.joined(separator: ":")))
  }

  /// The hash of a text in UTF-8.
  package func digest(of text: String) -> [UInt8] {
    switch self {
    case .sha256: HashAlgorithm.sha256.digest(of: text.utf8)
    case .md5: HashAlgorithm.md5.digest(of: text.utf8)
    }
  }
}
