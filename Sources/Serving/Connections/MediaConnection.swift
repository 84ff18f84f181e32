package import Authentication
public import Media
public import NIOCore
internal import NIOPosix
public import Streaming

/// Channel handler of a connection by which media is served beside the messages of a protocol: writing with bounded memory, the
/// progress of its viewer, comparisons of passwords, its timer and its end. A server's protocol is a subclass, which has the session.
///
/// All of it is on the connection's event loop. ``receive(_:)``, ``handleTimer()`` and the others that are open are called by it,
/// those that are not by the subclass:
///
/// ```swift
/// final class ToyConnection: MediaConnection {
///   override func receive(_ bytes: ByteBuffer) {
///     self.find([String(buffer: bytes)], in: self.outputs) { output in
///       guard let output else { return self.closeAfterWrites() }
///       self.play(output, of: self.outputs)
///     }
///   }
/// }
/// ```
open class MediaConnection: ChannelDuplexHandler {
  /// Bytes of the protocol.
  public typealias InboundIn = ByteBuffer
  /// Bytes of the protocol.
  public typealias OutboundIn = ByteBuffer
  /// Bytes of the protocol.
  public typealias OutboundOut = ByteBuffer

  /// Marks by which a connection is writable exactly when everything is sent.
  package static let waterMark = ChannelOptions.Types.WriteBufferWaterMark(low: 1, high: 1)

  package final let eventLoop: any EventLoop
  /// Users, tokens and rules.
  package final let access: AccessControl
  /// Time limits of a slow viewer.
  package final let viewerLimits: ViewerState.Limits
  /// Entry in the table of all connections; nil in tests.
  package final let registration: ConnectionRegistry.Registration?
  /// Whether the connection is encrypted.
  package final let isEncrypted: Bool
  private final let passwords: PasswordChecker
  private final let connections: MediaConnections
  /// Bytes of unsent responses above which nothing is read.
  private final let maximumUnsentResponses: Int
  /// Nil before the connection is open, and after its end.
  package private(set) final var context: ChannelHandlerContext?
  /// The viewer that is served; nil while there is none.
  package final var viewer: (any ConnectedViewer)?
  /// The visit of that viewer, for the log; nil while there is none.
  package final var visit: ViewerVisit?
  /// Name of the protocol in lower case, such as `rtsp`.
  final let protocolName: String

  /// Whether everything is sent.
  package private(set) final var isWritable = true
  /// Bytes of responses written since everything was sent.
  private final var unsentResponses = 0
  /// Number of nested calls of ``writing(_:)``.
  private final var writeDepth = 0
  private final var needsFlush = false
  /// Whether the viewer was notified of unsent bytes.
  private final var isBlocked = false
  /// The connection's socket, where bytes need no encryption: media is sent without the cost of the channel's pipeline.
  private final var socket: ChannelSocket? {
    didSet { self.descriptor = self.socket?.descriptor }
  }
  /// Descriptor of `socket`; without reference counts, since it is read for every viewer and frame.
  private final var descriptor: ChannelSocket.Descriptor?
  /// The next check of the viewer's progress.
  private final var progressCheck: Scheduled<Void>?
  private final var timer: (deadline: MediaTime, task: Scheduled<Void>)?
  /// Ends the time for which nothing is read of a publisher that sends faster than in real time.
  private final var holding: Scheduled<Void>?
  /// The comparison of a password that waits or runs.
  private final var pendingCheck: PasswordCheckQueue.Ticket?
  private final var isReadHeld = false
  /// Whether it is being closed, and nothing is read any more.
  package private(set) final var isClosing = false

  /// - Parameter maximumUnsentResponses: Bytes of unsent responses above which nothing is read.
  package init(_ environment: Environment, maximumUnsentResponses: Int) {
    self.access = environment.access
    self.passwords = environment.passwords
    self.connections = environment.connections
    self.eventLoop = environment.eventLoop
    self.viewerLimits = environment.viewerLimits
    self.registration = environment.registration
    self.isEncrypted = environment.isEncrypted
    self.protocolName = environment.protocolName
    self.maximumUnsentResponses = maximumUnsentResponses
  }

  // MARK: The protocol

  /// Processes received bytes.
  open func receive(_ bytes: ByteBuffer) {}

