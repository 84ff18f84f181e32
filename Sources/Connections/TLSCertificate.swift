package import Media
internal import NIOCore
package import NIOSSL

#if canImport(Darwin)
internal import Darwin
#else
internal import Glibc
#endif

/// A TLS server's certificate chain and private key, read from PEM files.
package struct TLSCertificate: Sendable {
  /// The certificate of the server first, at least one.
  package let chain: [NIOSSLCertificate]
  /// TLS 1.2 and newer, with the chain and its key.
  package let configuration: TLSConfiguration

  /// Reads both files, and checks that they belong together.
  ///
  /// - Throws: A `VidiconError` whose subject is the file: `.notFound`, `.notPermitted`, or `.invalidData` for other content.
  package init(chainFile: String, keyFile: String) throws(VidiconError) {
    self.chain = try Self.read(chainFile, as: "certificate chain") {
      let chain = try NIOSSLCertificate.fromPEMFile(chainFile)
      return chain.isEmpty ? nil : chain
    }
    let key = try Self.read(keyFile, as: "private key") { try NIOSSLPrivateKey(file: keyFile, format: .pem) }
    var configuration = TLSConfiguration.makeServerConfiguration(
      certificateChain: self.chain.map { .certificate($0) }, privateKey: .privateKey(key))
    configuration.minimumTLSVersion = .tlsv12
    // A client that does not respond to `close_notify` must not delay shutdown.
    configuration.shutdownTimeout = .milliseconds(300)
    self.configuration = configuration
    do {
      _ = try NIOSSLContext(configuration: configuration)
    } catch {
      throw VidiconError(
        .invalidData, subject: "\(chainFile.pathWithoutCredentials()) and \(keyFile.pathWithoutCredentials())",
        cause: "they cannot be used for TLS",
        nextStep: "give a certificate chain and the private key that belongs to it")
    }
  }

  private static func read<Value>(
    _ path: String, as content: String, _ body: () throws -> Value?
  ) throws(VidiconError) -> Value {
    if let value = try? body() { return value }
    let isReadable = access(path, R_OK) == 0
    throw VidiconError(
      isReadable ? .invalidData : errno == EACCES ? .notPermitted : .notFound, path: path,
      cause: isReadable ? "it contains no \(content)" : String(cString: strerror(errno)).lowercased(),
      nextStep: "give a PEM file with the \(content)")
  }
}
