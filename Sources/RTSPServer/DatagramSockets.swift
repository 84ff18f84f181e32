internal import CDatagrams
internal import Libc
internal import Media
internal import NIOCore
internal import NIOPosix
internal import RTP
internal import Serving
internal import Synchronization

/// Sends the datagrams of viewers; ``DatagramSockets``.
protocol DatagramSending: Sendable {
  /// Sends packets from a position on, in as few system calls as possible, until the send buffer is full.
  ///
  /// - Parameter route: Index of the socket.
  func sendRTP(_ send: inout DatagramQueue.Send, route: Int) -> DatagramOutcome

  /// Calls a body on an event loop when a socket's send buffer has room.
  ///
  /// - Parameter afterDelay: Whether it waits for ``DatagramOutcome/lacksMemory``, whose end the socket does not report.
  func resume(route: Int, afterDelay: Bool, on eventLoop: any EventLoop, _ body: @escaping @Sendable () -> Void)
}

/// Outcome of sending datagrams until a send buffer is full.
struct DatagramOutcome: Hashable {
  /// Number of messages to destinations that cannot be reached.
  var unreachable = 0
  /// Number of bytes that were sent.
  var byteCount = 0
  /// Whether the system had no room for another reason than a full send buffer.
  var lacksMemory = false
}

/// The pair of UDP sockets shared by all viewers: RTP on an even port, RTCP on the next, RFC 3550 §11. Viewers are
/// identified by their addresses, so that viewers need no ports of their own.
///
/// Datagrams to a viewer come from the address of the machine that its connection was made to: clients and firewalls drop those of
/// another one. RTP to viewers that have connected to another of the machine's addresses is sent by another socket, of the same
/// port: the send buffer is full while one network is, and viewers in another one are not to wait for that.
final class DatagramSockets: DatagramSending {
  /// The server's ports, for `server_port` of the response to SETUP.
  let ports: (rtp: Int, rtcp: Int)
  private let rtp: Int32
  private let rtcp: Int32
  private let channels: [any Channel]
  private let group: any EventLoopGroup
  /// Whether the sockets are of IPv6.
  private let isMapped: Bool
  private let routes = Mutex<[Route]>([])
  private let offloadsSegmentation = Atomic(true)
  private let viewers: ViewerAddresses

  /// A socket of one local address.
  private struct Route {
    var address: vidicon_endpoint
    var socket: Int32
    /// Reads what clients send to it; nil for the first, which is read anyway.
    var channel: (any Channel)?
  }

  /// Maximum number of sockets for RTP; further addresses share the first one.
  static let maximumRouteCount = 16

  /// Opens the sockets.
  ///
  /// - Parameters:
  ///   - address: The numeric address to bind; "::" for all IPv4 and IPv6 addresses.
  ///   - group: The event loops that read the sockets.
  /// - Throws: `VidiconError` `.failed` when the sockets cannot be opened.
  static func open(address: String, group: any EventLoopGroup) async throws(VidiconError) -> DatagramSockets {
    var sockets: [Int32] = [-1, -1]
    var ports: [UInt16] = [0, 0]
    let error = vidicon_datagrams_open_pair(address, &sockets, &ports)
    guard error == 0 else {
      throw VidiconError(
        .failed, subject: "UDP on \(address)",
        cause: "no pair of ports can be opened (\(String(cString: strerror(error))))",
        nextStep: "check the address, or turn UDP off")
    }
    let viewers = ViewerAddresses()
    do {
      var channels: [any Channel] = []
      for socket in sockets {
        channels.append(
          try await DatagramBootstrap(group: group)
            .channelInitializer { channel in
              channel.eventLoop.makeCompletedFuture {
                try channel.pipeline.syncOperations.addHandler(DatagramHandler(viewers: viewers))
              }
            }
            .withBoundSocket(socket)
            .get())
      }
      return DatagramSockets(
        sockets: sockets, ports: ports, channels: channels, viewers: viewers, group: group,
        isMapped: channels[0].localAddress?.protocol == .inet6)
    } catch {
      throw VidiconError(
        .failed, subject: "UDP on \(address)", cause: "the sockets cannot be read (\(error))", nextStep: "turn UDP off")
    }
  }

  private init(
    sockets: [Int32], ports: [UInt16], channels: [any Channel], viewers: ViewerAddresses, group: any EventLoopGroup,
    isMapped: Bool
  ) {
    self.group = group
    self.isMapped = isMapped
    self.ports = (Int(ports[0]), Int(ports[1]))
    (self.rtp, self.rtcp) = (sockets[0], sockets[1])
    self.channels = channels
    self.viewers = viewers
  }

  /// Length of the send buffer that the system has granted, in bytes of its own accounting: twice `net.core.wmem_max`, if
  /// that is less than was requested.
  var sendBufferLength: Int { Int(vidicon_datagrams_send_buffer(self.rtp)) }

  /// Index of the socket that sends RTP from a local address, for viewers that have connected to it; opened for the first.
  func route(from address: SocketAddress?) -> Int {
    guard var address, address.ipAddress != nil else { return 0 }
    address.port = self.ports.rtp
    var endpoint = vidicon_endpoint()
    let isKnown = address.withSockAddr { pointer, _ in vidicon_endpoint_of(pointer, &endpoint) }
    guard isKnown else { return 0 }
    let (index, opened) = self.routes.withLock { routes -> (Int, Int32?) in
      if let index = routes.firstIndex(where: { $0.address.isEqual(to: endpoint) }) { return (index, nil) }
      guard routes.count < Self.maximumRouteCount else { return (0, nil) }
      guard !routes.isEmpty else {
        routes.append(Route(address: endpoint, socket: self.rtp))
        return (0, nil)
      }
      var socket: Int32 = -1
      // Without a socket of its own it shares the first one.
      guard vidicon_datagrams_open_route(&endpoint, self.isMapped, &socket) == 0 else { return (0, nil) }
      routes.append(Route(address: endpoint, socket: socket))
      return (routes.count - 1, socket)
    }
    // Not within the lock: on the event loop that is to read it, the channel is there at once.
    if let opened { self.read(opened, of: index) }
    return index
  }

