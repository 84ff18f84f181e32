import HTTPServer
import Media
import NIOCore
import NIOPosix
import NIOSSL
import NIOTLS
import Synchronization
import Threading

/// Connects to a server twice to find out its certificate, and whether this machine trusts it.
enum TLSInspection {
  /// Inspects a server.
  ///
  /// - Parameters:
  ///   - protocols: Protocols that are offered by ALPN.
  ///   - deadline: Time at which to give up.
  static func run(
    host: String, port: Int, protocols: [String], isInsecure: Bool, until deadline: MediaTime
  ) async -> Result<TLSObservation, ConnectionFailure> {
    async let trusted = self.handshake(host: host, port: port, until: deadline)
    let certificate = Certificate()
    let result = await self.handshake(
      host: host, port: port, protocols: protocols, until: deadline
    ) { certificates, promise in
      certificate.bytes.withLock { $0 = try? certificates.first?.toDERBytes() }
      promise.succeed(.certificateVerified)
    }
    let isTrusted = await trusted
    switch result {
    // A server of text waits for the end of a line, which TLS does not send.
    case .failure(.noResponse): return .failure(.silentTLS)
    case .failure(let failure): return .failure(failure)
    case .success(let negotiated):
      var observation = TLSObservation(
        host: host, now: WallClock.system.now() / 1_000_000_000,
        certificate: certificate.bytes.withLock { $0 }.flatMap { CertificateSummary(derEncoded: $0) },
        isTrusted: false, isInsecure: isInsecure, negotiatedProtocol: negotiated)
      if case .success = isTrusted { observation.isTrusted = true }
      return .success(observation)
    }
  }

  /// The certificate of a server in DER, for the event loop of the connection and the task that waits for it.
  private final class Certificate: Sendable {
    let bytes = Mutex<[UInt8]?>(nil)
  }

  /// Completes a handshake.
  ///
  /// - Returns: The protocol that ALPN has chosen.
  private static func handshake(
    host: String, port: Int, protocols: [String] = [], until deadline: MediaTime,
    verify: ProbeConnector.Verification? = nil
  ) async -> Result<String?, ConnectionFailure> {
    let context: NIOSSLContext
    do throws(ConnectionFailure) {
      // The library compares the names of a certificate beside a verification of its own, too.
      context = try ProbeConnector.tlsContext(isVerifying: true, isOfHost: verify == nil, protocols: protocols)
    } catch {
      return .failure(error)
    }
    let eventLoop = MultiThreadedEventLoopGroup.singleton.next()
    let promise = eventLoop.makePromise(of: String?.self)
    let connection = ProbeConnector(host: host, port: port, tls: context).connect(
      on: eventLoop, until: deadline, verify: verify
    ) { channel in
      try channel.pipeline.syncOperations.addHandler(HandshakeHandler(promise))
    }
    let result = await ProbeConnector.result(of: promise, over: connection, until: deadline)
    connection.whenSuccess { $0.close(promise: nil) }
    return result
  }

  /// Waits for the end of a handshake.
  private final class HandshakeHandler: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer

    private let promise: EventLoopPromise<String?>

    init(_ promise: EventLoopPromise<String?>) { self.promise = promise }

    func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
      if case .handshakeCompleted(let negotiated)? = event as? TLSUserEvent { self.promise.succeed(negotiated) }
      context.fireUserInboundEventTriggered(event)
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
      self.promise.fail(error)
      context.close(promise: nil)
    }

    func channelInactive(context: ChannelHandlerContext) {
      self.promise.fail(ConnectionFailure.closed)
      context.fireChannelInactive()
    }
  }
}