  /// Whether a request waits for something: nothing is read meanwhile.
  open var isDeciding: Bool { false }

  /// Time at which ``handleTimer()`` is due; nil for none.
  open var nextDeadline: MediaTime? { nil }

  /// Processes what is due at ``nextDeadline``, and schedules the next time.
  open func handleTimer() {}

  /// Continues after responses were sent that were so many that nothing was read.
  open func responsesSent() {}

  /// Stops what the connection does: it is closed; called once.
  open func ended() {}

  /// Ends what the connection has of a rendition that has ended: by default the connection, once the rest of its media is sent, see
  /// ``streamEnded()``.
  open func renditionEnded(_ rendition: Rendition) {
    if (self.viewer as? ConnectionViewer)?.rendition == rendition { self.streamEnded() }
  }

  /// Ends the connection after the media that it has played, which has ended: closes it, unless the protocol has a word for it.
  open func streamEnded() {
    self.visit?.end = .stream
    self.closeAfterWrites()
  }

  /// Ends the connection, since the server stops: closes it, unless the protocol has a word for it.
  open func serverStops() {
    self.visit?.end = .stream
    self.context?.close(promise: nil)
  }

  // MARK: Channel handler

  /// Begins with the connection of a channel.
  public final func handlerAdded(context: ChannelHandlerContext) {
    self.context = context
    self.connections.add(self, context.channel)
    self.scheduleTimer()
  }

  /// Forgets the connection: the handler is taken out of its channel.
  public final func handlerRemoved(context: ChannelHandlerContext) {
    self.end()
  }

  /// Forgets the connection, which is closed, before its descriptor is another one's.
  public final func channelInactive(context: ChannelHandlerContext) {
    self.end()
    context.fireChannelInactive()
  }

  /// Passes received bytes on, see ``receive(_:)``.
  public final func channelRead(context: ChannelHandlerContext, data: NIOAny) {
    self.receive(self.unwrapInboundIn(data))
  }

  /// Reads, unless reading is held.
  public final func read(context: ChannelHandlerContext) {
    self.isReadHeld = self.isDeciding || self.hasTooManyResponses || self.isClosing || self.holding != nil
    if !self.isReadHeld { context.read() }
  }

  /// Notifies the viewer that everything is sent, or that some bytes are not.
  public final func channelWritabilityChanged(context: ChannelHandlerContext) {
    self.isWritable = context.channel.isWritable
    // Between a write and its flush the connection is not writable, which says nothing about the client.
    guard self.writeDepth == 0 else { return }
    self.writeBufferChanged()
    context.fireChannelWritabilityChanged()
  }

  /// Closes the connection after an error, such as a reset.
  public final func errorCaught(context: ChannelHandlerContext, error: any Error) {
    // The connection was reset, or the client does not speak TLS.
    context.close(promise: nil)
  }
}

// MARK: Reading

extension MediaConnection {
  /// The current time of an event loop, which is virtual in tests.
  package static func now(on eventLoop: any EventLoop) -> MediaTime {
    MediaTime(nanoseconds: Int64(clamping: eventLoop.now.uptimeNanoseconds))
  }

  /// The current time of the event loop.
  package final var now: MediaTime { Self.now(on: self.eventLoop) }

  /// Whether the client does not read its responses; a viewer's unsent media is bounded by its own rule.
  package final var hasTooManyResponses: Bool {
    !self.isWritable && self.unsentResponses > self.maximumUnsentResponses
  }

  /// Number of bytes of responses that may be written before ``hasTooManyResponses``; negative when they are too many.
  package final var responseAllowance: Int { self.maximumUnsentResponses - self.unsentResponses }

  /// Reads on, if reading was held and nothing holds it any more.
  package final func resumeReading() {
    guard self.isReadHeld, let context else { return }
    self.isReadHeld = false
    self.read(context: context)
  }

  /// Reads nothing for a time, of a publisher that sends faster than in real time.
  ///
  /// - Parameter time: Called unless reading is held already; nil for no time.
  package final func holdBack(for time: @autoclosure () -> MediaDuration?) {
    guard self.holding == nil, let time = time() else { return }
    self.holding = self.eventLoop.assumeIsolated().scheduleTask(in: .nanoseconds(time.nanoseconds)) {
      self.holding = nil
      self.resumeReading()
    }
  }

