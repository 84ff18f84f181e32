internal import Media
internal import NIOCore
internal import RTSP
internal import Streaming
internal import Synchronization
internal import Threading

/// One viewer's connection: performs on its channel what the session's state machine decides.
///
/// What a viewer can make us hold is bounded: nothing more is read while it does not take our answers, or while PLAY
/// waits for its keyframe.
final class RTSPConnectionHandler: ChannelDuplexHandler {
  typealias InboundIn = ByteBuffer
  typealias OutboundIn = ByteBuffer
  typealias OutboundOut = ByteBuffer

  /// A viewer for whom more than the high mark waits is skipped until what waits has fallen below the low one. The high
  /// mark is two seconds of the stream, and at least this.
  static let waterMark = ChannelOptions.Types.WriteBufferWaterMark(low: 128 * 1024, high: 512 * 1024)

  /// How long the last bytes to a viewer may take when its connection is to be closed.
  private static let closeTimeout = TimeAmount.seconds(1)
  private static let stallCheckInterval = TimeAmount.seconds(1)

  /// Whether the connection takes more.
  private(set) var isWritable = true

  private let settings: RTSPServerSettings
  private let directory: StreamDirectory
  private let clock = StreamClock.system
  private var parser = RTSPMessageParser()
  private var session: RTSPServerSession
  private var context: ChannelHandlerContext?
  private var viewing: Viewing?
  private var timer: (deadline: MediaTime, task: Scheduled<Void>)?
  private var stall: Stall?
  private var isReadHeld = false
  private var isClosing = false

  /// The stream that is watched.
  private struct Viewing {
    var viewer: RTPViewer
    var broadcaster: RTPBroadcaster
    /// The tracks' places in the session description.
    var indices: PerTrack<Int>
    /// Where the viewer's datagrams come from.
    var addresses: [SocketAddress]
  }

  /// How far a viewer has come that does not keep up.
  private struct Stall {
    var waitingBytes: Int
    var lastProgress: MediaTime
    var check: RepeatedTask
  }

  init(settings: RTSPServerSettings, session: RTSPServerConfiguration, directory: StreamDirectory) {
    self.settings = settings
    self.directory = directory
    self.session = RTSPServerSession(
      configuration: session, now: StreamClock.system.now(), makeRandom: { .random(in: 0...UInt64.max) })
  }

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
  }

  func read(context: ChannelHandlerContext) {
    self.isReadHeld = self.session.isStarting || !self.isWritable || self.isClosing
    if !self.isReadHeld { context.read() }
  }

  func channelWritabilityChanged(context: ChannelHandlerContext) {
    self.isWritable = context.channel.isWritable
    if self.isWritable {
      self.stall?.check.cancel()
      self.stall = nil
      if let viewing, viewing.viewer.isSkipping { viewing.broadcaster.stream.requestKeyframe() }
      self.resumeReading()
    }
    context.fireChannelWritabilityChanged()
  }

  func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
    if let event = event as? StreamEnded, event.name == self.session.streamName {
      self.perform(self.session.handleStreamEnded())
    }
    context.fireUserInboundEventTriggered(event)
  }

  func errorCaught(context: ChannelHandlerContext, error: any Error) {
    // A reset connection, or a peer that speaks no TLS: either way nothing more can be said to it.
    context.close(promise: nil)
  }
}

// MARK: Requests

extension RTSPConnectionHandler {
  private func processMessages() {
    while !self.session.isStarting, !self.isClosing, let message = self.parser.next() {
      self.handle(message)
    }
    self.scheduleTimer()
  }

  private func handle(_ message: RTSPMessage) {
    let now = self.clock.now()
    switch message {
    case .request(let request):
      self.perform(self.session.handle(request, directory: self.directory, now: now))
    case .response:
      self.session.handleActivity(now: now)
    case .interleaved(let channel, _):
      if self.session.track(forChannel: channel) == nil {
        self.directory.malformedRequests.add(1, ordering: .relaxed)
      } else {
        self.session.handleActivity(now: now)
      }
    case .malformed(let message):
      self.directory.malformedRequests.add(1, ordering: .relaxed)
      self.perform(self.session.handle(message, now: now))
    }
  }

