internal import CDatagrams
internal import Libc
internal import Media
internal import NIOCore
internal import NIOPosix
internal import Serving
internal import WebRTC

/// The UDP port of all sessions: read by one event loop, which also sends. Each datagram has the address of this machine that it
/// was sent to, and is answered from there: clients accept no other.
// Safe because all variables are used on the event loop only.
final class DatagramPort: @unchecked Sendable {
  /// The port in use.
  let port: UInt16
  private let socket: Int32
  private let channel: any Channel
  /// Whether its addresses are of IPv6, those of IPv4 among them.
  let isIPv6: Bool
  private var offloadsSegmentation = true
  private var messages: [vidicon_datagram_message] = []
  /// Batches that wait for the send buffer, the first of which is sent in part.
  private var waiting: [Waiting] = []
  private var waitingByteCount = 0
  /// Whether what waits is sent when the socket has room.
  private var isResumptionDue = false

  private struct Waiting {
    var batch: DatagramBatch
    var position = vidicon_datagram_position()
  }

  /// Outcome of a batch, in datagrams.
  struct Outcome: Hashable {
    /// Dropped, since too many wait.
    var dropped = 0
    /// Messages to addresses that cannot be reached.
    var unreachable = 0
    /// Whether the system had no room for another reason than a full send buffer.
    var lacksMemory = false
  }

  /// Maximum number of bytes that wait for the send buffer; datagrams after them are lost, and requested again by the clients.
  static let maximumWaitingByteCount = 4 << 20
  /// Maximum number of datagrams of one system call when reading.
  private static let readCount = 32

  /// Opens the port.
  ///
  /// - Parameters:
  ///   - address: The numeric address to bind; "::" for all IPv4 and IPv6 addresses.
  ///   - port: 0 for any free one.
  ///   - inherited: Descriptor of a socket that is bound, in place of one that is opened, and closed on failure; nil for none.
  ///   - receive: Called on the event loop for each datagram.
  ///   - receiveEnded: Called on the event loop when the datagrams that had arrived were read.
  /// - Throws: `VidiconError` when the port cannot be opened.
  static func open(
    address: String, port: Int, inherited: Int32? = nil, on eventLoop: any EventLoop,
    receive: @escaping @Sendable (ByteBuffer, TransportAddress) -> Void,
    receiveEnded: @escaping @Sendable () -> Void
  ) async throws(VidiconError) -> DatagramPort {
    var (socket, number): (Int32, UInt16) = (-1, UInt16(clamping: port))
    var isIPv6 = address.contains(":")
    let error: Int32
    if let inherited {
      socket = inherited
      error = vidicon_datagrams_adopt(socket, &number, &isIPv6)
    } else {
      error = vidicon_datagrams_open(address, &socket, &number)
    }
    guard error == 0 else {
      throw VidiconError(
        error == EADDRINUSE ? .portInUse : error == EACCES ? .notPermitted : .notFound,
        subject: "UDP port \(port)\(address == "::" || address == "0.0.0.0" ? "" : " of \(address)")",
        cause: error == EADDRINUSE
          ? "another program uses it" : "cannot be opened (\(String(cString: strerror(error))))",
        nextStep: "choose another one with --webrtc-port, 0 for any free one")
    }
    do {
      let channel = try await DatagramBootstrap(group: eventLoop)
        .channelOption(.recvAllocator, value: FixedSizeRecvByteBufferAllocator(capacity: 2048 * Self.readCount))
        .channelOption(.datagramVectorReadMessageCount, value: Self.readCount)
        .channelInitializer { channel in
          channel.eventLoop.makeCompletedFuture {
            try channel.pipeline.syncOperations.addHandler(
              DatagramReader(receive: receive, receiveEnded: receiveEnded))
          }
        }
        .withBoundSocket(socket)
        .get()
      // `IP_PKTINFO` or `IPV6_RECVPKTINFO`, of which NIO chooses by the address that a channel has once it is registered.
      try await channel.setOption(.receivePacketInfo, value: true).get()
      return DatagramPort(socket: socket, port: number, channel: channel, isIPv6: isIPv6)
    } catch {
      throw VidiconError(
        .failed, subject: "UDP port \(port)", cause: "the socket cannot be read (\(error))",
        nextStep: "choose another one with --webrtc-port")
    }
  }

  private init(socket: Int32, port: UInt16, channel: any Channel, isIPv6: Bool) {
    self.socket = socket
    self.port = port
    self.channel = channel
    self.isIPv6 = isIPv6
  }