  /// Finds the output of the first of the paths that names something, see ``OutputDirectory/find(_:_:)``.
  ///
  /// - Parameter completion: Called on the event loop, never within this call; with nil where no path names anything.
  package final func find<Output>(
    _ paths: [String], in directory: OutputDirectory<Output>, _ completion: @escaping (Output?) -> Void
  ) {
    let waiting = NIOLoopBound(completion, eventLoop: self.eventLoop)
    directory.find(paths) { output in
      waiting.eventLoop.execute { waiting.value(output) }
    }
  }

  /// Decides whether a client may, by its name and password or token; those of a request with a hash were compared before.
  package final func decide(_ permission: Permission, for request: AccessRequest) -> AccessControl.Decision {
    let identification = self.access.identify(request, covers: { _ in false }, now: self.now)
    return self.access.decide(permission, for: identification, isOnThisMachine: false)
  }

  /// Schedules ``handleTimer()`` at ``nextDeadline``, unless it is due earlier.
  package final func scheduleTimer() {
    guard let context, let deadline = self.nextDeadline else { return }
    if let timer, timer.deadline <= deadline { return }
    self.timer?.task.cancel()
    let delay = max(0, (deadline - self.now).nanoseconds)
    let task = context.eventLoop.assumeIsolated().scheduleTask(in: .nanoseconds(delay)) {
      self.timer = nil
      self.handleTimer()
    }
    self.timer = (deadline, task)
  }

  /// Whether a password is being compared.
  package final var isComparing: Bool { self.pendingCheck != nil }

  /// Compares a password with a hash on another thread.
  ///
  /// - Parameter completion: Called on the event loop, also when the connection has ended: a guess that was compared counts. Its
  ///   argument is the time after which a client that was refused the comparison may try again; nil after the comparison.
  package final func compare(_ check: PasswordCheck, _ completion: @escaping (_ retryDelay: MediaDuration?) -> Void) {
    let ticket = self.passwords.makeTicket()
    self.pendingCheck = ticket
    let waiting = NIOLoopBound((handler: self, completion: completion), eventLoop: self.eventLoop)
    self.passwords.submit(check, ticket: ticket) { outcome in
      waiting.eventLoop.execute {
        waiting.value.handler.pendingCheck = nil
        if case .refused(let delay) = outcome { waiting.value.completion(delay) } else { waiting.value.completion(nil) }
      }
    }
  }
}

// MARK: Writing

extension MediaConnection {
  /// Flushes what `body` writes, in one system call, and notifies the viewer if some of it is unsent.
  package final func writing(_ body: () -> Void) {
    self.writeDepth += 1
    body()
    if self.writeDepth == 1, self.needsFlush {
      self.needsFlush = false
      self.context?.flush()
    }
    self.writeDepth -= 1
    if self.writeDepth == 0 { self.writeBufferChanged() }
  }

  /// Performs the actions of a session within ``writing(_:)``, in order.
  package final func perform<Action>(_ actions: [Action], _ perform: (Action) -> Void) {
    guard !actions.isEmpty else { return }
    self.writing { actions.forEach(perform) }
  }

  /// Writes bytes; within ``writing(_:)``.
  package final func write(_ buffer: ByteBuffer) {
    self.needsFlush = true
    self.context?.write(self.wrapOutboundOut(buffer), promise: nil)
  }

  /// Writes a response; within ``writing(_:)``. Nothing is read while too many are unsent.
  package final func writeResponse(_ buffer: ByteBuffer) {
    self.unsentResponses += buffer.readableBytes
    self.write(buffer)
  }

  /// Writes media; within ``writing(_:)``. Sends what the socket takes at once, where nothing is unsent.
  package final func writeMedia(_ buffer: ByteBuffer) {
    guard let descriptor, self.isWritable, !self.needsFlush else { return self.write(buffer) }
    if let rest = descriptor.send(buffer) { self.write(rest) }
  }

