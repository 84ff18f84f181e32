internal import Authentication
import Media
import NIOCore
import RTP
import RTSP

/// Invariants of an RTSP session for any bytes of a client.
///
/// The first four bytes select how the rest is split into reads and which events occur between them; all others are
/// the connection's bytes.
struct RTSPFuzzCase {
  private struct Directory: RTSPStreamDirectory {
    var streams: [RTSPStreamDescription]

    func stream(forPath path: String) -> RTSPStreamDescription? {
      path.isEmpty ? self.streams.first : self.streams.first { $0.name == path }
    }
  }

  private let bytes: ByteBufferView
  private let options: UInt8
  private var random: UInt64

  init(_ input: ByteBuffer) {
    let input = input.readableBytesView
    self.options = input.first ?? 0
    self.random = input.prefix(4).reduce(0x9e37_79b9_7f4a_7c15) { $0 &* 31 &+ UInt64($1) } | 1
    self.bytes = input.dropFirst(4)
  }

  func run() {
    var copy = self
    let messages = copy.parse(inPieces: true)
    precondition(messages == copy.parse(inPieces: false), "pieces change what is read")
    for message in messages { Self.checkRoundTrip(message) }
    copy.converse(over: messages)
    copy.answer(with: messages)
  }

  /// Everything the parser returns for the bytes.
  private mutating func parse(inPieces: Bool) -> [RTSPMessage] {
    var parser = RTSPMessageParser()
    var messages: [RTSPMessage] = []
    var rest = self.bytes
    while !rest.isEmpty {
      let count = inPieces ? Int(self.next() % 64) + 1 : rest.count
      parser.append(ByteBuffer(bytes: rest.prefix(count)))
      rest = rest.dropFirst(count)
      while let message = parser.next() { messages.append(message) }
      precondition(parser.unparsedByteCount <= 128 * 1024, "more is held than a message")
    }
    return messages
  }

  /// Checks that a serialized message is parsed to the same message.
  private static func checkRoundTrip(_ message: RTSPMessage) {
    var buffer = ByteBuffer()
    switch message {
    case .request(let request): request.serialize(into: &buffer)
    case .response(let response): response.serialize(into: &buffer)
    case .interleaved, .malformed: return
    }
    let lines = String(buffer: buffer).split(separator: "\r\n")
    // Each byte that is not UTF-8 is replaced by three, which can make a long line exceed the limit.
    guard lines.allSatisfy({ $0.utf8.count < 2048 }) else { return }
    var parser = RTSPMessageParser()
    parser.append(buffer)
    precondition(parser.next() == message, "a message changes on the way")
    precondition(parser.unparsedByteCount == 0, "a message is longer than it says")
  }

  /// A server session that handles the messages: every request gets exactly one response, whatever happens meanwhile.
  private mutating func converse(over messages: [RTSPMessage]) {
    let track = { (index: Int) in
      RTSPStreamDescription.Track(
        kind: index == 0 ? .video : .audio, control: "trackID=\(index)", ssrc: UInt32(index))
    }
    let directory = Directory(streams: [
      RTSPStreamDescription(name: "live", sessionDescription: "v=0\r\n", tracks: [track(0), track(1)]),
      RTSPStreamDescription(name: "cam/1", sessionDescription: "v=0\r\n", tracks: [track(0)]),
    ])
    var settings = AccessSettings()
    settings.tokens = [AccessToken(parsing: "0123456789abcdef", role: .publisher(stream: "live"))].compactMap(\.self)
    if self.options & 1 != 0 { settings.users = [Credentials(user: "user", password: "pass")] }
    let configuration = RTSPServerConfiguration(
      serverName: "Fuzz",
      access: AccessControl(settings: settings, makeRandom: { 1 }),
      udpPorts: self.options & 2 == 0 ? nil : RTSPTransport.Pair(rtp: 6000, rtcp: 6001))
    var now = MediaTime.zero
    var session = RTSPServerSession(configuration: configuration, now: now) { 0x0123_4567_89ab_cdef }
    var ledger = RTSPFuzzLedger()
    for message in messages {
      switch message {
      case .request(let request):
        ledger.ask()
        ledger.note(session.handle(request, directory: directory, now: now))
        if ledger.isAnnouncing {
          ledger.note(
            self.next() % 8 == 0
              ? session.publicationRefused(.alreadyPublished) : session.publicationBegan(now: now))
        }
        if session.isStarting { now += self.finishPlay(of: &session, ledger: &ledger, now: now) }
      case .response:
        session.handleActivity(now: now)
      case .interleaved(let channel, let payload):
        guard let track = session.track(forChannel: channel) else { continue }
        session.handleActivity(now: now)
        if session.isRecording { ledger.receive(payload, track: track.index, isRTCP: track.isRTCP, at: now) }
      case .malformed(let message):
        ledger.ask()
        ledger.note(session.handle(message, now: now))
      }
      ledger.check(isStarting: session.isStarting)
      if self.next() % 16 == 0 {
        now += .seconds(Int64(self.next() % 30))
        ledger.note(session.handleTimer(now: now))
      }
    }
    ledger.note(self.options & 4 == 0 ? session.handleShutdown() : session.handleStreamEnded())
    ledger.note(session.handleTimer(now: .init(nanoseconds: .max)))
    ledger.checkEnd()
    precondition(session.nextDeadline == nil, "a closed connection waits for something")
  }

