internal import Libc
package import Media
internal import NIOCore
package import NIOSSL

/// Paths of a TLS server's certificate chain and private key.
public struct CertificateFiles: Hashable, Sendable {
  /// The path of the certificate chain, PEM; the certificate of the server first.
  public var chain: String
  /// The path of the certificate's private key, PEM.
  public var key: String

  /// Creates the paths of a chain and its key.
  public init(chain: String, key: String) {
    self.chain = chain
    self.key = key
  }
}

/// A TLS server's certificate chain and private key, read from PEM files.
package struct TLSCertificate: Sendable {
  /// The certificate of the server first, at least one.
  package let chain: [NIOSSLCertificate]
  /// TLS 1.2 and newer, with the chain and its key.
  package let configuration: TLSConfiguration

  /// Reads both files, and checks that they belong together.
  ///
  /// - Throws: A `VidiconError` whose subject is the file: `.notFound`, `.notPermitted`, or `.invalidData` for other content.
  package init(_ files: CertificateFiles) throws(VidiconError) {
    self.chain = try Self.read(files.chain, as: "certificate chain") {
      let chain = try NIOSSLCertificate.fromPEMFile(files.chain)
      return chain.isEmpty ? nil : chain
    }
    let key = try Self.read(files.key, as: "private key") { try NIOSSLPrivateKey(file: files.key, format: .pem) }
    guard let configuration = try? Self.configuration(chain: self.chain, key: key) else {
      throw VidiconError(
        .invalidData, subject: "\(files.chain.pathWithoutCredentials()) and \(files.key.pathWithoutCredentials())",
        cause: "they cannot be used for TLS",
        nextStep: "give a certificate chain and the private key that belongs to it")
    }
    self.configuration = configuration
  }

  /// Creates TLS whose certificate may be replaced while the server runs.
  ///
  /// - Parameter override: Called on the event loop of each new connection for the certificate that it gets.
  package init(
    chain: [NIOSSLCertificate], key: NIOSSLPrivateKey, override: @escaping NIOSSLContextCallback
  ) throws(VidiconError) {
    self.chain = chain
    do {
      var configuration = try Self.configuration(chain: chain, key: key)
      configuration.sslContextCallback = override
      self.configuration = configuration
    } catch {
      throw VidiconError(
        .failed, subject: "the certificate", cause: "cannot be used for TLS (\(error))",
        nextStep: "give another certificate")
    }
  }

  /// TLS 1.2 and newer with a chain and its key.
  ///
  /// - Throws: NIO's error where they do not belong together.
  private static func configuration(chain: [NIOSSLCertificate], key: NIOSSLPrivateKey) throws -> TLSConfiguration {
    var configuration = TLSConfiguration.makeServerConfiguration(
      certificateChain: chain.map { .certificate($0) }, privateKey: .privateKey(key))
    configuration.minimumTLSVersion = .tlsv12
    // A client that does not respond to `close_notify` must not delay shutdown.
    configuration.shutdownTimeout = .milliseconds(300)
    _ = try NIOSSLContext(configuration: configuration)
    return configuration
  }

  /// Creates the TLS context of a server with this certificate and its key.
  package func makeContext() throws(VidiconError) -> NIOSSLContext {
    do {
      return try NIOSSLContext(configuration: self.configuration)
    } catch {
      throw VidiconError(
        .failed, subject: "the certificate", cause: "TLS cannot be set up (\(error))",
        nextStep: "give another certificate")
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
