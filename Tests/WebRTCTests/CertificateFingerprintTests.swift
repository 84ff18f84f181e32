import Media
import Testing
import WebRTC

@Suite("Certificate fingerprints, RFC 8122 §5")
struct CertificateFingerprintTests {
  @Test(arguments: FingerprintAlgorithm.allCases)
  func `parsing and serializing are inverse`(algorithm: FingerprintAlgorithm) throws {
    let fingerprint = CertificateFingerprint(algorithm: algorithm, digest: (0..<algorithm.length).map { UInt8($0) })
    let text = fingerprint.description
    #expect(text.hasPrefix("\(algorithm.rawValue) 00:01:02") && text.hasSuffix("F"))
    #expect(try CertificateFingerprint(parsing: text) == fingerprint)
    #expect(try CertificateFingerprint(parsing: text.lowercased()) == fingerprint)
    for length in 0..<text.count {
      #expect(throws: ParsingError.self) { try CertificateFingerprint(parsing: String(text.prefix(length))) }
    }
  }

  @Test(arguments: ["sha-1 00:11", "md5 00", "SHA-224 00"])
  func `other algorithms are unsupported`(text: String) {
    #expect(throws: ParsingError(.unsupported, field: "fingerprint")) { try CertificateFingerprint(parsing: text) }
  }

  @Test(arguments: ["+1", "-1", "1", "001", "GG", ""])
  func `a digest with other digits is refused`(digit: String) {
    let text = "sha-256 " + Array(repeating: digit, count: 32).joined(separator: ":")
    #expect(throws: ParsingError(.invalid, field: "fingerprint")) { try CertificateFingerprint(parsing: text) }
  }
}
