internal import Connections
internal import Crypto
internal import Media
internal import NIOSSL

/// The chain, key and fingerprint of the server's certificate.
struct ServerCertificate: Sendable {
  let certificate: TLSCertificate
  /// SHA-256 of the DER certificate: pairs of upper-case hexadecimal digits separated by colons.
  let fingerprint: String

  /// Reads the user's certificate, or reads or generates a self-signed one.
  ///
  /// - Throws: `VidiconError` when a file cannot be read or written, or chain and key do not belong together.
  init(_ certificate: HTTPServerSettings.TLS.Certificate) throws(VidiconError) {
    let (chainFile, keyFile): (String, String)
    switch certificate {
    case .files(let chain, let key): (chainFile, keyFile) = (chain, key)
    case .selfSigned(let folder):
      let store = try CertificateStore(folder: folder)
      try store.renewIfNeeded()
      (chainFile, keyFile) = (store.certificateFile, store.keyFile)
    }
    let certificate = try TLSCertificate(chainFile: chainFile, keyFile: keyFile)
    guard let bytes = try? certificate.chain[0].toDERBytes() else {
      throw VidiconError(
        .invalidData, path: chainFile, cause: "its certificate cannot be encoded",
        nextStep: "give a PEM file with the certificate chain")
    }
    self.fingerprint = SHA256.hash(data: bytes)
      .map { ($0 < 16 ? "0" : "") + String($0, radix: 16, uppercase: true) }.joined(separator: ":")
    self.certificate = certificate
  }
}
