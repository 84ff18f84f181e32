internal import Cryptography

#if canImport(FoundationEssentials)
internal import FoundationEssentials
#else
internal import Foundation
#endif

/// A certificate of a TLS server that a ``LocalAuthority`` has issued, with its private key.
struct IssuedCertificate: Sendable {
  /// The reason why another certificate is issued.
  enum RenewalReason: Hashable {
    /// The issuer is another authority, or the certificate is damaged.
    case wrongIssuer
    /// The validity ends within 30 days, or has not begun.
    case validity
    /// A name or an address of the machine is missing.
    case names
  }

  /// Validity: 397 days, of which RFC 5280 §4.1.2.5 counts the last second too. Apple's clients reject certificates valid for
  /// more than 398.
  static let lifetime: Int64 = 397 * 86_400 - 1
  /// Remaining validity below which a new certificate is issued.
  private static let renewal: TimeInterval = 30 * 86_400

  let certificate: Certificate
  let key: PrivateKey

  init(certificate: Certificate, key: PrivateKey) {
    self.certificate = certificate
    self.key = key
  }

  /// Reads a certificate and its key from PEM; nil where they are malformed or do not belong together: two processes that
  /// write at once may leave the certificate of one and the key of the other.
  init?(certificate: String, key: String) {
    guard let certificate = PEM.certificate(in: certificate), let key = PEM.key(in: key), certificate.belongs(to: key)
    else { return nil }
    self.init(certificate: certificate, key: key)
  }

  /// Returns why another certificate is needed; nil where this one can be kept.
  ///
  /// An address that the machine no longer has is no reason: it may come back, and browsers have accepted the certificate.
  ///
  /// - Parameters:
  ///   - authority: The issuer.
  ///   - names: The current names and addresses of the machine.
  func renewalReason(authority: LocalAuthority, names: CertificateNames, now: Date) -> RenewalReason? {
    guard self.certificate.isSigned(by: authority.certificate), let alternatives = self.certificate.alternativeNames
    else { return .wrongIssuer }
    // Of an authority that ends sooner, or begins later, no other certificate would be better.
    let end = min(now.addingTimeInterval(Self.renewal), authority.certificate.notValidAfter)
    guard self.certificate.notValidBefore <= max(now, authority.certificate.notValidBefore),
      self.certificate.notValidAfter >= end
    else { return .validity }
    let isComplete = authority.constraints.permitted(names).generalNames.allSatisfy { alternatives.contains($0) }
    return isComplete ? nil : .names
  }
}

extension Certificate {
  /// Start of the validity.
  var notValidBefore: Date { Date(timeIntervalSince1970: TimeInterval(self.notBefore)) }

  /// End of the validity.
  var notValidAfter: Date { Date(timeIntervalSince1970: TimeInterval(self.notAfter)) }
}
