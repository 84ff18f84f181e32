internal import Crypto
internal import SwiftASN1
internal import X509

#if canImport(FoundationEssentials)
internal import FoundationEssentials
#else
internal import Foundation
#endif

/// Generates self-signed certificates for the names and addresses of this machine.
enum SelfSignedCertificate {
  /// Validity: 397 days; Apple's clients reject certificates valid for more than 398.
  private static let lifetime: TimeInterval = 397 * 86_400
  /// Remaining validity below which a new certificate is generated.
  private static let renewal: TimeInterval = 30 * 86_400

  /// Generates a P-256 key and its certificate, both PEM.
  ///
  /// - Parameters:
  ///   - names: Host names.
  ///   - addresses: IPv4 and IPv6 addresses, 4 or 16 bytes each.
  ///   - now: Start of the validity, which is extended by one day into the past.
  static func make(
    names: [String], addresses: [[UInt8]], now: Date = Date()
  ) throws -> (certificate: String, key: String) {
    let key = Certificate.PrivateKey(P256.Signing.PrivateKey())
    let name = try DistinguishedName { CommonName("Vidicon on \(names.first ?? "localhost")") }
    let alternatives =
      names.map { GeneralName.dnsName($0) }
      + addresses.map { GeneralName.ipAddress(ASN1OctetString(contentBytes: $0[...])) }
    let certificate = try Certificate(
      version: .v3, serialNumber: Certificate.SerialNumber(), publicKey: key.publicKey,
      // Clocks in a LAN may be slow.
      notValidBefore: now.addingTimeInterval(-86_400), notValidAfter: now.addingTimeInterval(Self.lifetime),
      issuer: name, subject: name, signatureAlgorithm: .ecdsaWithSHA256,
      extensions: Certificate.Extensions {
        Critical(BasicConstraints.notCertificateAuthority)
        Critical(KeyUsage(digitalSignature: true))
        try ExtendedKeyUsage([.serverAuth])
        SubjectAlternativeNames(alternatives)
      },
      issuerPrivateKey: key)
    return (try certificate.serializeAsPEM().pemString + "\n", try key.serializeAsPEM().pemString + "\n")
  }

  /// Whether a certificate can be kept: it parses, matches the key, has more than 30 days left and contains all names.
  /// Two processes that generate at once may leave the certificate of one and the key of the other.
  static func isUsable(_ pem: String, key: String, names: [String], now: Date = Date()) -> Bool {
    guard let certificate = try? Certificate(pemEncoded: pem),
      let key = try? Certificate.PrivateKey(pemEncoded: key), key.publicKey == certificate.publicKey,
      certificate.notValidBefore <= now, certificate.notValidAfter > now.addingTimeInterval(Self.renewal),
      let alternatives = try? certificate.extensions.subjectAlternativeNames
    else { return false }
    return names.allSatisfy { alternatives.contains(.dnsName($0)) }
  }
}