  /// Calls a body with the descriptor of the socket.
  func withDescriptor(_ body: (Int32) -> Void) { body(self.socket) }

  /// Closes the port.
  func close() async {
    SocketWritability.shared.forget(self.socket)
    // An error means that it is closed already.
    try? await self.channel.close()
  }

  /// Sends datagrams in as few system calls as possible. What the send buffer does not hold waits.
  func send(_ batch: DatagramBatch) -> Outcome {
    var outcome = Outcome()
    guard !batch.isEmpty, self.channel.isActive else { return outcome }
    var position = vidicon_datagram_position()
    if self.waiting.isEmpty, self.transmit(batch, at: &position, &outcome) { return outcome }
    guard self.waitingByteCount + batch.bytes.readableBytes <= Self.maximumWaitingByteCount else {
      outcome.dropped = batch.messages.dropFirst(position.destination).reduce(0) { $0 + $1.datagramCount }
      return outcome
    }
    self.waiting.append(Waiting(batch: batch, position: position))
    self.waitingByteCount += batch.bytes.readableBytes
    self.resume(afterDelay: outcome.lacksMemory)
    return outcome
  }

  /// Drops all datagrams that wait for the send buffer.
  func discardWaiting() {
    self.waiting.removeAll()
    self.waitingByteCount = 0
  }

  /// Sends what waits when the send buffer has room.
  private func resume(afterDelay: Bool) {
    guard !self.isResumptionDue else { return }
    self.isResumptionDue = true
    if afterDelay {
      SocketWritability.shared.afterDelay(on: self.channel.eventLoop) { self.sendWaiting() }
    } else {
      SocketWritability.shared.whenWritable(self.socket, on: self.channel.eventLoop) { self.sendWaiting() }
    }
  }

  private func sendWaiting() {
    self.isResumptionDue = false
    guard self.channel.isActive else { return }
    var outcome = Outcome()
    var count = 0
    while count < self.waiting.count {
      guard self.transmit(self.waiting[count].batch, at: &self.waiting[count].position, &outcome) else { break }
      self.waitingByteCount -= self.waiting[count].batch.bytes.readableBytes
      count += 1
    }
    self.waiting.removeFirst(count)
    if !self.waiting.isEmpty { self.resume(afterDelay: outcome.lacksMemory) }
  }

  /// Sends a batch from a position on; returns whether all of it is sent.
  private func transmit(
    _ batch: DatagramBatch, at position: inout vidicon_datagram_position, _ outcome: inout Outcome
  ) -> Bool {
    self.messages.removeAll(keepingCapacity: true)
    for message in batch.messages {
      self.messages.append(
        vidicon_datagram_message(
          run: vidicon_datagram_run(
            offset: message.offset, length: message.length, segment_length: UInt16(message.segmentLength)),
          destination: vidicon_destination(message.address, isIPv6: self.isIPv6)))
    }
    let result = batch.bytes.withUnsafeReadableBytes { bytes in
      vidicon_datagrams_send_messages(
        self.socket, bytes.baseAddress, self.messages, self.messages.count, &position, &self.offloadsSegmentation)
    }
    outcome.unreachable += result.unreachable
    outcome.lacksMemory = result.lacks_memory
    return position.destination >= self.messages.count
  }
}

/// Reads the datagrams of all sessions.
private final class DatagramReader: ChannelInboundHandler {
  typealias InboundIn = AddressedEnvelope<ByteBuffer>

  private let receive: @Sendable (ByteBuffer, TransportAddress) -> Void
  private let receiveEnded: @Sendable () -> Void

  init(
    receive: @escaping @Sendable (ByteBuffer, TransportAddress) -> Void,
    receiveEnded: @escaping @Sendable () -> Void
  ) {
    self.receive = receive
    self.receiveEnded = receiveEnded
  }

  func channelRead(context: ChannelHandlerContext, data: NIOAny) {
    let envelope = self.unwrapInboundIn(data)
    guard
      let source = TransportAddress(
        envelope.remoteAddress, at: envelope.metadata?.packetInfo?.destinationAddress)
    else { return }
    self.receive(envelope.data, source)
  }

  func channelReadComplete(context: ChannelHandlerContext) {
    self.receiveEnded()
  }

  func errorCaught(context: ChannelHandlerContext, error: any Error) {
    // A viewer's machine refuses datagrams (ICMP); the end of its consent ends the session.
  }
}
