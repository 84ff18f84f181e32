package import Media
internal import NIOCore
internal import NIOPosix
internal import NIOSSL
package import Pushing
internal import Synchronization

/// Shared by the pushes of all streams of a server: an event loop, TLS, and the encodings of their own.
///
/// The event loop has a thread of its own, so that no push delays a viewer; it is started with the first push.
package final class PushService: Sendable {
  /// Makes the link of a push to a server, over the protocol of its address. The link reports its events to the closure.
  package typealias LinkFactory =
    @Sendable (PushTarget.Destination, PushConnector, @escaping (PushLinkEvent) -> Void) -> any PushLink

  private struct State {
    var group: MultiThreadedEventLoopGroup?
    var context: NIOSSLContext?
    var hasEnded = false
  }

  /// A PEM file of further authorities; nil for those of the system alone.
  private let authorityFile: String?
  private let state = Mutex(State())
  /// Maximum time of each step before the server has accepted the stream: TCP, TLS, and those of the protocol.
  let stepTimeout: MediaDuration
  let makeLink: LinkFactory
  let encodings = PushEncodings()
  private let lastID = Atomic(0)

  /// Creates a service without an event loop.
  ///
  /// - Parameters:
  ///   - authorityFile: A PEM file of authorities that servers' certificates may come from, beside those of the system.
  ///   - stepTimeout: Maximum time of each step of a connection; 10 s by default.
  ///   - makeLink: Called once for each push, on the event loop.
  package init(
    authorityFile: String? = nil, stepTimeout: MediaDuration = .seconds(10), makeLink: @escaping LinkFactory
  ) {
    self.authorityFile = authorityFile
    self.makeLink = makeLink
    self.stepTimeout = stepTimeout
  }

  /// Checks the file of authorities, before a stream is started.
  package func checkAuthorities() throws(VidiconError) {
    guard let authorityFile else { return }
    let count = try? NIOSSLCertificate.fromPEMFile(authorityFile).count
    guard let count, count > 0 else {
      throw VidiconError(
        .invalidData, path: authorityFile, cause: "it cannot be read, or has no certificate",
        nextStep: "give a PEM file with the certificates of authorities")
    }
  }

  /// The event loop of all pushes; nil once the service has ended.
  func eventLoop() -> (any EventLoop)? {
    self.state.withLock { state in
      if state.hasEnded { return nil }
      let group = state.group ?? MultiThreadedEventLoopGroup(numberOfThreads: 1)
      state.group = group
      return group.next()
    }
  }

  /// A number for a push, unique in the process.
  func makeID() -> Int { self.lastID.add(1, ordering: .relaxed).newValue }

  /// The client's side of TLS: 1.2 and newer, verified against the authorities of the system, host name included.
  ///
  /// Reads the system's authorities when it is called first, on the event loop of the pushes.
  func tlsContext() throws -> NIOSSLContext {
    if let context = self.state.withLock({ $0.context }) { return context }
    var configuration = TLSConfiguration.makeClientConfiguration()
    configuration.minimumTLSVersion = .tlsv12
    configuration.shutdownTimeout = .milliseconds(300)
    if let authorityFile { configuration.additionalTrustRoots = [.file(authorityFile)] }
    let context = try NIOSSLContext(configuration: configuration)
    self.state.withLock { $0.context = context }
    return context
  }

  /// Ends the event loop, once all pushes have stopped.
  package func stop() async {
    let group = self.state.withLock { state in
      state.hasEnded = true
      return state.group.take()
    }
    // Fails only when called twice, or from one of its own event loops.
    try? await group?.shutdownGracefully()
  }
}

/// Grants encodings to single pushes: two at a time on a server, since each costs as much as the stream's. Thread-safe.
final class PushEncodings: Sendable {
  private struct State {
    var allotment = EncodingAllotment<Int>()
    /// Actions of pushes that wait until an encoding is free.
    var waiting: [Int: @Sendable () -> Void] = [:]
  }

  private let state = Mutex(State())

  /// Requests an encoding for a push.
  ///
  /// - Parameter granted: Called later, on any thread, when it has to wait.
  /// - Returns: Whether it is granted now.
  func request(_ id: Int, granted: @escaping @Sendable () -> Void) -> Bool {
    self.state.withLock { state in
      let isGranted = state.allotment.request(id)
      if !isGranted { state.waiting[id] = granted }
      return isGranted
    }
  }

  /// Ends a request or an encoding.
  func release(_ id: Int) {
    let next = self.state.withLock { state -> (@Sendable () -> Void)? in
      state.waiting[id] = nil
      return state.allotment.release(id).flatMap { state.waiting.removeValue(forKey: $0) }
    }
    next?()
  }
}
