internal import Cryptography

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
  private static let lifetime: Int64 = 3650 * 86_400

  let certificate: Certificate
  let constraints: AuthorityConstraints
  private let key: PrivateKey

  /// Generates an authority with a P-256 key, for a machine with these names.
  ///
  /// - Parameter now: Start of the validity, which is extended by one day into the past.
  init(for names: CertificateNames, now: Date) throws(CryptographyError) {
    let key = try PrivateKey()
    let constraints = AuthorityConstraints(for: names)
    let start = Self.start(of: now)
    self.certificate = try Certificate.authority(
      Certificate.Subject(
        commonName: Self.commonName("Vidicon authority of", names), notBefore: start, notAfter: start + Self.lifetime),
      permitting: constraints.permittedNames, key: key)
    self.constraints = constraints
    self.key = key
  }

  /// Reads an authority from the PEM of its key and certificate.
  ///
  /// - Throws: ``Problem``.
  init(pem: String, now: Date) throws(Problem) {
    guard let (key, certificate) = PEM.keyAndCertificate(in: pem), certificate.belongs(to: key),
      certificate.isSigned(by: certificate)
    else { throw .malformed }
    guard let constraints = AuthorityConstraints(of: certificate), certificate.issuesEndEntities else {
      throw .unconstrained
    }
    guard certificate.notValidAfter > now else { throw .expired }
    self.certificate = certificate
    self.constraints = constraints
    self.key = key
  }

  /// PEM of the private key and the certificate.
  var pem: String {
    get throws(CryptographyError) { try self.key.pem + self.certificate.pem }
  }

  /// Issues the certificate of a TLS server with a key of its own, for those of the names that are permitted.
  ///
  /// - Parameter now: Start of the validity, which is extended by one day into the past.
  func issue(for names: CertificateNames, now: Date) throws(CryptographyError) -> IssuedCertificate {
    let key = try PrivateKey()
    let names = self.constraints.permitted(names)
    let start = max(Self.start(of: now), self.certificate.notBefore)
    let subject = Certificate.Subject(
      commonName: Self.commonName("Vidicon on", names), notBefore: start,
      notAfter: min(start + IssuedCertificate.lifetime, self.certificate.notAfter))
    let certificate = try Certificate.server(
      subject, names: names.generalNames, key: key, issuer: self.certificate, issuerKey: self.key)
    return IssuedCertificate(certificate: certificate, key: key)
  }

  /// A time one day earlier, since clocks in a LAN may be slow, in whole seconds since 1970.
  private static func start(of now: Date) -> Int64 {
    Int64((now.timeIntervalSince1970 - 86_400).rounded(.down))
  }

  /// Words and a name of the machine, of at most 64 characters, RFC 5280 Appendix A.1 (`ub-common-name`).
  private static func commonName(_ words: String, _ names: CertificateNames) -> String {
    String("\(words) \(names.hosts.last ?? "localhost")".prefix(64))
  }
}

extension CertificateNames {
  /// The names as a certificate has them.
  var generalNames: [GeneralName] {
    self.hosts.map { .dns($0) } + self.addresses.map { .address($0) }
  }
}
