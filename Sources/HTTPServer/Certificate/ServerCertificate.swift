internal import Crypto
internal import Media
internal import NIOSSL
internal import Serving
internal import X509

#if canImport(FoundationEssentials)
internal import FoundationEssentials
#else
internal import Foundation
#endif

/// The certificate of HTTP over TLS: the owner's, or one of the local authority.
struct ServerCertificate: Sendable {
  /// The configuration of TLS with the certificate; with a local authority, each connection gets the current one.
  let tls: TLSCertificate
  /// The certificate of the local authority, for phones to trust; nil for an owner's certificate.
  let authority: AuthorityDocument?
  private let renewed: RenewedCertificate?
  private let givenFingerprint: String

  /// Reads the owner's certificate, or reads or generates a local authority and a certificate of it.
  ///
  /// - Parameter report: Receives a line for each renewed certificate that cannot be stored.
  /// - Throws: `VidiconError` when a file cannot be used, or chain and key do not belong together.
  init(
    _ certificate: HTTPServerSettings.TLS.Certificate, report: @escaping @Sendable (String) -> Void = { _ in }
  ) throws(VidiconError) {
    switch certificate {
    case .files(let files):
      self.tls = try TLSCertificate(files)
      self.authority = nil
      self.renewed = nil
      guard let bytes = try? self.tls.chain[0].toDERBytes() else {
        throw VidiconError(
          .invalidData, path: files.chain, cause: "its certificate cannot be encoded",
          nextStep: "give a PEM file with the certificate chain")
      }
      self.givenFingerprint = Self.fingerprint(of: bytes)
    case .localAuthority(let folder):
      let renewed = try RenewedCertificate(folder: CertificateFolder(folder), report: report)
      self.tls = try renewed.tls()
      self.authority = try AuthorityDocument(of: renewed.authority)
      self.renewed = renewed
      self.givenFingerprint = ""
    }
  }

  /// SHA-256 of the certificate that new connections get: pairs of upper-case hexadecimal digits separated by colons.
  var fingerprint: String { self.renewed?.fingerprint ?? self.givenFingerprint }

  static func fingerprint(of bytes: [UInt8]) -> String {
    Hexadecimal.encode(SHA256.hash(data: bytes), uppercase: true, separator: ":")
  }
}
