internal import Authentication
package import Media
internal import NIOCore
internal import RTP
internal import TestSupport
package import WebRTC

/// A session with a browser behind a simulated path, in virtual time: the stream's frames, what the session sends, what the
/// browser reports, and an encoder that may follow the estimate.
package struct SimulatedSession {
  /// The session.
  package private(set) var session: WebRTCSession
  /// The client's browser.
  package var receiver: SimulatedReceiver
  /// Virtual time.
  package private(set) var now = MediaTime.zero
  private var batch = DatagramBatch()
  private var numbers: SplitMix
  /// Bits per second of the encoder: now, and where its rate control goes.
  private var bitrate: Double
  private var target: Double
  private var rule: SoleViewerBitrate?
  private var isKeyframeNeeded = false
  private var lastKeyframe: MediaTime?
  /// Keyframes that were encoded; regular ones come every ``keyframeInterval``.
  package private(set) var keyframeTimes: [Double] = []
  /// Frames that were encoded.
  package private(set) var encodedFrames = 0
  /// Delay in the queue of the path, every 50 ms.
  package private(set) var queue: [(time: Double, delay: Double)] = []
  /// Whether the session has ended.
  package private(set) var isClosed = false
  /// Interval of regular keyframes.
  package var keyframeInterval = MediaDuration.seconds(2)

  private static let audioLength = 160
  private static let credentials = ICECredentials(usernameFragment: "serv", password: "server0password0server")!
  private static let unixTimeAtZero: Int64 = 1_700_000_000_000_000_000

  /// Creates a session with a browser that connects.
  ///
  /// - Parameter fixedBitrate: Bits per second of an encoder that does not follow this viewer.
  package init(
    _ conditions: SimulatedPath.Conditions, seed: UInt64, fixedBitrate: Int? = nil, maximumBitrate: Int = 4_500_000
  )
    throws
  {
    let answer = try WebRTCAnswer(
      WebRTCOffers.offer("chromium"),
      WebRTCAnswer.Configuration(
        sessionID: 1, credentials: Self.credentials,
        fingerprint: CertificateFingerprint(algorithm: .sha256, digest: PlainSecurity().fingerprint),
        candidates: [TransportAddress(ip: .v4(0xC000_0207), port: 8189)],
        video: H264ProfileLevel(parsing: "42c01f"), hasAudio: true, ssrcs: (1001, 1002, 1003)))
    let numbers = SharedNumbers(seed: seed)
    self.session = WebRTCSession(
      answer, credentials: Self.credentials, client: answer.clientTransport.credentials!,
      security: PlainSecurity(clientDigest: answer.clientTransport.fingerprints[0].digest),
      makeRandom: { numbers.next() }, unixTime: { Self.unixTimeAtZero + $0.nanoseconds }, at: .zero)
    let client = SessionClient(
      TransportAddress(ip: .v4(0xC633_6401), port: 4000), answer: answer, credentials: Self.credentials)
    self.receiver = SimulatedReceiver(conditions, seed: seed &* 2 &+ 1, client: client, answer: answer, at: .zero)
    self.numbers = SplitMix(seed: seed &+ 1)
    self.bitrate = Double(fixedBitrate ?? maximumBitrate)
    self.target = self.bitrate
    if fixedBitrate == nil { self.rule = SoleViewerBitrate(bounds: 100_000...maximumBitrate) }
  }

  /// Runs for some seconds from the start.
  package mutating func run(seconds: Double) throws {
    let end = MediaTime.zero + .milliseconds(Int64(seconds * 1000))
    var nextFrame = MediaTime.zero
    var nextAudio = MediaTime.zero
    var nextLook = MediaTime.zero
    while true {
      var next = min(nextFrame, nextAudio, nextLook, self.receiver.nextDeadline)
      if let deadline = self.session.nextDeadline { next = min(next, deadline) }
      self.now = max(self.now, next)
      guard self.now < end else { return }
      for datagram in try self.receiver.handleTimeout(at: self.now) {
        self.session.handle(datagram, from: self.receiver.address, at: self.now)
      }
      if let deadline = self.session.nextDeadline, deadline <= self.now { self.session.handleTimeout(at: self.now) }
      if nextAudio <= self.now {
        self.send(kind: .audio, isKeyframe: true, lengths: [Self.audioLength])
        nextAudio += .milliseconds(20)
      }
      if nextFrame <= self.now {
        self.encode()
        nextFrame += .microseconds(33_333)
      }
      self.drain()
      if nextLook <= self.now {
        self.queue.append((self.now.seconds, self.receiver.path.queueDelay(at: self.now)))
        nextLook += .milliseconds(50)
      }
    }
  }

  private mutating func drain() {
    self.batch.removeAll()
    self.session.drain(into: &self.batch, at: self.now)
    while let event = self.session.nextEvent() {
      switch event {
      case .keyframeNeeded, .ready: self.isKeyframeNeeded = true
      case .closed: self.isClosed = true
      case .checked, .valid, .invalid: break
      }
    }
    for (address, datagram) in self.batch.datagrams { self.receiver.receive(datagram, to: address, at: self.now) }
  }

  private mutating func encode() {
    if let change = self.rule?.update(
      estimate: self.session.estimatedBitrate, audioBitrate: Self.audioLength * 8 * 50, at: self.now)
    {
      self.target = Double(change)
    }
    if let rule { self.session.setBitrates(media: Int(self.target) + 64_000, wanted: rule.bounds.upperBound * 11 / 10) }
    // The rate control of an encoder needs some frames.
    self.bitrate += (self.target - self.bitrate) * 0.4
    let isDue = self.lastKeyframe.map { self.now - $0 >= self.keyframeInterval } ?? true
    let isKeyframe = isDue || self.isKeyframeNeeded
    var byteCount = self.bitrate / 8 / 30 * Double.random(in: 0.75...1.25, using: &self.numbers)
    // A keyframe has 5 times the bytes of a frame; the others give way for it.
    byteCount *= isKeyframe ? 5 : 56.0 / 60
    if isKeyframe {
      self.lastKeyframe = self.now
      self.isKeyframeNeeded = false
      self.keyframeTimes.append(self.now.seconds)
    }
    self.encodedFrames += 1
    let count = max(1, Int((byteCount / 1100).rounded(.up)))
    self.send(
      kind: .video, isKeyframe: isKeyframe, lengths: Array(repeating: max(60, Int(byteCount) / count), count: count))
  }

  private mutating func send(kind: MediaKind, isKeyframe: Bool, lengths: [Int]) {
    var bytes = ByteBuffer()
    var payloads: [Range<Int>] = []
    for (index, length) in lengths.enumerated() {
      payloads.append(bytes.writerIndex..<bytes.writerIndex + length)
      bytes.writeInteger(index == 0 && isKeyframe ? UInt8(0x65) : 0x41)
      bytes.writeRepeatingByte(0, count: length - 1)
    }
    self.session.send(
      WebRTCMedia(kind: kind, isKeyframe: isKeyframe, presentationTime: self.now, bytes: bytes, payloads: payloads),
      at: self.now)
  }

  /// Lets the client ask for packets again without end, in a second: each datagram names 6,120, of which those of the last three
  /// seconds are kept.
  ///
  /// - Returns: Number of packets that were sent again.
  package mutating func storm(datagramCount: Int) -> Int {
    let before = self.session.statistics.packetsRetransmitted
    let last = self.receiver.lastVideoNumber
    let pairs = (1...360).map { RTCPNackPair(packetID: last &- UInt16($0 * 17), followingMask: 0xFFFF) }
    var request = ByteBuffer()
    RTCPCompoundPacket([
      .feedback(RTCPFeedback(senderSSRC: 5, mediaSSRC: self.receiver.videoSSRC, message: .nack(pairs)))
    ]).serialize(into: &request)
    for _ in 0..<datagramCount {
      self.now += MediaDuration(nanoseconds: 1_000_000_000 / Int64(datagramCount))
      self.session.handle(self.receiver.client.seal(request), from: self.receiver.address, at: self.now)
      self.batch.removeAll()
      self.session.drain(into: &self.batch, at: self.now)
      while self.session.nextEvent() != nil {}
    }
    return self.session.statistics.packetsRetransmitted - before
  }

  /// Maximum delay in the queue of the path between two times.
  package func maximumQueue(_ times: ClosedRange<Double>) -> Double {
    self.queue.filter { times.contains($0.time) }.map(\.delay).max() ?? 0
  }

  /// Latency of the frames shown between two times, in seconds: the maximum of a share of them.
  package func latency(_ times: ClosedRange<Double>, share: Double = 1) -> Double {
    let offset = self.receiver.shown.first?.timestamp ?? 0
    let first = self.receiver.shown.first?.time.seconds ?? 0
    let latencies = self.receiver.frames(times).map {
      $0.time.seconds - first - Double(Int32(bitPattern: $0.timestamp &- offset)) / 90_000
    }.sorted()
    guard !latencies.isEmpty else { return 100 }
    return latencies[min(latencies.count - 1, Int(Double(latencies.count) * share))]
  }
}