  /// A client session that gets the messages: at most one request is under way, and each track has an address and channels.
  private mutating func answer(with messages: [RTSPMessage]) {
    var now = MediaTime.zero
    var session = RTSPClientSession(
      url: "rtsp://user/live", credentials: self.options & 8 == 0 ? nil : .init(user: "u", password: "p"),
      clientNonce: "1")
    var actions = session.begin()
    var hasEnded = false
    for message in messages {
      var request: RTSPRequest?
      for action in actions {
        switch action {
        case .send(let sent):
          precondition(request == nil && sent.headers["CSeq"] != nil, "two requests at once")
          request = sent
        case .respond: break
        case .play: precondition(!session.tracks.isEmpty && session.nextDeadline != nil, "nothing is played")
        case .fail: hasEnded = true
        }
      }
      if hasEnded { break }
      switch message {
      case .request(let request): actions = session.handle(request)
      case .response(var response):
        // Most fit, so that the session gets on.
        if let cSeq = request?.headers["CSeq"], self.next() % 8 != 0 { response.headers["CSeq"] = cSeq }
        actions = session.handle(response, now: now)
      case .interleaved(let channel, _):
        if let track = session.track(forChannel: channel) { precondition(track.index < session.tracks.count) }
        actions = []
      case .malformed: actions = []
      }
      if self.next() % 16 == 0 {
        now += .seconds(Int64(self.next() % 60))
        actions += session.handleTime(now)
      }
    }
    _ = session.end()
  }

  /// PLAY is pending: media arrives, fails, times out, or the stream ends.
  private mutating func finishPlay(
    of session: inout RTSPServerSession, ledger: inout RTSPFuzzLedger, now: MediaTime
  ) -> MediaDuration {
    switch self.next() % 8 {
    case 0: ledger.note(session.playingFailed(now: now))
    case 1:
      ledger.note(session.handleTimer(now: now + .seconds(10)))
      return .seconds(10)
    case 2: ledger.note(session.handleStreamEnded())
    default:
      let position = RTSPTrackPosition(index: Int(self.next() % 3), sequenceNumber: 65_535, rtpTimestamp: .max)
      ledger.note(session.playingStarted(at: [position], now: now))
    }
    return .zero
  }

  /// xorshift64, Marsaglia 2003.
  private mutating func next() -> UInt64 {
    self.random ^= self.random << 13
    self.random ^= self.random >> 7
    self.random ^= self.random << 17
    return self.random
  }
}

/// Counts requests and responses, and checks the order of actions.
struct RTSPFuzzLedger {
  private var unanswered = 0
  private var isPlaying = false
  private var isPublishing = false
  private var isClosed = false
  private var announcement: RTSPAnnouncement?
  private var receiver = RTPStreamReceiver(ssrc: 1, canonicalName: "fuzz")

  /// Whether ANNOUNCE waits for its acceptance.
  var isAnnouncing: Bool { self.announcement != nil && !self.isPublishing }

