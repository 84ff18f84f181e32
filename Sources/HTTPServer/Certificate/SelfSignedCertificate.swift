internal import Crypto
internal import SwiftASN1
internal import X509

#if canImport(FoundationEssentials)
internal import FoundationEssentials
#else
internal import Foundation
#endif

/// Makes a certificate that nobody vouches for, for the names and addresses of this machine.
enum SelfSignedCertificate {
  /// How long it holds: 397 days; some clients refuse those of more than 398.
  private static let lifetime: TimeInterval = 397 * 86_400
  /// How long before its end a new one is made.
  private static let renewal: TimeInterval = 30 * 86_400

  /// A new certificate and its key, both PEM.
  ///
  /// - Parameters:
  ///   - names: Host names.
  ///   - addresses: The bytes of IPv4 and IPv6 addresses.
  ///   - now: When it begins to hold, but for a day before.
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
      // Clocks in a LAN are not always right.
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

  /// Whether a certificate need not be made anew: it can be read, is not near its end, has all the names, and the key is
  /// its own, which it is not when the program was ended between writing one and the other.
  static func isGood(_ pem: String, key: String, names: [String], now: Date = Date()) -> Bool {
    guard let certificate = try? Certificate(pemEncoded: pem),
      let key = try? Certificate.PrivateKey(pemEncoded: key), key.publicKey == certificate.publicKey,
      certificate.notValidBefore <= now, certificate.notValidAfter > now.addingTimeInterval(Self.renewal),
      let alternatives = try? certificate.extensions.subjectAlternativeNames
    else { return false }
    return names.allSatisfy { alternatives.contains(.dnsName($0)) }
  }
}
