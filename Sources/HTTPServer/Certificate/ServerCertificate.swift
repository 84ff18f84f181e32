internal import Crypto
internal import NIOCore
internal import NIOSSL

#if canImport(Darwin)
internal import Darwin
#else
internal import Glibc
#endif

/// The certificate that the server shows, and what TLS needs of it.
struct ServerCertificate: Sendable {
  /// What TLS is told.
  let configuration: TLSConfiguration
  /// The SHA-256 hash of the certificate: pairs of hexadecimal digits with colons between.
  let fingerprint: String

  /// Reads the user's certificate, or reads or makes a self-signed one.
  init(_ certificate: HTTPServerSettings.TLS.Certificate) throws(HTTPServerError) {
    let (chainFile, keyFile): (String, String)
    switch certificate {
    case .files(let chain, let key): (chainFile, keyFile) = (chain, key)
    case .selfSigned(let folder):
      let store = try CertificateStore(folder: folder)
      try store.renew()
      (chainFile, keyFile) = (store.certificateFile, store.keyFile)
    }
    let chain = try Self.read(chainFile, as: "certificate chain") { try NIOSSLCertificate.fromPEMFile(chainFile) }
    let key = try Self.read(keyFile, as: "private key") { try NIOSSLPrivateKey(file: keyFile, format: .pem) }
    guard let first = chain.first, let bytes = try? first.toDERBytes() else {
      throw HTTPServerError(
        .invalidCertificate, cause: "\(chainFile): holds no certificate chain", nextStep: "give a PEM file with one")
    }
    self.fingerprint = SHA256.hash(data: bytes)
      .map { ($0 < 16 ? "0" : "") + String($0, radix: 16, uppercase: true) }.joined(separator: ":")
    var configuration = TLSConfiguration.makeServerConfiguration(
      certificateChain: chain.map { .certificate($0) }, privateKey: .privateKey(key))
    configuration.minimumTLSVersion = .tlsv12
    // Clients that do not answer the goodbye must not hold up the end.
    configuration.shutdownTimeout = .milliseconds(300)
    self.configuration = configuration
    do {
      _ = try NIOSSLContext(configuration: configuration)
    } catch {
      throw HTTPServerError(
        .invalidCertificate, cause: "\(chainFile) and \(keyFile) cannot be used for TLS",
        nextStep: "give a certificate chain and the private key that belongs to it")
    }
  }

  private static func read<Value>(
    _ path: String, as what: String, _ body: () throws -> Value
  ) throws(HTTPServerError) -> Value {
    do {
      return try body()
    } catch {
      let reason = access(path, R_OK) == 0 ? "holds no \(what)" : String(cString: strerror(errno)).lowercased()
      throw HTTPServerError(
        .invalidCertificate, cause: "\(path): \(reason)", nextStep: "give a PEM file with the \(what)")
    }
  }
}