  /// Reads what arrives at the socket of a route: the system passes it what clients send to its address.
  private func read(_ socket: Int32, of index: Int) {
    let viewers = self.viewers
    DatagramBootstrap(group: self.group)
      .channelInitializer { channel in
        channel.eventLoop.makeCompletedFuture {
          try channel.pipeline.syncOperations.addHandler(DatagramHandler(viewers: viewers))
        }
      }
      .withBoundSocket(socket)
      .whenSuccess { channel in self.routes.withLock { $0[index].channel = channel } }
  }

  /// Socket of a route.
  private func socket(of route: Int) -> Int32 { route == 0 ? self.rtp : self.routes.withLock { $0[route].socket } }

  func resume(route: Int, afterDelay: Bool, on eventLoop: any EventLoop, _ body: @escaping @Sendable () -> Void) {
    if afterDelay {
      SocketWritability.shared.afterDelay(on: eventLoop, body)
    } else {
      SocketWritability.shared.whenWritable(self.socket(of: route), on: eventLoop, body)
    }
  }

  func sendRTP(_ send: inout DatagramQueue.Send, route: Int) -> DatagramOutcome {
    let buffer = send.packets.datagrams().buffer
    let socket = self.socket(of: route)
    return withUnsafeTemporaryAllocation(of: vidicon_datagram_run.self, capacity: send.runs.count) { runs in
      for (index, run) in send.runs.enumerated() {
        runs.initializeElement(
          at: index,
          to: vidicon_datagram_run(
            offset: run.offset, length: run.length, segment_length: UInt16(run.segmentLength)))
      }
      return self.send(
        buffer, runs: UnsafeBufferPointer(runs), to: send.destinations, at: &send.position, from: socket)
    }
  }

  /// Sends one RTCP packet, unless the send buffer is full.
  func sendRTCP(_ report: ByteBuffer, to destination: vidicon_destination) {
    let length = report.readableBytes
    let run = vidicon_datagram_run(offset: 0, length: length, segment_length: UInt16(clamping: length))
    var position = vidicon_datagram_position()
    withUnsafePointer(to: run) {
      _ = self.send(
        report, runs: UnsafeBufferPointer(start: $0, count: 1), to: [destination], at: &position, from: self.rtcp)
    }
  }

  /// Registers addresses of a client: `onDatagram` is called with each datagram from them, on an event loop.
  func register(
    _ addresses: [SocketAddress], owner: ObjectIdentifier, onDatagram: @escaping @Sendable (ByteBuffer) -> Void
  ) {
    self.viewers.register(addresses, owner: owner, onDatagram: onDatagram)
  }

  /// Removes a client's addresses, except those that another client has registered since.
  func unregister(_ addresses: [SocketAddress], owner: ObjectIdentifier) {
    self.viewers.unregister(addresses, owner: owner)
  }

  /// Closes all sockets.
  func close() async {
    SocketWritability.shared.forget(self.rtp)
    for route in self.routes.withLock({ $0 }) { SocketWritability.shared.forget(route.socket) }
    for channel in self.channels + self.routes.withLock({ $0.compactMap(\.channel) }) {
      // An error means that the socket is closed already.
      try? await channel.close()
    }
  }

  private func send(
    _ buffer: ByteBuffer, runs: UnsafeBufferPointer<vidicon_datagram_run>, to destinations: [vidicon_destination],
    at position: inout vidicon_datagram_position, from socket: Int32
  ) -> DatagramOutcome {
    var offloads = self.offloadsSegmentation.load(ordering: .relaxed)
    let result = buffer.withUnsafeReadableBytes { bytes in
      destinations.withUnsafeBufferPointer { destinations in
        vidicon_datagrams_send(
          socket, bytes.baseAddress, runs.baseAddress, runs.count, destinations.baseAddress, destinations.count,
          &position, &offloads)
      }
    }
    if !offloads { self.offloadsSegmentation.store(false, ordering: .relaxed) }
    return DatagramOutcome(
      unreachable: result.unreachable, byteCount: result.byte_count, lacksMemory: result.lacks_memory)
  }
}

extension vidicon_endpoint {
  fileprivate func isEqual(to other: vidicon_endpoint) -> Bool {
    self.upper == other.upper && self.lower == other.lower && self.is_ipv6 == other.is_ipv6
      && self.scope == other.scope
  }
}

extension vidicon_destination {
  /// Creates a destination of system calls from an address.
  ///
  /// - Parameter source: Address of this machine from which datagrams are sent, whatever its port; nil for the choice of the
  ///   system.
  init(_ address: SocketAddress, from source: SocketAddress? = nil) {
    self.init()
    address.withSockAddr { pointer, length in
      withUnsafeMutableBytes(of: &self.address) { target in
        target.copyMemory(from: UnsafeRawBufferPointer(start: pointer, count: min(length, target.count)))
      }
      self.length = socklen_t(length)
    }
    // An address that is not of IP leaves the choice to the system.
    source?.withSockAddr { pointer, _ in _ = vidicon_endpoint_of(pointer, &self.source) }
  }
}
