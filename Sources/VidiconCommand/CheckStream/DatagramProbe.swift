import Media
import NIOCore
import NIOPosix
import RTP
import RTSP
import Synchronization

/// Asks an RTSP server for datagrams, and counts those that arrive.
enum DatagramProbe {
  /// Number of tries to find two free ports in succession.
  private static let maximumTryCount = 8

  /// Facts about a session over UDP.
  struct Session: Sendable {
    var observation: RTSPObservation
    /// Number of RTP packets that have arrived.
    var packetCount: Int
  }

  /// Plays the first track over UDP, in a session of its own beside one over TCP: a server that allows one session only has that one.
  ///
  /// - Parameter playing: Has an element once the session over TCP plays, and ends with it.
  /// - Returns: Nil where there was no such session, or no port.
  static func run(
    _ request: RTSPProbe.Request, over connector: ProbeConnector, when playing: AsyncStream<Void>
  ) async -> Session? {
    var stages = playing.makeAsyncIterator()
    guard await stages.next() != nil else { return nil }
    let path = Path()
    guard let (channels, ports) = await self.bindPorts(path) else { return nil }
    var request = request
    request.delivery = .datagrams(ports)
    let result = await connector.run(
      until: request.deadline, didConnect: { channel in path.server.withLock { $0 = channel.remoteAddress } }
    ) { [request] in
      RTSPProbe(request) { stage in
        guard case .ready(let serverPorts?) = stage, let server = path.server.withLock({ $0 }) else { return }
        self.open(channels, to: serverPorts, of: server)
      }
    }
    for channel in channels { channel.close(promise: nil) }
    guard case .success(let observation) = result else { return nil }
    return Session(observation: observation, packetCount: path.count.load(ordering: .relaxed))
  }

  /// Outcome of a session.
  ///
  /// - Parameter main: The session over TCP, which has the same track first.
  static func outcome(of session: Session, beside main: RTSPObservation) -> RTSPObservation.Datagrams {
    let observation = session.observation
    if session.packetCount > 0 { return .received }
    guard observation.isPlaying else {
      guard let last = observation.exchanges.last, last.method == "SETUP" else { return .unknown }
      // Without bandwidth or sessions left, the second session is what was refused.
      let isTransport = (400..<600).contains(last.status) && ![401, 403, 453, 454, 503].contains(last.status)
      return isTransport ? .refused(last.status) : .unknown
    }
    guard let start = observation.start, let mainStart = main.start, let track = observation.tracks.first,
      let reference = main.tracks.first, reference.kind == track.kind
    else { return .unknown }
    let begin = (start - mainStart).seconds
    let end = begin + track.duration
    // A server may begin at a keyframe.
    let hasBegun = reference.kind == .audio || reference.keyframes.contains { $0 > begin && $0 < end }
    return hasBegun && reference.packetCount(from: begin, to: end) > 0 ? .silent : .unknown
  }

  /// Packets that open the way back through firewalls, which let through what answers to a datagram: an empty packet of RTP and an empty
  /// receiver report, as ffmpeg sends them.
  static var openers: (rtp: ByteBuffer, rtcp: ByteBuffer) {
    var (rtp, rtcp) = (ByteBuffer(), ByteBuffer())
    RTPPacket(
      header: RTPHeader(marker: false, payloadType: 0, sequenceNumber: 0, timestamp: 0, ssrc: 0), payload: ByteBuffer()
    ).serialize(into: &rtp)
    RTCPCompoundPacket([.receiverReport(RTCPReceiverReport(ssrc: 0))]).serialize(into: &rtcp)
    return (rtp, rtcp)
  }

  /// Sends the openers from the ports of RTP and RTCP to those of a server.
  private static func open(
    _ channels: [any Channel], to ports: RTSPTransport.Pair<UInt16>, of server: SocketAddress
  ) {
    let openers = self.openers
    for (channel, packet) in zip(channels, [(ports.rtp, openers.rtp), (ports.rtcp, openers.rtcp)]) {
      guard let address = self.address(server, port: packet.0, for: channel) else { continue }
      channel.writeAndFlush(AddressedEnvelope(remoteAddress: address, data: packet.1), promise: nil)
    }
  }

  /// The address of a port of a server, in the family of the channel, RFC 4291 §2.5.5.2.
  private static func address(_ server: SocketAddress, port: UInt16, for channel: any Channel) -> SocketAddress? {
    guard server.protocol == .inet, channel.localAddress?.protocol == .inet6, let text = server.ipAddress else {
      var address = server
      address.port = Int(port)
      return address
    }
    return try? SocketAddress(ipAddress: "::ffff:\(text)", port: Int(port))
  }

  /// Opens two successive ports, the first of them even, RFC 3550 §11.
  private static func bindPorts(
    _ path: Path
  ) async -> (channels: [any Channel], ports: RTSPTransport.Pair<UInt16>)? {
    for _ in 0..<self.maximumTryCount {
      guard let first = await self.bind(port: 0, path), let port = first.localAddress?.port else { return nil }
      if port.isMultiple(of: 2), let second = await self.bind(port: port + 1, path) {
        let ports = RTSPTransport.Pair<UInt16>(rtp: UInt16(clamping: port), rtcp: UInt16(clamping: port + 1))
        return ([first, second], ports)
      }
      first.close(promise: nil)
    }
    return nil
  }

  /// Opens a port of both families, or of IPv4 where the machine has no IPv6.
  private static func bind(port: Int, _ path: Path) async -> (any Channel)? {
    for host in ["::", "0.0.0.0"] {
      let channel = try? await DatagramBootstrap(group: MultiThreadedEventLoopGroup.singleton)
        .channelInitializer { channel in
          channel.eventLoop.makeCompletedFuture {
            try channel.pipeline.syncOperations.addHandler(Handler(path))
          }
        }
        .bind(host: host, port: port).get()
      if let channel { return channel }
    }
    return nil
  }

  /// Facts for the event loops of the connection and the ports, and the task that waits.
  private final class Path: Sendable {
    /// Number of RTP packets.
    let count = Atomic(0)
    /// Address of the connection over TCP.
    let server = Mutex<SocketAddress?>(nil)
  }

  /// Counts the RTP packets of a port.
  private final class Handler: ChannelInboundHandler {
    typealias InboundIn = AddressedEnvelope<ByteBuffer>

    private let path: Path

    init(_ path: Path) { self.path = path }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
      let bytes = self.unwrapInboundIn(data).data
      guard let first = bytes.getInteger(at: bytes.readerIndex, as: UInt8.self), first >> 6 == 2,
        bytes.readableBytes > 12
      else { return }
      self.path.count.add(1, ordering: .relaxed)
    }
  }
}
