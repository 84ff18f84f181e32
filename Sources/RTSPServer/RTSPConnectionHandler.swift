internal import Authentication
internal import Connections
internal import Delivery
internal import Media
internal import NIOCore
internal import NIOPosix
internal import RTSP
internal import Streaming
internal import Synchronization

/// Channel handler of one RTSP connection: performs the actions of ``RTSPServerSession``.
///
/// Memory per connection is bounded: the handler reads nothing while the client does not read its responses, or while PLAY
/// waits for its keyframe. While packets are unsent it reads on, since keep-alives show that a slow viewer is there.
final class RTSPConnectionHandler: ChannelDuplexHandler {
  typealias InboundIn = ByteBuffer
  typealias OutboundIn = ByteBuffer
  typealias OutboundOut = ByteBuffer

  /// Marks by which a connection is writable exactly when everything is sent.
  static let waterMark = ChannelOptions.Types.WriteBufferWaterMark(low: 1, high: 1)

  /// Bytes of unsent responses above which no request is read.
  static let maximumUnsentResponses = 16 * 1024

  /// Whether everything is sent.
  var isWritable = true
  /// Number of nested calls of ``writing(_:)``.
  var writeDepth = 0
  var needsFlush = false
  /// Whether the viewer was notified of unsent bytes.
  var isBlocked = false
  /// The connection's socket, where bytes need no encryption: packets are sent without the cost of the channel's pipeline.
  private(set) var socket: ChannelSocket? {
    didSet { self.descriptor = self.socket?.descriptor }
  }
  /// Descriptor of `socket`; without reference counts, since it is read for every viewer and frame.
  private(set) var descriptor: ChannelSocket.Descriptor?
  private let isEncrypted: Bool
  /// Bytes of responses written since everything was sent.
  var unsentResponses = 0

  private let settings: RTSPServerSettings
  let directory: StreamDirectory
  let eventLoop: any EventLoop
  /// The connection's entry in the table of all connections; nil in tests.
  private let registration: ConnectionRegistry.Registration?
  var parser = RTSPMessageParser(limits: .players)
  var session: RTSPServerSession
  var context: ChannelHandlerContext?
  var playback: Playback?
  /// The stream that the client sends.
  var publication: Publication?
  /// Ends the time for which nothing is read of a publisher that sends faster than in real time.
  var holding: Scheduled<Void>?
  private var timer: (deadline: MediaTime, task: Scheduled<Void>)?
  /// The next check of the viewer's progress.
  var progressCheck: Scheduled<Void>?
  private var isReadHeld = false
  private var isClosing = false
  private let access: AccessControl
  private let passwords: PasswordChecker
  /// The comparison of a password with a hash that waits or runs; no request is handled meanwhile.
  private var pendingCheck: PasswordCheckQueue.Ticket?
  /// Whether a request waits for the description of its stream; no other is handled meanwhile.
  private var isPreparingStream = false

  /// The stream that is played.
  struct Playback {
    var viewer: RTPViewer
    var broadcaster: RTPBroadcaster
    /// Index of each track in the session description.
    var indices: PerTrack<Int>
    /// The client's UDP addresses.
    var addresses: [SocketAddress]
  }

  init(
    settings: RTSPServerSettings, session: RTSPServerConfiguration, directory: StreamDirectory,
    passwords: PasswordChecker, eventLoop: any EventLoop, registration: ConnectionRegistry.Registration? = nil,
    isEncrypted: Bool = false
  ) {
    self.isEncrypted = isEncrypted
    self.registration = registration
    self.settings = settings
    self.access = session.access
    self.passwords = passwords
    self.directory = directory
    self.eventLoop = eventLoop
    self.session = RTSPServerSession(
      configuration: session, now: Self.now(on: eventLoop), makeRandom: { .random(in: 0...UInt64.max) })
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
    self.parser.append(self.unwrapInboundIn(data))
    self.processMessages()
    self.holdBack()
  }

  func read(context: ChannelHandlerContext) {
    self.isReadHeld =
      self.session.isStarting || self.pendingCheck != nil || self.isPreparingStream || self.hasTooManyResponses
      || self.isClosing || self.holding != nil
    if !self.isReadHeld { context.read() }
  }

  func channelWritabilityChanged(context: ChannelHandlerContext) {
    self.isWritable = context.channel.isWritable
    // Between a write and its flush the connection is not writable, which says nothing about the client.
    guard self.writeDepth == 0 else { return }
    self.writeBufferChanged()
    context.fireChannelWritabilityChanged()
  }

  func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
    if let event = event as? StreamEnded, event.name == self.session.streamName {
      self.perform(self.session.handleStreamEnded())
    }
    context.fireUserInboundEventTriggered(event)
  }

  func errorCaught(context: ChannelHandlerContext, error: any Error) {
    // The connection was reset, or the client does not speak TLS.
    context.close(promise: nil)
  }
}

// MARK: Requests

