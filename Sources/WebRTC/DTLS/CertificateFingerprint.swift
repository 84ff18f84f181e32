internal import Cryptography
package import Media

/// Hash function of a certificate's fingerprint, RFC 8122 §5. MD5 and SHA-1 are not among them: they do not prove anything.
package enum FingerprintAlgorithm: String, Hashable, Sendable, CaseIterable {
  case sha256 = "sha-256"
  case sha384 = "sha-384"
  case sha512 = "sha-512"

  /// Length of the digest in bytes.
  package var length: Int {
    switch self {
    case .sha256: 32
    case .sha384: 48
    case .sha512: 64
    }
  }
}

/// The value of `a=fingerprint`, RFC 8122 §5: what the certificate of the DTLS peer must hash to.
package struct CertificateFingerprint: Hashable, Sendable, CustomStringConvertible {
  /// Hash function by which the digest was made.
  package let algorithm: FingerprintAlgorithm
  /// The digest, of the algorithm's length.
  package let digest: [UInt8]

  /// A fingerprint of a digest, which has the algorithm's length.
  package init(algorithm: FingerprintAlgorithm, digest: [UInt8]) {
    precondition(digest.count == algorithm.length, "a digest has the length of its algorithm")
    self.algorithm = algorithm
    self.digest = digest
  }

  /// Parses `sha-256 AB:CD:…`.
  ///
  /// - Throws: `ParsingError`: `.unsupported` for another algorithm, `.invalid` for another digest than its.
  package init(parsing text: String) throws(ParsingError) {
    let parts = text.split(separator: " ", omittingEmptySubsequences: true)
    guard parts.count == 2 else { throw ParsingError(.invalid, field: "fingerprint") }
    guard let algorithm = FingerprintAlgorithm(rawValue: parts[0].lowercased()) else {
      throw ParsingError(.unsupported, field: "fingerprint")
    }
    let digits = parts[1].split(separator: ":", omittingEmptySubsequences: false)
    let digest = digits.compactMap { $0.utf8.count == 2 ? Hexadecimal.decode($0)?.first : nil }
    guard digits.count == algorithm.length, digest.count == algorithm.length else {
      throw ParsingError(.invalid, field: "fingerprint")
    }
    self.init(algorithm: algorithm, digest: digest)
  }

  /// The value of `a=fingerprint`: `sha-256 AB:CD:…`.
  package var description: String {
    "\(self.algorithm.rawValue) \(Hexadecimal.encode(self.digest, uppercase: true, separator: ":"))"
  }

  /// Whether the peer of a DTLS association has this certificate, compared in constant time.
  package func matches(peerOf endpoint: any DTLSEndpoint) -> Bool {
    guard let digest = endpoint.peerFingerprint(self.algorithm) else { return false }
    return ConstantTime.isEqual(digest, self.digest)
  }
}
