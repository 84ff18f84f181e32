internal import CLibav
internal import Codecs
internal import Libc
internal import Media
internal import NIOCore
internal import RTP
internal import RTSP
internal import Threading

/// Receives a stream from an RTSP server over one connection: its requests, the RTP packets between the responses, and reports.
struct RTSPTransfer: ~Copyable {
  /// The reason for there being no stream.
  enum Failure: Error {
    /// libavformat may be able to receive it: it has other codecs, or the server redirects, or does not interleave. The description,
    /// where it has come, has these back channels, which are left out.
    case unsupported(RTSPBackChannels)
    /// The error of the source.
    case failed(VidiconError)
  }

  private let specification: NetworkSpecification
  private let socket: ClientSocket
  private let interrupt: LibavInterrupt
  private var session: RTSPClientSession
  private var parser = RTSPMessageParser()
  private var receiver: RTPStreamReceiver
  private var outputs: [ReceivedMedia] = []
  private var isPlaying = false
  private var nextReport: MediaTime
  /// Signs of life of the server: its packets, reports and responses.
  private var life: SourceLife
  /// Whether a packet of video has arrived.
  private(set) var hasReceivedVideo = false

  /// Maximum duration of connecting, and of the requests up to PLAY.
  private static let startTimeout = MediaDuration.seconds(10)
  /// Maximum time that a server may take nothing.
  private static let sendTimeout = MediaDuration.seconds(10)
  /// Interval of receiver reports; RFC 3550 §6.2 recommends at least 5 s.
  private static let reportInterval = MediaDuration.seconds(5)

  /// Connects, and requests the stream.
  ///
  /// - Parameter limits: Times after which the stream counts as lost.
  static func open(
    _ specification: NetworkSpecification, interrupt: LibavInterrupt, limits: SourceLife.Limits
  ) throws(Failure) -> RTSPTransfer {
    let deadline = StreamClock.system.now() + Self.startTimeout
    let socket = try Self.connect(to: specification, interrupt: interrupt, deadline: deadline)
    var transfer = RTSPTransfer(specification, over: socket, interrupt: interrupt, limits: limits)
    try transfer.start(until: deadline)
    return transfer
  }

  private init(
    _ specification: NetworkSpecification, over socket: consuming ClientSocket, interrupt: LibavInterrupt,
    limits: SourceLife.Limits
  ) {
    let (url, credentials) = specification.access
    let nonce = String(UInt64.random(in: 0...UInt64.max), radix: 16)
    self.specification = specification
    self.socket = socket
    self.interrupt = interrupt
    self.session = RTSPClientSession(
      url: url, credentials: credentials.map { .init(user: $0.user, password: $0.password) }, clientNonce: nonce)
    self.receiver = RTPStreamReceiver(ssrc: .random(in: 1...UInt32.max), canonicalName: "vidicon-\(nonce)")
    let now = StreamClock.system.now()
    self.life = SourceLife(at: now, limits: limits)
    self.nextReport = now + Self.reportInterval
  }

  private mutating func start(until deadline: MediaTime) throws(Failure) {
    try self.perform(self.session.begin())
    while !self.isPlaying {
      guard try self.advance(until: deadline) else {
        throw self.failure(self.interrupt.isCancelled ? vidicon_averror_exit : -ETIMEDOUT)
      }
    }
  }

  private static func connect(
    to specification: NetworkSpecification, interrupt: LibavInterrupt, deadline: MediaTime
  ) throws(Failure) -> ClientSocket {
    do throws(VidiconError) {
      return try ClientSocket(to: specification, defaultPort: 554, interrupt: interrupt, deadline: deadline)
    } catch {
      throw .failed(error)
    }
  }

  deinit {
    // So that the server frees its session; its response is not waited for.
    var session = self.session
    guard let request = session.end() else { return }
    var bytes = ByteBuffer()
    request.serialize(into: &bytes)
    try? self.socket.send(bytes, until: StreamClock.system.now())
  }

  /// The failure of a stream that libavformat may be able to receive.
  var unsupported: Failure { .unsupported(self.session.backChannels) }

  /// Whether the server has announced video.
  var hasVideo: Bool { self.session.tracks.contains { $0.format.kind == .video } }

  /// Receives the next content.
  ///
  /// - Returns: Content; empty when none has come up to the deadline, or the source was stopped.
  mutating func receive(until deadline: MediaTime) throws(Failure) -> [ReceivedMedia] {
    while self.outputs.isEmpty {
      guard try self.advance(until: deadline) else { break }
    }
    defer { self.outputs = [] }
    return self.outputs
  }

