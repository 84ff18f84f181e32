internal import Crypto
internal import Media
internal import NIOCore
internal import NIOSSL

#if canImport(Darwin)
internal import Darwin
#else
internal import Glibc
#endif

/// The TLS configuration and fingerprint of the server's certificate.
struct ServerCertificate: Sendable {
  let configuration: TLSConfiguration
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
    let chain = try Self.read(chainFile, as: "certificate chain") { try NIOSSLCertificate.fromPEMFile(chainFile) }
    let key = try Self.read(keyFile, as: "private key") { try NIOSSLPrivateKey(file: keyFile, format: .pem) }
    guard let first = chain.first, let bytes = try? first.toDERBytes() else {
      throw VidiconError(
        .invalidData, subject: chainFile, cause: "contains no certificate chain",
        nextStep: "give a PEM file with the certificate chain")
    }
    self.fingerprint = SHA256.hash(data: bytes)
      .map { ($0 < 16 ? "0" : "") + String($0, radix: 16, uppercase: true) }.joined(separator: ":")
    var configuration = TLSConfiguration.makeServerConfiguration(
      certificateChain: chain.map { .certificate($0) }, privateKey: .privateKey(key))
    configuration.minimumTLSVersion = .tlsv12
    // A client that does not respond to `close_notify` must not delay shutdown.
    configuration.shutdownTimeout = .milliseconds(300)
    self.configuration = configuration
    do {
      _ = try NIOSSLContext(configuration: configuration)
    } catch {
      throw VidiconError(
        .invalidData, subject: "\(chainFile) and \(keyFile)", cause: "cannot be used for TLS",
        nextStep: "give a certificate chain and the private key that belongs to it")
    }
  }

  private static func read<Value>(
    _ path: String, as content: String, _ body: () throws -> Value
  ) throws(VidiconError) -> Value {
    do {
      return try body()
    } catch {
      let isReadable = access(path, R_OK) == 0
      throw VidiconError(
        isReadable ? .invalidData : errno == EACCES ? .notPermitted : .notFound, subject: path,
        cause: isReadable ? "contains no \(content)" : String(cString: strerror(errno)).lowercased(),
        nextStep: "give a PEM file with the \(content)")
    }
  }
}
