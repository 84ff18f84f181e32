internal import Authentication
internal import Media
internal import MediaInput
internal import NIOCore
internal import NIOPosix
internal import RTSP
internal import Serving
internal import Streaming
internal import Synchronization

/// Channel handler of one RTSP connection: performs the actions of ``RTSPServerSession``.
///
/// Memory per connection is bounded: the handler reads nothing while the client does not read its responses, or while PLAY
/// waits for its keyframe. While packets are unsent it reads on, since keep-alives show that a slow viewer is there.
final class RTSPConnectionHandler: MediaConnection {
  /// Bytes of unsent responses above which no request is read.
  private static let maximumUnsentResponses = 16 * 1024

  let directory: RTSPDirectory
  var parser = RTSPMessageParser(limits: .players)
  var session: RTSPServerSession
  private(set) var playback: Playback? {
    didSet { self.viewer = self.playback?.viewer }
  }
  /// The stream that the client sends.
  var reception: Reception?
  /// Whether a request waits for the description of its stream; no other is handled meanwhile.
  private var isPreparingStream = false

  /// The stream that is played.
  struct Playback {
    var viewer: RTPViewer
    var output: RTPOutput
    /// Index of each track in the session description.
    var indices: PerTrack<Int>
    /// The client's UDP addresses.
    var addresses: [SocketAddress]
  }

  init(_ session: RTSPServerConfiguration, _ directory: RTSPDirectory, _ environment: Environment) {
    self.directory = directory
    self.session = RTSPServerSession(
      configuration: session, now: Self.now(on: environment.eventLoop), makeRandom: { .random(in: 0...UInt64.max) })
    super.init(environment, maximumUnsentResponses: Self.maximumUnsentResponses)
  }

  override func receive(_ bytes: ByteBuffer) {
    self.parser.append(bytes)
    self.processMessages()
    self.holdBack(for: self.reception?.publication.holdTime)
  }

  /// Whether PLAY waits for its keyframe, or a request for a comparison or a description.
  override var isDeciding: Bool { self.session.isStarting || self.isComparing || self.isPreparingStream }

  override var nextDeadline: MediaTime? { self.session.nextDeadline }

  override func handleTimer() {
    let actions = self.session.handleTimer(now: self.now)
    if actions.contains(.close) { self.visit?.end = .silent }
    self.perform(actions)
    self.processMessages()
    self.resumeReading()
  }

  override func responsesSent() {
    self.processMessages()
  }

  override func renditionEnded(_ rendition: Rendition) {
    if rendition.qualifiedName == self.session.streamName { self.streamEnded() }
  }

  override func streamEnded() {
    self.visit?.end = .stream
    self.perform(self.session.handleStreamEnded())
  }

  override func ended() {
    self.endPlayback()
    self.stopPublishing()
  }
}

// MARK: Requests

extension RTSPConnectionHandler {
  func processMessages() {
    while !self.isDeciding, !self.hasTooManyResponses, !self.isClosing, let message = self.parser.next() {
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
      if self.reception != nil { self.publish(payload, track: track.index, isRTCP: track.isRTCP) }
    case .malformed(let message):
      self.directory.countMalformed()
      self.perform(self.session.handle(message, now: now))
    }
  }

  /// Compares a password with a hash on another thread, then handles its request.
  private func verify(_ check: PasswordCheck, for request: RTSPRequest) {
    self.compare(check) { retryDelay in
      self.respond(to: request, refusedCheck: retryDelay)
      self.processMessages()
      self.resumeReading()
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
    self.perform(actions) { action in
      switch action {
      case .respond(let response): self.write(response)
      case .prepareStream(let path, let request): self.prepareStream(atPath: path, for: request)
      case .startPlaying(let playback): self.startPlaying(playback)
      case .stopPlaying: self.endPlayback()
      case .beginPublication(let announcement): self.beginPublication(announcement)
      case .startRecording(let recording): self.startRecording(recording)
      case .endPublication: self.stopPublishing()
      case .close: self.closeAfterWrites()
      }
    }
  }

  /// Responds to a request once the description of its stream is known.
  private func prepareStream(atPath path: String, for request: RTSPRequest) {
    self.isPreparingStream = true
    self.find([path], in: self.directory.outputs) { _ in
      self.isPreparingStream = false
      self.perform(self.session.streamPrepared(request, directory: self.directory))
      self.processMessages()
      self.resumeReading()
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
    self.writeResponse(buffer)
  }
}

// MARK: Playing

extension RTSPConnectionHandler {
  private func startPlaying(_ playback: RTSPPlayback) {
    // Another stream may have been served under the name since SETUP.
    guard let context, let description = self.directory.stream(forPath: playback.streamName),
      playback.tracks.allSatisfy({ $0.index < description.tracks.count && $0.ssrc == description.tracks[$0.index].ssrc }
      ),
      let output = self.directory.output(of: description)
    else {
      return self.streamEnded()
    }
    self.prepareForMedia(bitrate: output.rendition.bitrate)
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
    let viewer = RTPViewer(transports: transports, connection: self, counters: output.counters)
    self.playback = Playback(viewer: viewer, output: output, indices: indices, addresses: addresses)
    self.listenForDatagrams(from: addresses, context: context)
    output.join(viewer, on: context.eventLoop, startsCached: playback.startsCached)
  }

  private func listenForDatagrams(from addresses: [SocketAddress], context: ChannelHandlerContext) {
    guard !addresses.isEmpty else { return }
    self.directory.sockets?.register(
      addresses, owner: ObjectIdentifier(self), onDatagram: self.makeDatagramReceiver(on: context.eventLoop))
  }

  private func endPlayback() {
    guard let playback else { return }
    self.playback = nil
    playback.output.leave(playback.viewer, on: self.eventLoop)
    self.directory.sockets?.unregister(playback.addresses, owner: ObjectIdentifier(self))
    self.endVisit()
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
    self.beginVisit(of: playback.output.requested)
    // Requests that waited are handled after the current packets are written.
    self.context?.eventLoop.assumeIsolated().execute {
      self.processMessages()
      self.resumeReading()
    }
    return playback.output.reports()
  }

  /// Sends a viewer after a time what waits for it.
  func scheduleCatchUp(of viewer: RTPViewer, in time: MediaDuration) {
    self.context?.eventLoop.assumeIsolated().scheduleTask(in: .nanoseconds(time.nanoseconds)) {
      guard self.playback?.viewer === viewer else { return }
      viewer.sendCatchUp(at: self.now)
    }
  }

  /// Requests a keyframe of the stream that is played.
  func requestKeyframe() {
    self.playback?.output.rendition.requestKeyframe()
  }

  /// Sends an RTCP packet over UDP.
  func send(_ report: ByteBuffer, to destinations: RTPViewer.DatagramDestinations) {
    self.directory.sockets?.sendRTCP(report, to: destinations.rtcp)
  }

}