  /// Receives the next content; waits as long as the server lives: packets may come seldom, and none of them be decodable before a
  /// keyframe. A server that sends nothing is asked for a sign of life.
  ///
  /// - Returns: Content; empty where the stream is lost, or the source was stopped.
  mutating func receive() throws(Failure) -> [ReceivedMedia] {
    while self.outputs.isEmpty, !self.interrupt.isCancelled {
      guard try self.advance(until: self.life.lossTime) else { break }
    }
    defer { self.outputs = [] }
    return self.outputs
  }

  /// Waits for bytes and handles them, or does what has become due.
  ///
  /// - Returns: False when nothing has come up to the deadline, or the source was stopped.
  private mutating func advance(until deadline: MediaTime) throws(Failure) -> Bool {
    let now = StreamClock.system.now()
    try self.perform(self.session.handleTime(now))
    if self.isPlaying, now >= self.nextReport { try self.sendReports(now) }
    if self.isPlaying, now >= self.life.requestTime {
      self.life.handleRequest(at: now)
      try self.perform(self.session.requestSign(now: now))
    }
    do throws(VidiconError) {
      var wake = min(deadline, self.session.nextDeadline ?? deadline)
      if self.isPlaying { wake = min(wake, self.nextReport, self.life.requestTime) }
      guard let bytes = try self.socket.receive(until: wake) else {
        return StreamClock.system.now() < deadline && !self.interrupt.isCancelled
      }
      self.parser.append(bytes)
    } catch {
      throw .failed(error)
    }
    let arrival = StreamClock.system.now()
    while let message = self.parser.next() { try self.handle(message, at: arrival) }
    return true
  }

  private mutating func handle(_ message: RTSPMessage, at now: MediaTime) throws(Failure) {
    switch message {
    case .response(let response):
      self.life.handleSign(at: now)
      try self.perform(self.session.handle(response, now: now))
    case .request(let request):
      self.life.handleSign(at: now)
      try self.perform(self.session.handle(request))
    case .interleaved(let channel, let payload):
      guard let (index, isRTCP) = self.session.track(forChannel: channel) else { return }
      // A packet that cannot be parsed is lost, and nothing else.
      if isRTCP {
        self.life.handleSign(at: now)
        try? self.receiver.receive(rtcp: payload, track: index, at: now)
      } else {
        let kind = self.session.tracks[index].format.kind
        self.life.handleMedia(kind, at: now)
        if kind == .video { self.hasReceivedVideo = true }
        self.outputs += (try? self.receiver.receive(rtp: payload, track: index, at: now)) ?? []
      }
    case .malformed(let message):
      guard message.canContinue else { throw self.failure(vidicon_averror_invaliddata) }
    }
  }

  private mutating func perform(_ actions: [RTSPClientSession.Action]) throws(Failure) {
    for action in actions {
      var bytes = ByteBuffer()
      switch action {
      case .send(let request):
        // Its response may come behind the first packets.
        if request.method == .play { try self.addTracks() }
        request.serialize(into: &bytes)
      case .respond(let response): response.serialize(into: &bytes)
      case .play: self.isPlaying = true
      case .fail(let failure): throw self.failure(failure)
      }
      if bytes.readableBytes > 0 { try self.send(bytes) }
    }
  }

  private mutating func addTracks() throws(Failure) {
    for (index, track) in self.session.tracks.enumerated() {
      do throws(ParsingError) {
        self.outputs += try self.receiver.addTrack(index, format: track.format, reorders: false)
      } catch {
        throw self.unsupported
      }
    }
  }

  private mutating func sendReports(_ now: MediaTime) throws(Failure) {
    self.nextReport = now + Self.reportInterval
    for (index, track) in self.session.tracks.enumerated() {
      guard let report = self.receiver.makeReport(track: index, now: now) else { continue }
      var bytes = ByteBuffer()
      bytes.writeMultipleIntegers(UInt8(ascii: "$"), track.channels.rtcp, UInt16(clamping: report.readableBytes))
      bytes.writeImmutableBuffer(report)
      try self.send(bytes)
    }
  }

  private func send(_ bytes: ByteBuffer) throws(Failure) {
    do throws(VidiconError) {
      try self.socket.send(bytes, until: StreamClock.system.now() + Self.sendTimeout)
    } catch {
      throw .failed(error)
    }
  }

  private func failure(_ failure: RTSPClientSession.Failure) -> Failure {
    switch failure {
    case .refused(.unauthorized): self.failure(vidicon_averror_http_unauthorized)
    case .refused(.forbidden): self.failure(vidicon_averror_http_forbidden)
    case .refused(.notFound): self.failure(vidicon_averror_http_not_found)
    case .refused, .unsupported, .invalid: self.isPlaying ? self.failure(vidicon_averror_eof) : self.unsupported
    }
  }

  private func failure(_ status: Int32) -> Failure {
    .failed(VidiconError(network: status, of: self.specification))
  }
}
