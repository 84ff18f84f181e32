import Authentication
import Media
import NIOCore
import NIOPosix
import NIOSSL
import Threading

/// Opens the connections of a check to one server.
struct ProbeConnector: Sendable {
  /// Name, or numeric address without brackets.
  var host: String
  /// Port of TCP.
  var port: Int
  /// TLS of the connections; nil without encryption.
  var tls: NIOSSLContext?

  /// Judges the certificates of a server, the server's own first.
  typealias Verification = @Sendable ([NIOSSLCertificate], EventLoopPromise<NIOSSLVerificationResult>) -> Void

  /// Maximum time until TCP is connected.
  private static let connectTimeout = MediaDuration.seconds(3)
  /// Time beyond the deadline of a probe after which its connection is given up. A probe that ends at its deadline has its observations,
  /// which a timer for the same time could forestall.
  static let grace = MediaDuration.milliseconds(500)

  /// The context of TLS whose certificates are judged by ``TLSObservation``.
  ///
  /// - Parameters:
  ///   - isVerifying: Whether connections to servers with other certificates than trusted ones fail.
  ///   - isOfHost: Whether those to servers with a certificate of another host do.
  ///   - protocols: Protocols that are offered by ALPN, RFC 7301.
  /// - Throws: ``ConnectionFailure`` where the library refuses the configuration.
  static func tlsContext(
    isVerifying: Bool, isOfHost: Bool = true, protocols: [String] = []
  ) throws(ConnectionFailure) -> NIOSSLContext {
    var configuration = TLSConfiguration.makeClientConfiguration()
    configuration.minimumTLSVersion = .tlsv12
    configuration.shutdownTimeout = .milliseconds(300)
    configuration.applicationProtocols = protocols
    if !isVerifying {
      configuration.certificateVerification = .none
    } else if !isOfHost {
      configuration.certificateVerification = .noHostnameVerification
    }
    do {
      return try NIOSSLContext(configuration: configuration)
    } catch {
      throw ConnectionFailure(error)
    }
  }

  /// Host and port for messages.
  var place: String { "\(self.host.contains(":") ? "[\(self.host)]" : self.host):\(self.port)" }

  /// Opens a connection.
  ///
  /// - Parameters:
  ///   - deadline: Time at which to give up.
  ///   - verify: Judges the certificates instead of the library; nil to leave that to the context.
  ///   - addHandlers: Adds handlers behind that of TLS; called on the event loop.
  func connect(
    on eventLoop: any EventLoop, until deadline: MediaTime, verify: Verification? = nil,
    addHandlers: @escaping @Sendable (any Channel) throws -> Void
  ) -> EventLoopFuture<any Channel> {
    let (host, tls) = (self.host, self.tls)
    let timeout = max(min(deadline - StreamClock.system.now(), Self.connectTimeout), .milliseconds(1))
    return ClientBootstrap(group: eventLoop)
      .connectTimeout(.nanoseconds(timeout.nanoseconds))
      .channelInitializer { channel in
        channel.eventLoop.makeCompletedFuture {
          if let tls {
            // An IP address has no place in SNI (RFC 6066 §3).
            let name = IPAddress(parsing: host) == nil ? host : nil
            let pipeline = channel.pipeline.syncOperations
            if let verify {
              try pipeline.addHandler(
                NIOSSLClientHandler(context: tls, serverHostname: name, customVerificationCallback: verify))
            } else {
              try pipeline.addHandler(NIOSSLClientHandler(context: tls, serverHostname: name))
            }
          }
          try addHandlers(channel)
        }
      }
      .connect(host: self.host, port: self.port)
  }

  /// Runs a probe over a connection of its own.
  ///
  /// - Parameters:
  ///   - deadline: Time by which TCP is connected, and at which the probe ends itself.
  ///   - didConnect: Called on that event loop once TCP is connected.
  ///   - makeProbe: Makes the probe, on the event loop that it is used on.
  /// - Returns: What was observed, or the reason why there was no connection.
  func run<Probe: ConnectionProbe>(
    until deadline: MediaTime, didConnect: @escaping @Sendable (any Channel) -> Void = { _ in },
    makeProbe: @escaping @Sendable () -> Probe
  ) async -> Result<Probe.Observation, ConnectionFailure> {
    let eventLoop = MultiThreadedEventLoopGroup.singleton.next()
    let promise = eventLoop.makePromise(of: Probe.Observation.self)
    let isEncrypted = self.tls != nil
    let connection = self.connect(on: eventLoop, until: deadline) { channel in
      try channel.pipeline.syncOperations.addHandler(
        ProbeHandler(makeProbe(), isEncrypted: isEncrypted, promise: promise))
    }
    connection.whenSuccess(didConnect)
    return await Self.result(of: promise, over: connection, until: deadline + Self.grace)
  }

  /// Waits for the result of a connection, and closes it.
  static func result<Value: Sendable>(
    of promise: EventLoopPromise<Value>, over connection: EventLoopFuture<any Channel>, until deadline: MediaTime
  ) async -> Result<Value, ConnectionFailure> {
    let rest = max(deadline - StreamClock.system.now(), .zero)
    let timer = promise.futureResult.eventLoop.scheduleTask(in: .nanoseconds(rest.nanoseconds)) {
      // A connection that is open was accepted.
      connection.whenSuccess { _ in promise.fail(ConnectionFailure.noResponse) }
      promise.fail(ConnectionFailure.timedOut)
    }
    connection.whenFailure { promise.fail($0) }
    do {
      let value = try await promise.futureResult.get()
      timer.cancel()
      return .success(value)
    } catch {
      timer.cancel()
      // Bytes that are still to be sent follow the end of a probe; a failed connection has none.
      connection.whenSuccess { $0.close(promise: nil) }
      return .failure(ConnectionFailure(error))
    }
  }
}
