internal import Authentication
internal import Media
internal import NIOCore
internal import NIOPosix
internal import Serving
internal import Synchronization
internal import WebRTC

/// The TCP port of all sessions whose networks carry no UDP: passive candidates, RFC 6544, with the frames of RFC 4571.
///
/// A connection begins with a check. One that belongs to no session is closed after a few seconds, as is one whose session has
/// ended. Datagrams that a connection is too slow for are lost, as those of UDP are.
final class ICETCPPort: Sendable {
  /// Number of bytes that wait for a slow connection; what comes after is lost.
  static let maximumWaitingByteCount = 512 * 1024
  /// Interval at which the session of a connection is looked for.
  static let sessionInterval = TimeAmount.seconds(5)

  private let listener: any Channel
  private let connections: Connections

  /// The open connections, by their clients' addresses.
  private final class Connections: Sendable {
    private let byAddress = Mutex<[TransportAddress: Connection]>([:])

    var all: [Connection] { self.byAddress.withLock { Array($0.values) } }

    subscript(_ address: TransportAddress) -> Connection? { self.byAddress.withLock { $0[address] } }

    func add(_ connection: Connection, at address: TransportAddress) {
      self.byAddress.withLock { $0[address] = connection }
    }

    func remove(_ connection: Connection, at address: TransportAddress) {
      self.byAddress.withLock { if $0[address] === connection { $0[address] = nil } }
    }
  }

  /// Calls on the event loop of all sessions.
  struct Sessions: Sendable {
    var eventLoop: any EventLoop
    /// Called with the datagrams of a client.
    var receive: @Sendable ([ByteBuffer], TransportAddress) -> Void
    /// Whether the address belongs to a session.
    var contains: @Sendable (TransportAddress) -> Bool
  }

  /// Opens the port.
  ///
  /// - Throws: `VidiconError` when the port cannot be opened.
  static func open(_ opener: TCPListener, port: Int, sessions: Sessions) async throws(VidiconError) -> ICETCPPort {
    let connections = Connections()
    let listener = try await opener.listen(on: port) { channel, registration in
      guard let remote = channel.remoteAddress, var address = TransportAddress(remote) else {
        throw ChannelError.eof
      }
      address.isTCP = true
      // A connection has the rank of a viewer once it has a session; until then it is the first to be displaced.
      let connection = Connection(channel: channel, address: address, sessions: sessions) {
        registration.setUse(.session)
      }
      connections.add(connection, at: address)
      channel.closeFuture.whenComplete { [address] _ in connections.remove(connection, at: address) }
      try channel.pipeline.syncOperations.addHandler(FrameReader(connection))
    }
    return ICETCPPort(listener: listener, connections: connections)
  }

  private init(listener: any Channel, connections: Connections) {
    self.listener = listener
    self.connections = connections
  }

  /// The port in use.
  var port: Int? { self.listener.localAddress?.port }

  /// Stops accepting connections: further ones wait in the system's queue.
  func pause() async {
    // An error means that it is closed already.
    try? await self.listener.setOption(.autoRead, value: false).get()
  }

  /// Closes the port and all connections.
  func close() async {
    // An error means that it is closed already.
    try? await self.listener.close()
    for connection in self.connections.all { connection.close() }
  }

  /// Sends datagrams over TCP.
  ///
  /// - Returns: Number of datagrams that were dropped.
  func send(_ batch: DatagramBatch) -> Int {
    var dropped = 0
    for message in batch.messages {
      guard let connection = self.connections[message.address] else {
        dropped += message.datagramCount
        continue
      }
      var frames = ByteBuffer()
      frames.reserveCapacity(message.length + 2 * message.datagramCount)
      for offset in stride(from: 0, to: message.length, by: message.segmentLength) {
        let length = min(message.segmentLength, message.length - offset)
        guard let datagram = batch.bytes.getSlice(at: message.offset + offset, length: length) else { continue }
        FramedDatagrams.write(datagram, to: &frames)
      }
      if !connection.send(frames) { dropped += message.datagramCount }
    }
    return dropped
  }

  /// Closes the connections that have bytes to send, which must not be shown any more.
  func discardWaiting() {
    for connection in self.connections.all where connection.hasWaiting { connection.close() }
  }

  /// One connection.
  fileprivate final class Connection: Sendable {
    let address: TransportAddress
    let sessions: Sessions
    private let channel: any Channel
    private let waiting = Atomic(0)
    private let isFirst = Atomic(true)
    private let hasSession: @Sendable () -> Void

    init(
      channel: any Channel, address: TransportAddress, sessions: Sessions, hasSession: @escaping @Sendable () -> Void
    ) {
      self.channel = channel
      self.address = address
      self.sessions = sessions
      self.hasSession = hasSession
    }

    /// Writes frames, unless too many wait.
    func send(_ frames: ByteBuffer) -> Bool {
      let count = frames.readableBytes
      guard self.waiting.load(ordering: .relaxed) + count <= ICETCPPort.maximumWaitingByteCount else { return false }
      self.waiting.add(count, ordering: .relaxed)
      self.channel.writeAndFlush(frames).whenComplete { _ in self.waiting.subtract(count, ordering: .relaxed) }
      return true
    }

    var hasWaiting: Bool { self.waiting.load(ordering: .relaxed) > 0 }

    func close() {
      self.channel.close(promise: nil)
    }

    /// Closes the connection when it belongs to no session.
    func checkSession() {
      self.sessions.eventLoop.execute {
        guard self.sessions.contains(self.address) else { return self.close() }
        if self.isFirst.exchange(false, ordering: .relaxed) { self.hasSession() }
      }
    }
  }
}

/// Reads the frames of one connection, on its event loop.
private final class FrameReader: ChannelInboundHandler {
  typealias InboundIn = ByteBuffer

  private let connection: ICETCPPort.Connection
  private var frames = FramedDatagrams()
  private var isFirst = true
  private var timer: RepeatedTask?

  init(_ connection: ICETCPPort.Connection) {
    self.connection = connection
  }

  func handlerAdded(context: ChannelHandlerContext) {
    let connection = self.connection
    self.timer = context.eventLoop.scheduleRepeatedTask(
      initialDelay: ICETCPPort.sessionInterval, delay: ICETCPPort.sessionInterval
    ) { _ in connection.checkSession() }
  }

  func handlerRemoved(context: ChannelHandlerContext) {
    self.timer?.cancel()
  }

  func channelRead(context: ChannelHandlerContext, data: NIOAny) {
    self.frames.append(self.unwrapInboundIn(data))
    var datagrams: [ByteBuffer] = []
    do {
      while let datagram = try self.frames.next() {
        // A first datagram that is no check is that of a client of another protocol.
        guard !self.isFirst || DatagramKind(datagram) == .stun else {
          return context.close(promise: nil)
        }
        self.isFirst = false
        datagrams.append(datagram)
      }
    } catch {
      return context.close(promise: nil)
    }
    guard !datagrams.isEmpty else { return }
    let connection = self.connection
    connection.sessions.eventLoop.execute { [datagrams] in
      connection.sessions.receive(datagrams, connection.address)
    }
  }

  func errorCaught(context: ChannelHandlerContext, error: any Error) {
    // Reset by the client.
    context.close(promise: nil)
  }
}