  private func perform(_ actions: [RTSPServerAction]) {
    for action in actions {
      switch action {
      case .respond(let response): self.write(response)
      case .startPlaying(let playback): self.startPlaying(playback)
      case .stopPlaying: self.stopPlaying()
      case .close: self.closeAfterWrites()
      }
    }
    self.context?.flush()
  }

  private func write(_ response: RTSPResponse) {
    var buffer = ByteBuffer()
    response.serialize(into: &buffer)
    self.context?.write(self.wrapOutboundOut(buffer), promise: nil)
  }

  private func resumeReading() {
    guard self.isReadHeld, let context else { return }
    self.isReadHeld = false
    self.read(context: context)
  }
}

// MARK: Playing

extension RTSPConnectionHandler {
  private func startPlaying(_ playback: RTSPPlayback) {
    // A stream of the same name may have taken the place of the one that was set up.
    guard let context, let description = self.directory.stream(forPath: playback.streamName),
      playback.tracks.allSatisfy({ $0.index < description.tracks.count && $0.ssrc == description.tracks[$0.index].ssrc }
      ),
      let broadcaster = self.directory.broadcaster(of: description)
    else {
      return self.perform(self.session.handleStreamEnded())
    }
    self.setWaterMark(for: broadcaster.stream, context: context)
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
        transports[kind] = .datagrams(.init(rtp: .init(rtp), rtcp: .init(rtcp)))
      }
    }
    let viewer = RTPViewer(transports: transports, connection: self)
    self.viewing = Viewing(viewer: viewer, broadcaster: broadcaster, indices: indices, addresses: addresses)
    self.listenForDatagrams(from: addresses, context: context)
    broadcaster.join(viewer, on: context.eventLoop)
  }

  private func setWaterMark(for stream: LiveStream, context: ChannelHandlerContext) {
    let high = max(Self.waterMark.high, stream.videoBitrate * 2 / 8)
    // The option is there on every socket channel.
    try? context.channel.syncOptions?.setOption(.writeBufferWaterMark, value: .init(low: high / 4, high: high))
  }

  private func listenForDatagrams(from addresses: [SocketAddress], context: ChannelHandlerContext) {
    guard !addresses.isEmpty else { return }
    let handler = NIOLoopBound(self, eventLoop: context.eventLoop)
    self.directory.sockets?.register(addresses, owner: ObjectIdentifier(self)) {
      handler.eventLoop.execute {
        let handler = handler.value
        handler.session.handleActivity(now: handler.clock.now())
      }
    }
  }

  private func stopPlaying() {
    guard let viewing, let context else { return }
    self.viewing = nil
    viewing.broadcaster.leave(viewing.viewer, on: context.eventLoop)
    self.directory.sockets?.unregister(viewing.addresses, owner: ObjectIdentifier(self))
  }

  /// The first packets are known: the reply to PLAY goes out, and with it a report for each track.
  func viewerStarted(_ viewer: RTPViewer, at positions: PerTrack<RTPPosition>) {
    guard let viewing, viewing.viewer === viewer else { return }
    let entries = MediaKind.allCases.compactMap { kind -> RTSPTrackPosition? in
      guard let index = viewing.indices[kind], let position = positions[kind] else { return nil }
      return RTSPTrackPosition(
        index: index, sequenceNumber: position.sequenceNumber, rtpTimestamp: position.timestamp)
    }
    self.perform(self.session.playingStarted(at: entries, now: self.clock.now()))
    viewer.send(viewing.broadcaster.reports())
    // Requests that waited are handled when the packets that are being delivered have been.
    self.context?.eventLoop.assumeIsolated().execute {
      self.processMessages()
      self.resumeReading()
    }
  }

  /// The viewer takes less than it is sent: from now on its progress is watched.
  func viewerFellBehind() {
    guard self.stall == nil, let context, let waitingBytes = self.waitingBytes else { return }
    let handler = NIOLoopBound(self, eventLoop: context.eventLoop)
    let check = context.eventLoop.scheduleRepeatedTask(
      initialDelay: Self.stallCheckInterval, delay: Self.stallCheckInterval
    ) { _ in
      handler.value.checkStall()
    }
    self.stall = Stall(waitingBytes: waitingBytes, lastProgress: self.clock.now(), check: check)
  }

  private func checkStall() {
    guard let stall, let waitingBytes = self.waitingBytes else { return }
    let now = self.clock.now()
    if waitingBytes < stall.waitingBytes {
      self.stall?.lastProgress = now
    } else if now - stall.lastProgress >= self.settings.stallTimeout {
      self.viewing?.broadcaster.counters.viewersClosedAsSlow.add(1, ordering: .relaxed)
      // What waits will not be taken any more.
      self.context?.close(promise: nil)
      return
    }
    self.stall?.waitingBytes = waitingBytes
  }

  /// Bytes that the system has not taken yet.
  private var waitingBytes: Int? {
    // The option is there on every socket channel; a closed one has nothing that waits.
    try? self.context?.channel.syncOptions?.getOption(.bufferedWritableBytes)
  }

  /// Writes packets, framed for the connection.
  func write(_ buffer: ByteBuffer) {
    self.context?.writeAndFlush(self.wrapOutboundOut(buffer), promise: nil)
  }

  /// Writes an RTCP packet; not to a viewer who does not even take pictures.
  func writeReport(_ report: ByteBuffer, over transport: RTPViewer.Transport) {
    switch transport {
    case .interleaved(_, let channel):
      guard self.isWritable else { return }
      self.write(ByteBuffer(interleaving: report, channel: channel))
    case .datagrams(let destinations):
      self.directory.sockets?.sendRTCP(report, to: destinations.rtcp)
    }
  }

  /// The stream is over.
  func streamEnded() {
    self.perform(self.session.handleStreamEnded())
  }
}

