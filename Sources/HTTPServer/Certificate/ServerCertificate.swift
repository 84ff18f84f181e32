internal import Cryptography
internal import Media
package import NIOCore
internal import NIOSSL
internal import Serving

#if canImport(FoundationEssentials)
internal import FoundationEssentials
#else
internal import Foundation
#endif

/// The certificate of HTTP over TLS: the owner's, or one of the local authority.
struct ServerCertificate: Sendable {
  /// The configuration of TLS with the certificate, of which each connection gets the current one.
  let tls: TLSCertificate
  /// The certificate of the local authority, for phones to trust; nil for an owner's certificate.
  let authority: AuthorityDocument?

  /// Reads the owner's certificate, or reads or generates a local authority and a certificate of it.
  ///
  /// - Parameter report: Receives a line for each renewed certificate that cannot be stored, and when changed files of the owner's are
  ///   read again.
  /// - Throws: `VidiconError` when a file cannot be used, or chain and key do not belong together.
  init(
    _ certificate: HTTPServerSettings.TLS.Certificate, report: @escaping @Sendable (String) -> Void = { _ in }
  ) throws(VidiconError) {
    switch certificate {
    case .files(let files):
      self.tls = try TLSCertificate(files, report: report)
      self.authority = nil
    case .localAuthority(let folder):
      let renewed = try RenewedCertificate(folder: CertificateFolder(folder), report: report)
      self.tls = try renewed.tls()
      self.authority = try AuthorityDocument(of: renewed.authority)
    }
  }

  /// SHA-256 of the certificate that new connections get: pairs of upper-case hexadecimal digits separated by colons.
  var fingerprint: String {
    // No error: it was parsed from DER, or from PEM, which contains DER.
    (try? self.tls.certificate.toDERBytes()).map { Self.fingerprint(of: $0) } ?? ""
  }

  static func fingerprint(of bytes: [UInt8]) -> String {
    Hexadecimal.encode(HashAlgorithm.sha256.digest(of: bytes), uppercase: true, separator: ":")
  }
}

/// The certificate of the local authority, without its key, in the two forms that systems import.
package struct AuthorityDocument: Sendable {
  /// The certificate in PEM.
  package let pem: ByteBuffer
  /// The certificate in DER.
  package let der: ByteBuffer
  /// SHA-256 of the DER form: pairs of upper-case hexadecimal digits separated by colons.
  package let fingerprint: String

  init(of authority: LocalAuthority) throws(VidiconError) {
    do {
      self.pem = ByteBuffer(string: try authority.certificate.pem)
    } catch {
      throw VidiconError(
        .failed, subject: "the certificate authority", cause: "cannot be encoded (\(error))",
        nextStep: "give a certificate and its key")
    }
    self.der = ByteBuffer(bytes: authority.certificate.der)
    self.fingerprint = ServerCertificate.fingerprint(of: authority.certificate.der)
  }
}
