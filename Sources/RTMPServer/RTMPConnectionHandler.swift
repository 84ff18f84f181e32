internal import Authentication
internal import Connections
internal import Delivery
internal import Media
internal import MediaInput
internal import NIOCore
internal import NIOPosix
internal import RTMP
internal import Streaming

/// Channel handler of one RTMP connection: performs the actions of ``RTMPServerSession``.
///
/// Memory per connection is bounded: the handler reads nothing while a request waits for a decision, and what the session
/// holds has limits.
final class RTMPConnectionHandler: ChannelDuplexHandler {
  typealias InboundIn = ByteBuffer
  typealias OutboundIn = ByteBuffer
  typealias OutboundOut = ByteBuffer

  /// Marks by which a connection is writable exactly when everything is sent.
  static let waterMark = ChannelOptions.Types.WriteBufferWaterMark(low: 1, high: 1)
  /// Maximum number of bytes of unsent responses.
  private static let maximumUnsentResponses = 64 * 1024

  /// Whether everything is sent.
  var isWritable = true
  /// Bytes of responses written since everything was sent.
  var unsentResponses = 0
  /// Number of nested calls of ``writing(_:)``.
  var writeDepth = 0
  var needsFlush = false
  /// Whether the viewer was notified of unsent bytes.
  var isBlocked = false
  /// The connection's socket, where bytes need no encryption: media is sent without the cost of the channel's pipeline.
  var socket: ChannelSocket? {
    didSet { self.descriptor = self.socket?.descriptor }
  }
  /// Descriptor of `socket`; without reference counts, since it is read for every viewer and frame.
  private(set) var descriptor: ChannelSocket.Descriptor?
  var context: ChannelHandlerContext?
  var playback: Playback?
  /// The next check of the viewer's progress.
  var progressCheck: Scheduled<Void>?

  private let settings: RTMPServerSettings
  private let access: AccessControl
  private let passwords: PasswordChecker
  private let directory: RTMPStreamDirectory
  let eventLoop: any EventLoop
  /// The connection's entry in the table of all connections; nil in tests.
  private let registration: ConnectionRegistry.Registration?
  private let isEncrypted: Bool
  private var session: RTMPServerSession
  private var timer: (deadline: MediaTime, task: Scheduled<Void>)?
  private var isReadHeld = false
  private var isClosing = false
  /// The comparison of a password that the request waits for.
  private var pendingCheck: PasswordCheckQueue.Ticket?
  /// The stream of the accepted request to play.
  private var broadcaster: RTMPBroadcaster?

  /// The accepted publication.
  var publication: Publication?
  /// Ends the time for which nothing is read of a publisher that sends faster than in real time.
  var holding: Scheduled<Void>?

  /// The stream that is played.
  struct Playback {
    var viewer: RTMPViewer
    var broadcaster: RTMPBroadcaster
  }

  init(
    settings: RTMPServerSettings, access: AccessControl, passwords: PasswordChecker, directory: RTMPStreamDirectory,
    eventLoop: any EventLoop, registration: ConnectionRegistry.Registration? = nil, isEncrypted: Bool = false
  ) {
    self.settings = settings
    self.access = access
    self.passwords = passwords
    self.directory = directory
    self.eventLoop = eventLoop
    self.registration = registration
    self.isEncrypted = isEncrypted
    self.session = RTMPServerSession(now: Self.now(on: eventLoop), makeRandom: { .random(in: 0...UInt64.max) })
  }

  /// The current time of the event loop, which is virtual in tests.
  private static func now(on eventLoop: any EventLoop) -> MediaTime {
    MediaTime(nanoseconds: Int64(clamping: eventLoop.now.uptimeNanoseconds))
  }

  var now: MediaTime { Self.now(on: self.eventLoop) }

  func handlerAdded(context: ChannelHandlerContext) {
    self.context = context
    self.directory.add(context.channel)
    self.scheduleTimer()
  }

  func handlerRemoved(context: ChannelHandlerContext) {
    self.end()
  }

  func channelInactive(context: ChannelHandlerContext) {
    self.end()
    context.fireChannelInactive()
  }

  func channelRead(context: ChannelHandlerContext, data: NIOAny) {
    self.perform(self.session.receive(self.unwrapInboundIn(data), now: self.now))
    self.holdBack()
    self.scheduleTimer()
  }

  func read(context: ChannelHandlerContext) {
    self.isReadHeld =
      self.session.isDeciding || self.isClosing || self.hasTooManyResponses || self.holding != nil
    if !self.isReadHeld { context.read() }
  }

