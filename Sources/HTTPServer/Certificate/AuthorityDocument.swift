internal import Cryptography
internal import Media
package import NIOCore

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
