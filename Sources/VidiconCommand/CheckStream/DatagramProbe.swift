import Media
import NIOCore
import NIOPosix
import RTSP
import Synchronization

/// Asks an RTSP server for datagrams, and counts those that arrive.
enum DatagramProbe {
  /// Number of tries to find two free ports in succession.
  private static let maximumTryCount = 8

  /// Plays the first track over UDP, in a session of its own; not where the connection has TLS, since datagrams would have none.
  static func run(_ request: RTSPProbe.Request, over connector: ProbeConnector) async -> RTSPObservation.Datagrams {
    guard !request.isEncrypted else { return .notRequested }
    let counter = Counter()
    guard let (channels, ports) = await self.bindPorts(counter) else { return .unknown }
    var request = request
    request.delivery = .datagrams(ports)
    let result = await connector.run(until: request.deadline) { [request] in RTSPProbe(request) }
    for channel in channels { channel.close(promise: nil) }
    guard case .success(let observation) = result else { return .unknown }
    return self.outcome(of: observation, count: counter.count.load(ordering: .relaxed))
  }

  /// Outcome of a session.
  ///
  /// - Parameter count: Number of RTP packets that have arrived.
  static func outcome(of observation: RTSPObservation, count: Int) -> RTSPObservation.Datagrams {
    if count > 0 { return .received }
    if observation.isPlaying { return .silent }
    guard let last = observation.exchanges.last, last.method == "SETUP" else { return .unknown }
    // Without bandwidth or sessions left, the second session is what was refused.
    let isTransport = (400..<600).contains(last.status) && ![401, 403, 453, 454, 503].contains(last.status)
    return isTransport ? .refused(last.status) : .unknown
  }

  /// Opens two successive ports, the first of them even, RFC 3550 §11.
  private static func bindPorts(
    _ counter: Counter
  ) async -> (channels: [any Channel], ports: RTSPTransport.Pair<UInt16>)? {
    for _ in 0..<self.maximumTryCount {
      guard let first = await self.bind(port: 0, counter), let port = first.localAddress?.port else { return nil }
      if port.isMultiple(of: 2), let second = await self.bind(port: port + 1, counter) {
        let ports = RTSPTransport.Pair<UInt16>(rtp: UInt16(clamping: port), rtcp: UInt16(clamping: port + 1))
        return ([first, second], ports)
      }
      first.close(promise: nil)
    }
    return nil
  }

  /// Opens a port of both families, or of IPv4 where the machine has no IPv6.
  private static func bind(port: Int, _ counter: Counter) async -> (any Channel)? {
    for host in ["::", "0.0.0.0"] {
      let channel = try? await DatagramBootstrap(group: MultiThreadedEventLoopGroup.singleton)
        .channelInitializer { channel in
          channel.eventLoop.makeCompletedFuture {
            try channel.pipeline.syncOperations.addHandler(Handler(counter))
          }
        }
        .bind(host: host, port: port).get()
      if let channel { return channel }
    }
    return nil
  }

  /// Number of RTP packets, for the event loop of the ports and the task that waits.
  private final class Counter: Sendable {
    let count = Atomic(0)
  }

  /// Counts the RTP packets of a port.
  private final class Handler: ChannelInboundHandler {
    typealias InboundIn = AddressedEnvelope<ByteBuffer>

    private let counter: Counter

    init(_ counter: Counter) { self.counter = counter }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
      let bytes = self.unwrapInboundIn(data).data
      guard let first = bytes.getInteger(at: bytes.readerIndex, as: UInt8.self), first >> 6 == 2,
        bytes.readableBytes > 12
      else { return }
      self.counter.count.add(1, ordering: .relaxed)
    }
  }
}