  /// Whether the client does not read its responses; a viewer's unsent media is bounded by its own rule.
  private var hasTooManyResponses: Bool {
    !self.isWritable && self.unsentResponses > Self.maximumUnsentResponses
  }

  func channelWritabilityChanged(context: ChannelHandlerContext) {
    self.isWritable = context.channel.isWritable
    // Between a write and its flush the connection is not writable, which says nothing about the client.
    guard self.writeDepth == 0 else { return }
    self.writeBufferChanged()
    context.fireChannelWritabilityChanged()
  }

  func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
    if event is ServerStops { self.streamEnded() }
    context.fireUserInboundEventTriggered(event)
  }

  func errorCaught(context: ChannelHandlerContext, error: any Error) {
    // The connection was reset, or the client does not speak TLS.
    context.close(promise: nil)
  }

  func resumeReading() {
    guard self.isReadHeld, let context else { return }
    self.isReadHeld = false
    self.read(context: context)
  }
}

// MARK: Requests

extension RTMPConnectionHandler {
  private func perform(_ actions: [RTMPServerAction]) {
    guard !actions.isEmpty else { return }
    self.writing {
      for action in actions {
        switch action {
        case .send(let buffer):
          self.unsentResponses += buffer.readableBytes
          self.write(buffer)
        case .decide(let request): self.decide(request)
        case .startPlaying: self.startPlaying()
        case .stopPlaying: self.stopPlaying()
        case .publish(let message): self.publish(message)
        case .stopPublishing: self.stopPublishing()
        case .close(let reason): self.close(for: reason)
        }
      }
    }
  }

  /// Accepts or refuses a request, at once, or when its password is compared and its rendition's encoder is open.
  private func decide(_ request: RTMPStreamRequest) {
    if request.purpose == .publish { return self.decidePublication(request) }
    self.authorize(.watch, request, token: request.token) { handler in
      let loopBound = NIOLoopBound(handler, eventLoop: handler.eventLoop)
      handler.directory.find(paths: request.paths) { broadcaster in
        // Later, so that the session has returned its actions.
        loopBound.eventLoop.execute { loopBound.value.decided(broadcaster) }
      }
    }
  }

  /// Accepts a publisher with the key of a stream whose source is `rtmp:`, or with a publisher's or operator's token, or an
  /// operator's password.
  private func decidePublication(_ request: RTMPStreamRequest) {
    let match = request.publications.lazy.compactMap { name, secret in
      self.directory.stream(named: name).map { (stream: $0, secret: secret) }
    }.first
    guard let (stream, secret) = match else { return self.refuse(.notFound) }
    self.authorize(.publish(stream: stream.name), request, token: secret) { handler in
      // Also while another source is current.
      guard let input = stream.videoSources.lazy.compactMap({ PublishedSource.input(of: $0) }).first else {
        return handler.refuse(.unsupported("the source of this stream is not rtmp:"))
      }
      guard handler.context != nil, let id = input.begin() else { return handler.refuse(.alreadyPublished) }
      input.holdsBack(id)
      handler.publication = Publication(input: input, id: id)
      let loopBound = NIOLoopBound(handler, eventLoop: handler.eventLoop)
      loopBound.eventLoop.execute { loopBound.value.accept() }
    }
  }

  /// Calls `action` when the client may; refuses it otherwise. A password that has a hash is compared on another thread.
  private func authorize(
    _ permission: Permission, _ request: RTMPStreamRequest, token: Secret?,
    action: @escaping (RTMPConnectionHandler) -> Void
  ) {
    let address = self.context?.remoteAddress?.ipAddress ?? ""
    let method = request.purpose == .publish ? "PUBLISH" : "PLAY"
    var accessRequest = AccessRequest(method: method, token: token?.text, address: address)
    if let login = request.login {
      let isPrivate =
        self.isEncrypted || IPAddress(parsing: address)?.isLoopback == true || self.access.settings.allowsInsecureBasic
      accessRequest = AccessRequest(
        method: method, user: login.user, password: login.password, address: address, isEncrypted: isPrivate)
    }
    guard let check = self.access.passwordCheck(for: accessRequest, now: self.now) else {
      if let refusal = self.refusal(permission, accessRequest) { return self.refuse(refusal) }
      return action(self)
    }
    let ticket = self.passwords.makeTicket()
    self.pendingCheck = ticket
    let waiting = NIOLoopBound((handler: self, request: accessRequest, action: action), eventLoop: self.eventLoop)
    self.passwords.submit(check, ticket: ticket) { outcome in
      waiting.eventLoop.execute {
        let (handler, action) = (waiting.value.handler, waiting.value.action)
        var request = waiting.value.request
        handler.pendingCheck = nil
        if case .refused(let delay) = outcome { request.refusedCheck = delay }
        // Also when the connection has ended: a guess that was compared counts.
        if let refusal = handler.refusal(permission, request) { return handler.refuse(refusal) }
        action(handler)
      }
    }
  }