extension RTSPConnectionHandler {
  func processMessages() {
    while !self.session.isStarting, self.pendingCheck == nil, !self.isPreparingStream, !self.hasTooManyResponses,
      !self.isClosing,
      let message = self.parser.next()
    {
      self.handle(message)
    }
    self.scheduleTimer()
  }

  private func handle(_ message: RTSPMessage) {
    let now = self.now
    let hadSession = self.session.streamName != nil
    defer {
      let hasSession = self.session.streamName != nil
      if hasSession != hadSession { self.registration?.setUse(hasSession ? .session : .unused) }
    }
    switch message {
    case .request(let request):
      self.session.clientAddress = self.context?.remoteAddress?.ipAddress ?? ""
      if self.session.verifiesCredentials(of: request),
        let check = self.access.passwordCheck(
          for: request.accessRequest(from: self.session.clientAddress), now: now)
      {
        return self.verify(check, for: request)
      }
      self.respond(to: request)
    case .response:
      self.session.handleActivity(now: now)
    case .interleaved(let channel, let payload):
      guard let track = self.session.track(forChannel: channel) else { return self.directory.countMalformed() }
      self.session.handleActivity(now: now)
      if self.publication != nil { self.publish(payload, track: track.index, isRTCP: track.isRTCP) }
    case .malformed(let message):
      self.directory.countMalformed()
      self.perform(self.session.handle(message, now: now))
    }
  }

  /// Compares a password with a hash on another thread, then handles its request.
  private func verify(_ check: PasswordCheck, for request: RTSPRequest) {
    let ticket = self.passwords.makeTicket()
    self.pendingCheck = ticket
    let handler = NIOLoopBound(self, eventLoop: self.eventLoop)
    self.passwords.submit(check, ticket: ticket) { outcome in
      handler.eventLoop.execute {
        let handler = handler.value
        handler.pendingCheck = nil
        // Also when the connection has ended: a guess that was compared counts.
        if case .refused(let delay) = outcome {
          handler.respond(to: request, refusedCheck: delay)
        } else {
          handler.respond(to: request)
        }
        handler.processMessages()
        handler.resumeReading()
      }
    }
  }

  /// Responds to a request whose password has been compared, where it has a hash.
  private func respond(to request: RTSPRequest, refusedCheck: MediaDuration? = nil) {
    let actions = self.session.handle(
      request, directory: self.directory, refusedCheck: refusedCheck, now: self.now)
    for case .respond(let response) in actions where response.status == .badRequest { self.directory.countMalformed() }
    self.perform(actions)
  }

  func perform(_ actions: [RTSPServerAction]) {
    guard !actions.isEmpty else { return }
    self.writing {
      for action in actions {
        switch action {
        case .respond(let response): self.write(response)
        case .prepareStream(let path, let request): self.prepareStream(atPath: path, for: request)
        case .startPlaying(let playback): self.startPlaying(playback)
        case .stopPlaying: self.stopPlaying()
        case .beginPublication(let announcement): self.beginPublication(announcement)
        case .startRecording(let recording): self.startRecording(recording)
        case .endPublication: self.stopPublishing()
        case .close: self.closeAfterWrites()
        }
      }
    }
  }

  /// Responds to a request once the description of its stream is known.
  private func prepareStream(atPath path: String, for request: RTSPRequest) {
    self.isPreparingStream = true
    let handler = NIOLoopBound(self, eventLoop: self.eventLoop)
    self.directory.prepareStream(atPath: path) {
      handler.eventLoop.execute {
        let handler = handler.value
        handler.isPreparingStream = false
        handler.perform(handler.session.streamPrepared(request, directory: handler.directory))
        handler.processMessages()
        handler.resumeReading()
      }
    }
  }

  private func write(_ response: RTSPResponse) {
    switch response.status {
    case .sessionNotFound: self.directory.refusals.count(.sessionNotFound)
    case .methodNotValidInThisState: self.directory.refusals.count(.methodNotValid)
    case .unsupportedTransport: self.directory.refusals.count(.unsupportedTransport)
    default: break
    }
    var buffer = ByteBuffer()
    response.serialize(into: &buffer)
    self.unsentResponses += buffer.readableBytes
    self.write(buffer)
  }

  func resumeReading() {
    guard self.isReadHeld, let context else { return }
    self.isReadHeld = false
    self.read(context: context)
  }
}

// MARK: Playing

