internal import CDatagrams
internal import Media
internal import NIOCore
internal import NIOPosix
internal import RTP
internal import Synchronization

#if canImport(Darwin)
internal import Darwin
#else
internal import Glibc
#endif

/// The pair of UDP sockets shared by all viewers: RTP on an even port, RTCP on the next, RFC 3550 §11. Viewers are
/// identified by their addresses, so that viewers need no ports of their own.
final class DatagramSockets: Sendable {
  /// The server's ports, for `server_port` of the response to SETUP.
  let ports: (rtp: Int, rtcp: Int)
  private let rtp: Int32
  private let rtcp: Int32
  private let channels: [any Channel]
  private let offloadsSegmentation = Atomic(true)
  private let viewers: ViewerAddresses

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
      return DatagramSockets(sockets: sockets, ports: ports, channels: channels, viewers: viewers)
    } catch {
      throw VidiconError(
        .failed, subject: "UDP on \(address)", cause: "the sockets cannot be read (\(error))", nextStep: "turn UDP off")
    }
  }

  private init(sockets: [Int32], ports: [UInt16], channels: [any Channel], viewers: ViewerAddresses) {
    self.ports = (Int(ports[0]), Int(ports[1]))
    (self.rtp, self.rtcp) = (sockets[0], sockets[1])
    self.channels = channels
    self.viewers = viewers
  }

  /// Length of the send buffer that the system has granted, in bytes of its own accounting: twice `net.core.wmem_max`, if
  /// that is less than was requested.
  var sendBufferLength: Int { Int(vidicon_datagrams_send_buffer(self.rtp)) }

  /// Sends packets from a position on, in as few system calls as possible, until the send buffer is full.
  ///
  /// - Returns: Number of messages to destinations that cannot be reached.
  func sendRTP(_ send: inout DatagramQueue.Send) -> Int {
    let datagrams = send.packets.datagrams()
    return withUnsafeTemporaryAllocation(of: vidicon_datagram_run.self, capacity: datagrams.runs.count) { runs in
      for (index, run) in datagrams.runs.enumerated() {
        runs.initializeElement(
          at: index,
          to: vidicon_datagram_run(
            offset: run.offset, length: run.length, segment_length: UInt16(run.segmentLength)))
      }
      return self.send(
        datagrams.buffer, runs: UnsafeBufferPointer(runs), to: send.destinations, at: &send.position, from: self.rtp)
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

  /// Registers a viewer: `onActivity` is called for each datagram from these addresses, on an event loop.
  func register(
    _ addresses: [SocketAddress], owner: ObjectIdentifier, onActivity: @escaping @Sendable () -> Void
  ) {
    self.viewers.register(addresses, owner: owner) { _ in onActivity() }
  }

  /// Registers an address of a publisher: `onDatagram` is called with each datagram from it, on an event loop.
  func registerSender(
    _ address: SocketAddress, owner: ObjectIdentifier, onDatagram: @escaping @Sendable (ByteBuffer) -> Void
  ) {
    self.viewers.register([address], owner: owner, onDatagram: onDatagram)
  }

  /// Removes a client's addresses, except those that another client has registered since.
  func unregister(_ addresses: [SocketAddress], owner: ObjectIdentifier) {
    self.viewers.unregister(addresses, owner: owner)
  }

  /// Closes both sockets.
  func close() async {
    for channel in self.channels {
      // An error means that the socket is closed already.
      try? await channel.close()
    }
  }

  private func send(
    _ buffer: ByteBuffer, runs: UnsafeBufferPointer<vidicon_datagram_run>, to destinations: [vidicon_destination],
    at position: inout vidicon_datagram_position, from socket: Int32
  ) -> Int {
    var offloads = self.offloadsSegmentation.load(ordering: .relaxed)
    let result = buffer.withUnsafeReadableBytes { bytes in
      destinations.withUnsafeBufferPointer { destinations in
        vidicon_datagrams_send(
          socket, bytes.baseAddress, runs.baseAddress, runs.count, destinations.baseAddress, destinations.count,
          &position, &offloads)
      }
    }
    if !offloads { self.offloadsSegmentation.store(false, ordering: .relaxed) }
    return result.unreachable
  }
}

extension vidicon_destination {
  /// An address in the form of a system call.
  init(_ address: SocketAddress) {
    self.init()
    address.withSockAddr { pointer, length in
      withUnsafeMutableBytes(of: &self.address) { target in
        target.copyMemory(from: UnsafeRawBufferPointer(start: pointer, count: min(length, target.count)))
      }
      self.length = socklen_t(length)
    }
  }
}