  private func refusal(_ permission: Permission, _ request: AccessRequest) -> RTMPRefusal? {
    let identification = self.access.identify(request, covers: { _ in false }, now: self.now)
    return RTMPRefusal(self.access.decide(permission, for: identification, isOnThisMachine: false))
  }

  /// Refuses later, so that the session has returned its actions.
  private func refuse(_ refusal: RTMPRefusal) {
    let handler = NIOLoopBound(self, eventLoop: self.eventLoop)
    self.eventLoop.execute { handler.value.decided(refusal: refusal) }
  }

  private func decided(_ broadcaster: RTMPBroadcaster?) {
    guard let broadcaster else { return self.decided(refusal: .notFound) }
    self.broadcaster = broadcaster
    self.accept()
  }

  private func accept() {
    self.registration?.setUse(.session)
    self.perform(self.session.accept(now: self.now))
    self.scheduleTimer()
    self.resumeReading()
  }

  func decided(refusal: RTMPRefusal) {
    self.perform(self.session.refuse(refusal, now: self.now))
    self.scheduleTimer()
    self.resumeReading()
  }

  private func close(for reason: RTMPCloseReason) {
    if case .malformed = reason { self.countMalformed() }
    self.closeAfterWrites()
  }

  func countMalformed() { self.directory.refusals.count(.malformed) }
}

// MARK: Playing

extension RTMPConnectionHandler {
  private func startPlaying() {
    guard let context, let broadcaster, self.playback == nil else { return }
    context.limitUnsentBytes(bitrate: broadcaster.rendition.bitrate)
    if !self.isEncrypted {
      // nil for a channel without a socket: media takes the way through its pipeline.
      self.socket = ChannelSocket(of: context.channel)
    }
    var limits = ViewerState.Limits()
    limits.stallTimeout = self.settings.stallTimeout
    let viewer = RTMPViewer(
      hasVideo: broadcaster.hasVideo, connection: self, counters: broadcaster.counters, limits: limits)
    self.playback = Playback(viewer: viewer, broadcaster: broadcaster)
    broadcaster.join(viewer, on: context.eventLoop)
  }

  private func stopPlaying() {
    guard let playback, let context else { return }
    self.playback = nil
    playback.broadcaster.leave(playback.viewer, on: context.eventLoop)
  }

  /// Requests a keyframe of the stream that is played.
  func requestKeyframe() {
    self.playback?.broadcaster.rendition.requestKeyframe()
  }

  /// Closes the connection if it has data to send, which cannot be taken back.
  func discardEarlier() {
    let socket = self.context.flatMap { ChannelSocket(of: $0.channel) }
    guard !self.isWritable || self.unsentByteCount > 0 || socket?.holdsBytes == true else { return }
    socket?.discardAndClose()
    self.context?.close(promise: nil)
  }

  /// Notifies the client that the stream or the server has ended, and closes the connection.
  func streamEnded() {
    self.perform(self.session.handleEnd())
  }
}

// MARK: Ending

extension RTMPConnectionHandler {
  /// Schedules the timer at the session's deadline, unless it is due earlier.
  private func scheduleTimer() {
    guard let context, let deadline = self.session.nextDeadline else { return }
    if let timer, timer.deadline <= deadline { return }
    self.timer?.task.cancel()
    let delay = max(0, (deadline - self.now).nanoseconds)
    let task = context.eventLoop.assumeIsolated().scheduleTask(in: .nanoseconds(delay)) {
      self.timer = nil
      self.perform(self.session.handleTimer(now: self.now))
      self.scheduleTimer()
    }
    self.timer = (deadline, task)
  }

  /// Closes the connection when all data is written, or after a second.
  private func closeAfterWrites() {
    guard !self.isClosing, let context else { return }
    self.isClosing = true
    context.closeAfterWrites(self.wrapOutboundOut(ByteBuffer()))
  }

  private func end() {
    self.timer?.task.cancel()
    self.timer = nil
    self.progressCheck?.cancel()
    self.progressCheck = nil
    self.holding?.cancel()
    self.holding = nil
    self.stopPlaying()
    self.stopPublishing()
    if let pendingCheck { self.passwords.cancel(pendingCheck) }
    if let context { self.directory.remove(context.channel) }
    self.context = nil
    self.socket = nil
  }
}