  /// A request, or a malformed one.
  mutating func ask() {
    if !self.isClosed { self.unanswered += 1 }
  }

  mutating func note(_ actions: [RTSPServerAction]) {
    for action in actions {
      precondition(!self.isClosed, "something happens after the end")
      switch action {
      case .respond(let response):
        // ANNOUNCE is accepted with its response.
        if self.isAnnouncing {
          if response.status == .ok { self.isPublishing = true } else { self.announcement = nil }
        }
        self.unanswered -= 1
        precondition(self.unanswered >= 0, "a request is answered twice")
        var buffer = ByteBuffer()
        response.serialize(into: &buffer)
        var parser = RTSPMessageParser()
        parser.append(buffer)
        precondition(parser.next() == .response(response), "a response cannot be read")
        precondition(parser.unparsedByteCount == 0, "a response is more than one")
      case .prepareStream: preconditionFailure("every description is known")
      case .startPlaying(let playback):
        precondition(!self.isPlaying && !playback.tracks.isEmpty, "a stream is joined twice, or for nothing")
        var channels: Set<UInt8> = []
        for case .interleaved(let pair) in playback.tracks.map(\.transport) {
          precondition(channels.insert(pair.rtp).inserted && channels.insert(pair.rtcp).inserted, "channels collide")
        }
        self.isPlaying = true
      case .stopPlaying:
        precondition(self.isPlaying, "a stream is left that was not joined")
        self.isPlaying = false
      case .beginPublication(let announcement):
        precondition(!self.isPlaying && self.announcement == nil, "a stream is sent twice, or watched meanwhile")
        let kinds = announcement.tracks.compactMap(\.format?.kind)
        precondition(!kinds.isEmpty && Set(kinds).count == kinds.count, "a stream of other tracks is taken")
        self.announcement = announcement
      case .startRecording(let recording):
        precondition(self.isPublishing && !recording.tracks.isEmpty, "nothing is received")
        self.receiver = RTPStreamReceiver(ssrc: 1, canonicalName: "fuzz")
        for track in recording.tracks {
          guard let announced = self.announcement?.tracks, announced.indices.contains(track.index) else {
            preconditionFailure("a track is received that was not announced")
          }
          guard let format = announced[track.index].format else { continue }
          guard (try? self.receiver.addTrack(track.index, format: format, reorders: track.index == 0)) != nil
          else { preconditionFailure("an accepted track cannot be received") }
        }
      case .endPublication:
        precondition(self.isPublishing, "a stream is given up that was not sent")
        (self.isPublishing, self.announcement) = (false, nil)
      case .close:
        precondition(!self.isPlaying && !self.isPublishing, "a closed connection stays with the stream")
        self.isClosed = true
        self.unanswered = 0
      }
    }
  }

  /// A packet of a publisher: whatever it has, samples are whole, and at most a deviation from their arrival.
  mutating func receive(_ payload: ByteBuffer, track: Int, isRTCP: Bool, at now: MediaTime) {
    // Malformed packets are dropped.
    if isRTCP {
      try? self.receiver.receive(rtcp: payload, track: track, at: now)
    } else {
      for case .sample(let sample) in (try? self.receiver.receive(rtp: payload, track: track, at: now)) ?? [] {
        precondition(sample.payload.readableBytes > 0, "a sample is empty")
        precondition(sample.decodeTime <= sample.presentationTime, "a frame is decoded after it is shown")
        let distance = sample.presentationTime - now
        precondition(
          distance <= RTPSourceClock.maximumDeviation && .zero - distance <= RTPSourceClock.maximumDeviation,
          "a time is far from the arrival")
      }
    }
    guard let report = self.receiver.makeReport(track: track, now: now) else { return }
    precondition((try? RTCPCompoundPacket(parsing: report)) != nil, "a report cannot be read")
  }

  func check(isStarting: Bool) {
    precondition(self.isClosed || self.unanswered == (isStarting ? 1 : 0), "a request is not answered")
  }

  func checkEnd() {
    precondition(self.isClosed && !self.isPlaying, "a connection stays")
  }
}