extension RTSPConnectionHandler {
  private func startPlaying(_ playback: RTSPPlayback) {
    // Another stream may have been published under the name since SETUP.
    guard let context, let description = self.directory.stream(forPath: playback.streamName),
      playback.tracks.allSatisfy({ $0.index < description.tracks.count && $0.ssrc == description.tracks[$0.index].ssrc }
      ),
      let broadcaster = self.directory.broadcaster(of: description)
    else {
      return self.perform(self.session.handleStreamEnded())
    }
    context.limitUnsentBytes(bitrate: broadcaster.rendition.bitrate)
    if !self.isEncrypted {
      // nil for a channel without a socket: packets take the way through its pipeline.
      self.socket = ChannelSocket(of: context.channel)
    }
    var (transports, indices) = (PerTrack<RTPViewer.Transport>(), PerTrack<Int>())
    var addresses: [SocketAddress] = []
    for track in playback.tracks {
      let kind = description.tracks[track.index].kind
      indices[kind] = track.index
      switch track.transport {
      case .interleaved(let channels):
        transports[kind] = .interleaved(rtp: channels.rtp, rtcp: channels.rtcp)
      case .udp(let ports):
        guard var rtp = context.remoteAddress, var rtcp = context.remoteAddress else { continue }
        rtp.port = Int(ports.rtp)
        rtcp.port = Int(ports.rtcp)
        addresses += [rtp, rtcp]
        let local = context.localAddress
        transports[kind] = .datagrams(
          .init(
            rtp: .init(rtp, from: local), rtcp: .init(rtcp, from: local),
            route: self.directory.sockets?.route(from: local) ?? 0))
      }
    }
    var limits = ViewerState.Limits()
    limits.stallTimeout = self.settings.stallTimeout
    let viewer = RTPViewer(
      transports: transports, connection: self, counters: broadcaster.counters, limits: limits)
    self.playback = Playback(viewer: viewer, broadcaster: broadcaster, indices: indices, addresses: addresses)
    self.listenForDatagrams(from: addresses, context: context)
    broadcaster.join(viewer, on: context.eventLoop, startsCached: playback.startsCached)
  }

  private func listenForDatagrams(from addresses: [SocketAddress], context: ChannelHandlerContext) {
    guard !addresses.isEmpty else { return }
    self.directory.sockets?.register(
      addresses, owner: ObjectIdentifier(self), onDatagram: self.makeDatagramReceiver(on: context.eventLoop))
  }

  private func stopPlaying() {
    guard let playback, let context else { return }
    self.playback = nil
    playback.broadcaster.leave(playback.viewer, on: context.eventLoop)
    self.directory.sockets?.unregister(playback.addresses, owner: ObjectIdentifier(self))
  }

  /// Writes the response to PLAY; called by the viewer before its first packets are written, within ``writing(_:)``.
  ///
  /// - Returns: A sender report for each track, which the viewer sends next.
  func start(_ viewer: RTPViewer, at positions: PerTrack<RTPPosition>) -> PerTrack<ByteBuffer> {
    guard let playback, playback.viewer === viewer else { return PerTrack() }
    let entries = MediaKind.allCases.compactMap { kind -> RTSPTrackPosition? in
      guard let index = playback.indices[kind], let position = positions[kind] else { return nil }
      return RTSPTrackPosition(
        index: index, sequenceNumber: position.sequenceNumber, rtpTimestamp: position.timestamp)
    }
    self.perform(self.session.playingStarted(at: entries, now: self.now))
    // Requests that waited are handled after the current packets are written.
    self.context?.eventLoop.assumeIsolated().execute {
      self.processMessages()
      self.resumeReading()
    }
    return playback.broadcaster.reports()
  }

  /// Requests a keyframe of the stream that is played.
  func requestKeyframe() {
    self.playback?.broadcaster.rendition.requestKeyframe()
  }

  /// Sends an RTCP packet over UDP.
  func send(_ report: ByteBuffer, to destinations: RTPViewer.DatagramDestinations) {
    self.directory.sockets?.sendRTCP(report, to: destinations.rtcp)
  }

  /// Closes the connection if it has data to send, which cannot be taken back.
  func discardEarlier() {
    let socket = self.context.flatMap { ChannelSocket(of: $0.channel) }
    guard !self.isWritable || self.unsentByteCount > 0 || socket?.holdsBytes == true else { return }
    socket?.discardAndClose()
    self.context?.close(promise: nil)
  }

  /// Closes the connection at the end of its stream.
  func streamEnded() {
    self.perform(self.session.handleStreamEnded())
  }
}

// MARK: Ending

extension RTSPConnectionHandler {
  /// Schedules the timer at the session's deadline, unless it is due earlier.
  private func scheduleTimer() {
    guard let context, let deadline = self.session.nextDeadline else { return }
    if let timer, timer.deadline <= deadline { return }
    self.timer?.task.cancel()
    let delay = max(0, (deadline - self.now).nanoseconds)
    let task = context.eventLoop.assumeIsolated().scheduleTask(in: .nanoseconds(delay)) {
      self.timer = nil
      self.perform(self.session.handleTimer(now: self.now))
      self.processMessages()
      self.resumeReading()
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
    if let pendingCheck { self.passwords.cancel(pendingCheck) }
    self.stopPlaying()
    self.stopPublishing()
    if let context { self.directory.remove(context.channel) }
    self.context = nil
    self.socket = nil
  }
}
