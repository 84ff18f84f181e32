internal import Crypto

/// The hash of the Digest scheme, RFC 7616 §3.3.
enum DigestAlgorithm: String, Hashable, CaseIterable {
  /// RFC 7616 wants it; cameras and recorders of the ONVIF kind know it.
  case sha256 = "SHA-256"
  /// What nearly every player knows, and what is meant when nothing is said.
  case md5 = "MD5"

  /// The algorithm that a client names; nil for one that is not offered.
  init?(named name: String?) {
    guard let name else {
      self = .md5
      return
    }
    guard let algorithm = Self.allCases.first(where: { $0.rawValue.equalsIgnoringCase(name) }) else { return nil }
    self = algorithm
  }

  /// The hash of the parts with a colon between, in small hexadecimal digits.
  func hash(_ parts: String...) -> String {
    var text = parts.joined(separator: ":")
    return text.withUTF8 { bytes in
      switch self {
      case .sha256: hexadecimal(SHA256.hash(data: UnsafeRawBufferPointer(bytes)))
      case .md5: hexadecimal(Insecure.MD5.hash(data: UnsafeRawBufferPointer(bytes)))
      }
    }
  }
}