  /// Sends media at once, outside of ``writing(_:)``, where the socket may be used and nothing is unsent.
  ///
  /// - Parameters:
  ///   - bytes: The contents of `buffer`.
  ///   - buffer: The media; what the socket does not take is written from it.
  /// - Returns: Whether the media is sent or written; false where it is to be written within ``writing(_:)``.
  package final func sendMedia(_ bytes: UnsafeRawBufferPointer, of buffer: ByteBuffer) -> Bool {
    guard let descriptor, self.isWritable, !self.needsFlush, self.writeDepth == 0 else { return false }
    let count = max(0, descriptor.send(bytes))
    guard count < bytes.count else { return true }
    var rest = buffer
    rest.moveReaderIndex(forwardBy: count)
    self.writing { self.write(rest) }
    return true
  }

  /// Prepares the connection for media: limits what the system keeps unsent, and uses its socket where that is possible.
  ///
  /// - Parameter bitrate: Bitrate of the video, in bits per second.
  package final func prepareForMedia(bitrate: Int) {
    guard let context else { return }
    context.limitUnsentBytes(bitrate: bitrate)
    // nil for a channel without a socket: media takes the way through its pipeline.
    if !self.isEncrypted { self.socket = ChannelSocket(of: context.channel) }
  }

  /// Prepares the connection for a client that sends media, and may send none for a while: it ends when the client cannot be reached
  /// any more.
  package final func prepareForPublisher() {
    guard let context else { return }
    // nil for a channel without a socket.
    ChannelSocket(of: context.channel)?.keepAlive()
  }

  /// Number of bytes in the channel's write buffer.
  private final var unsentByteCount: Int { self.context?.unsentByteCount ?? 0 }

  /// Notifies the viewer that everything is sent, or that some bytes are not.
  private final func writeBufferChanged() {
    guard self.isWritable else {
      self.isBlocked = true
      if let viewer = self.viewer, !viewer.isBlocked {
        viewer.connectionBlocked(byteCount: self.unsentByteCount, at: self.now)
        self.scheduleProgressCheck()
      }
      return
    }
    // Most often nothing was unsent before.
    guard self.isBlocked || self.unsentResponses > 0 else { return }
    self.isBlocked = false
    let hadTooMany = self.unsentResponses > self.maximumUnsentResponses
    self.unsentResponses = 0
    if hadTooMany { self.responsesSent() }
    if let viewer = self.viewer, viewer.isBlocked { viewer.connectionDrained(at: self.now) }
    self.resumeReading()
  }

  /// Schedules the check of the viewer's progress, unless it is scheduled.
  private final func scheduleProgressCheck() {
    guard self.progressCheck == nil, let context, let deadline = self.viewer?.nextDeadline else { return }
    let delay = max(0, (deadline - self.now).nanoseconds)
    self.progressCheck = context.eventLoop.assumeIsolated().scheduleTask(in: .nanoseconds(delay)) {
      self.progressCheck = nil
      self.checkProgress()
    }
  }

  private final func checkProgress() {
    guard let viewer = self.viewer else { return }
    if viewer.checkProgress(byteCount: self.unsentByteCount, at: self.now) {
      self.visit?.end = .slow
      // The client will not read the unsent bytes any more.
      self.context?.close(promise: nil)
    } else {
      self.scheduleProgressCheck()
    }
  }
}

// MARK: Ending

extension MediaConnection {
  /// Closes the connection if it has data to send, which cannot be taken back.
  package final func discardEarlier() {
    let socket = self.context.flatMap { ChannelSocket(of: $0.channel) }
    guard !self.isWritable || self.unsentByteCount > 0 || socket?.holdsBytes == true else { return }
    self.visit?.end = .privacy
    socket?.discardAndClose()
    self.context?.close(promise: nil)
  }

  /// Closes the connection when all data is written, or after a second.
  package final func closeAfterWrites() {
    guard !self.isClosing, let context else { return }
    self.isClosing = true
    context.closeAfterWrites(self.wrapOutboundOut(ByteBuffer()))
  }

  private final func end() {
    self.timer?.task.cancel()
    self.timer = nil
    self.progressCheck?.cancel()
    self.progressCheck = nil
    self.holding?.cancel()
    self.holding = nil
    if let pendingCheck { self.passwords.cancel(pendingCheck) }
    if self.context != nil {
      self.connections.remove(self)
      self.ended()
      self.stopPlaying()
    }
    // Each refers to the other.
    self.viewer = nil
    self.context = nil
    self.socket = nil
  }
}