// MARK: Ending

extension RTSPConnectionHandler {
  /// Keeps the one timer at the session's deadline or before it.
  private func scheduleTimer() {
    guard let context, let deadline = self.session.nextDeadline else { return }
    if let timer, timer.deadline <= deadline { return }
    self.timer?.task.cancel()
    let delay = max(0, (deadline - self.clock.now()).nanoseconds)
    let task = context.eventLoop.assumeIsolated().scheduleTask(in: .nanoseconds(delay)) {
      self.timer = nil
      self.perform(self.session.handleTimer(now: self.clock.now()))
      self.processMessages()
      self.resumeReading()
    }
    self.timer = (deadline, task)
  }

  /// Closes when what is written has gone out, or shortly after when the viewer does not take it.
  private func closeAfterWrites() {
    guard !self.isClosing, let context else { return }
    self.isClosing = true
    let channel = context.channel
    context.writeAndFlush(self.wrapOutboundOut(ByteBuffer())).whenComplete { _ in channel.close(promise: nil) }
    context.eventLoop.scheduleTask(in: Self.closeTimeout) { channel.close(promise: nil) }
  }

  private func end() {
    self.timer?.task.cancel()
    self.timer = nil
    self.stall?.check.cancel()
    self.stall = nil
    self.stopPlaying()
    if let context { self.directory.remove(context.channel) }
    self.context = nil
  }
}

extension ByteBuffer {
  /// A packet within an RTSP connection, RFC 2326 §10.12.
  fileprivate init(interleaving packet: ByteBuffer, channel: UInt8) {
    self.init()
    self.reserveCapacity(4 + packet.readableBytes)
    self.writeInteger(UInt8(ascii: "$"))
    self.writeInteger(channel)
    self.writeInteger(UInt16(packet.readableBytes))
    self.writeImmutableBuffer(packet)
  }
}
