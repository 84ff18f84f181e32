internal import Libc
package import Media
internal import NIOCore
package import NIOSSL
internal import Synchronization

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

/// A TLS server's certificate chain and private key. Connections get the certificate that is current when they begin.
package struct TLSCertificate: Sendable {
  /// TLS 1.2 and newer, with the first certificate; each connection replaces it by the current one.
  package let configuration: TLSConfiguration
  /// The files that the certificate is read from; nil for another one.
  let files: CertificateFiles?
  let current: CurrentCertificate

  /// Reads both files, and checks that they belong together. They are read again when they change: a renewed certificate takes
  /// effect within seconds, one that cannot be used changes nothing.
  ///
  /// - Parameter report: Receives a line when the files were read again, and when they cannot be used; on any thread.
  /// - Throws: A `VidiconError` whose subject is the file: `.notFound`, `.notPermitted`, or `.invalidData` for other content.
  package init(
    _ files: CertificateFiles, report: @escaping @Sendable (String) -> Void = { _ in }
  ) throws(VidiconError) {
    let versions = CertificateFileVersions(of: files)
    let first = try Self.read(files)
    let monitor = CertificateFileMonitor(files, versions: versions, report: report)
    try self.init(CurrentCertificate(first) { monitor.changed() }, files: files)
  }

  /// Creates TLS with a certificate that may be replaced while the server runs.
  package init(_ current: CurrentCertificate) throws(VidiconError) {
    try self.init(current, files: nil)
  }

  private init(_ current: CurrentCertificate, files: CertificateFiles?) throws(VidiconError) {
    self.current = current
    self.files = files
    do {
      var configuration = try Self.configuration(current.pair)
      configuration.sslContextCallback = { current.choose(for: $1) }
      self.configuration = configuration
    } catch {
      throw VidiconError(
        .failed, subject: "the certificate", cause: "cannot be used for TLS (\(error))",
        nextStep: "give another certificate")
    }
  }

  /// The certificate of new connections.
  package var certificate: NIOSSLCertificate { self.current.pair.chain[0] }

  /// Reads a chain and its key.
  static func read(_ files: CertificateFiles) throws(VidiconError) -> CertifiedKey {
    let chain = try Self.read(files.chain, as: "certificate chain") {
      let chain = try NIOSSLCertificate.fromPEMFile(files.chain)
      return chain.isEmpty ? nil : chain
    }
    let key = try Self.read(files.key, as: "private key") { try NIOSSLPrivateKey(file: files.key, format: .pem) }
    let pair = CertifiedKey(chain: chain, key: key)
    guard (try? Self.configuration(pair)) != nil else {
      throw VidiconError(
        .invalidData, subject: "\(files.chain.pathWithoutCredentials()) and \(files.key.pathWithoutCredentials())",
        cause: "they cannot be used for TLS",
        nextStep: "give a certificate chain and the private key that belongs to it")
    }
    return pair
  }

  /// TLS 1.2 and newer with a chain and its key.
  ///
  /// - Throws: NIO's error where they do not belong together.
  private static func configuration(_ pair: CertifiedKey) throws -> TLSConfiguration {
    var configuration = TLSConfiguration.makeServerConfiguration(
      certificateChain: pair.chain.map { .certificate($0) }, privateKey: .privateKey(pair.key))
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
    let number = access(path, R_OK) == 0 ? 0 : errno
    let file = number == EACCES ? "file that this user may read" : "PEM file"
    throw VidiconError(
      number == 0 ? .invalidData : number == EACCES ? .notPermitted : .notFound, path: path,
      cause: number == 0 ? "it contains no \(content)" : String(cString: strerror(number)).lowercased(),
      nextStep: "give a \(file) with the \(content)")
  }
}

/// Versions of the files of a certificate; nil where one is missing.
private struct CertificateFileVersions: Hashable {
  private let chain: FileVersion?
  private let key: FileVersion?

  init(of files: CertificateFiles) {
    self.chain = FileVersion(path: files.chain)
    self.key = FileVersion(path: files.key)
  }
}

/// Reads the files of a certificate again when they have changed.
private final class CertificateFileMonitor: Sendable {
  private struct State {
    /// The versions that were read, or reported as unusable.
    var seen: CertificateFileVersions
    /// Versions that could not be used once: one of the files may be written yet.
    var failed: CertificateFileVersions?
  }

  private let files: CertificateFiles
  private let report: @Sendable (String) -> Void
  private let state: Mutex<State>

  init(_ files: CertificateFiles, versions: CertificateFileVersions, report: @escaping @Sendable (String) -> Void) {
    self.files = files
    self.report = report
    self.state = Mutex(State(seen: versions))
  }

  /// The certificate of files that have changed; nil where they have not, or cannot be used.
  func changed() -> CertifiedKey? {
    // Before they are read: files that change meanwhile are read again.
    let versions = CertificateFileVersions(of: self.files)
    guard self.state.withLock({ $0.seen != versions }) else { return nil }
    let result: Result<CertifiedKey, VidiconError>
    do throws(VidiconError) {
      result = .success(try TLSCertificate.read(self.files))
    } catch {
      result = .failure(error)
    }
    let isReported = self.state.withLock { state in
      if case .failure = result, state.failed != versions {
        state.failed = versions
        return false
      }
      state.seen = versions
      return true
    }
    let path = self.files.chain.pathWithoutCredentials()
    switch result {
    case .success(let pair):
      self.report("\(path): the certificate has changed; new connections get it")
      return pair
    case .failure(let error):
      if isReported { self.report("\(error); new connections get the certificate before") }
      return nil
    }
  }
}
