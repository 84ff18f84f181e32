internal import Crypto
internal import SwiftASN1
internal import X509

#if canImport(FoundationEssentials)
internal import FoundationEssentials
#else
internal import Foundation
#endif

/// The certificate authority of this machine, which a phone can be made to trust.
///
/// Critical name constraints limit what its key is good for: certificates of TLS servers in a local network.
struct LocalAuthority: Sendable {
  /// The reason why a file's content is not used as an authority.
  enum Problem: Error {
    /// No private key with its certificate.
    case malformed
    /// Valid for more than an authority of this program: no constraints, wider ones, or other uses of the key.
    case unconstrained
    case expired
  }

  /// Validity: ten years, since each phone has to be made to trust the next one.
  private static let lifetime: TimeInterval = 3650 * 86_400

  let certificate: Certificate
  let constraints: AuthorityConstraints
  private let key: Certificate.PrivateKey

  /// Generates an authority with a P-256 key, for a machine with these names.
  ///
  /// - Parameter now: Start of the validity, which is extended by one day into the past.
  init(for names: CertificateNames, now: Date) throws {
    let key = Certificate.PrivateKey(P256.Signing.PrivateKey())
    let constraints = AuthorityConstraints(for: names)
    let name = try DistinguishedName {
      CommonName(String("Vidicon authority of \(names.hosts.last ?? "localhost")".prefix(64)))
    }
    let start = Self.start(of: now)
    self.certificate = try Certificate(
      version: .v3, serialNumber: Certificate.SerialNumber(), publicKey: key.publicKey,
      notValidBefore: start, notValidAfter: start.addingTimeInterval(Self.lifetime),
      issuer: name, subject: name, signatureAlgorithm: .ecdsaWithSHA256,
      extensions: Certificate.Extensions {
        Critical(BasicConstraints.isCertificateAuthority(maxPathLength: 0))
        Critical(KeyUsage(keyCertSign: true))
        Critical(constraints.nameConstraints)
        // Neither mail nor programs are signed, although name constraints do not limit these.
        try ExtendedKeyUsage([.serverAuth])
        SubjectKeyIdentifier(hash: key.publicKey)
      },
      issuerPrivateKey: key)
    self.constraints = constraints
    self.key = key
  }

  /// Reads an authority from the PEM of its key and certificate.
  ///
  /// - Throws: ``Problem``.
  init(pem: String, now: Date) throws(Problem) {
    guard let documents = try? PEMDocument.parseMultiple(pemString: pem), documents.count == 2,
      let key = documents.lazy.compactMap({ try? Certificate.PrivateKey(pemDocument: $0) }).first,
      let certificate = documents.lazy.compactMap({ try? Certificate(pemDocument: $0) }).first,
      key.publicKey == certificate.publicKey, key.publicKey.isValidSignature(certificate.signature, for: certificate)
    else { throw .malformed }
    guard let constraints = AuthorityConstraints(of: certificate),
      certificate.extensions[oid: .X509ExtensionID.basicConstraints]?.critical == true,
      (try? certificate.extensions.basicConstraints) == .isCertificateAuthority(maxPathLength: 0),
      (try? certificate.extensions.keyUsage) == KeyUsage(keyCertSign: true)
    else { throw .unconstrained }
    guard certificate.notValidAfter > now else { throw .expired }
    self.certificate = certificate
    self.constraints = constraints
    self.key = key
  }

  /// PEM of the private key and the certificate.
  var pem: String {
    get throws {
      try "\(self.key.serializeAsPEM().pemString)\n\(self.certificate.serializeAsPEM().pemString)\n"
    }
  }

  /// Issues the certificate of a TLS server with a key of its own, for those of the names that are permitted.
  ///
  /// - Parameter now: Start of the validity, which is extended by one day into the past.
  func issue(for names: CertificateNames, now: Date) throws -> IssuedCertificate {
    let key = Certificate.PrivateKey(P256.Signing.PrivateKey())
    let names = self.constraints.permitted(names)
    let start = max(Self.start(of: now), self.certificate.notValidBefore)
    let certificate = try Certificate(
      version: .v3, serialNumber: Certificate.SerialNumber(), publicKey: key.publicKey,
      notValidBefore: start,
      notValidAfter: min(start.addingTimeInterval(IssuedCertificate.lifetime), self.certificate.notValidAfter),
      issuer: self.certificate.subject,
      subject: try DistinguishedName { CommonName(String("Vidicon on \(names.hosts.last ?? "localhost")".prefix(64))) },
      signatureAlgorithm: .ecdsaWithSHA256,
      extensions: Certificate.Extensions {
        Critical(BasicConstraints.notCertificateAuthority)
        Critical(KeyUsage(digitalSignature: true))
        try ExtendedKeyUsage([.serverAuth])
        SubjectAlternativeNames(names.generalNames)
        AuthorityKeyIdentifier(keyIdentifier: try self.certificate.extensions.subjectKeyIdentifier?.keyIdentifier)
        SubjectKeyIdentifier(hash: key.publicKey)
      },
      issuerPrivateKey: self.key)
    return IssuedCertificate(certificate: certificate, key: key)
  }

  /// A time one day earlier, since clocks in a LAN may be slow, in whole seconds.
  private static func start(of now: Date) -> Date {
    Date(timeIntervalSince1970: (now.timeIntervalSince1970 - 86_400).rounded(.down))
  }
}

extension CertificateNames {
  /// The names as a certificate has them.
  var generalNames: [GeneralName] {
    self.hosts.map { .dnsName($0) } + self.addresses.map { .ipAddress(ASN1OctetString(contentBytes: $0[...])) }
  }
}
