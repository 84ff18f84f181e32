import Media
import NIOCore
import RTP
import Synchronization
import TestSupport
import Testing
import WebRTC
import WebRTCPeers

/// A push and the WHIP server of this project, session against session, over virtual time. Both directions may lose, delay, reorder
/// and double datagrams; the one to the server may be slow.
struct PushDialogue {
  struct Frame {
    var frame: WebRTCReceivedFrame
    var arrival: MediaTime
    /// Number that the frame was sent with.
    var tag: Int
  }

  /// Random numbers of the push.
  private final class Numbers: Sendable {
    private let generator: Mutex<SplitMix>

    init(seed: UInt64) { self.generator = Mutex(SplitMix(seed: seed)) }

    func next() -> UInt64 { self.generator.withLock { $0.next() } }
  }

  static let credentials = ICECredentials(usernameFragment: "push", password: "pushing0password0pushing")!
  static let client = TransportAddress("198.51.100.1", port: 4000)!
  static let server = TransportAddress("192.0.2.7", port: 8189)!
  /// Maximum time that a datagram waits for a slow path.
  private static let maximumQueue = MediaDuration.milliseconds(300)

  let answer: WebRTCPushAnswer
  private var path: FaultyPath
  /// Bits per second that the path to the server carries; nil without a limit.
  var bitrate: Double?
  /// Number of frames after which another keyframe follows without a request; nil for never.
  var keyframeInterval: Int?
  /// Whether datagrams reach the other side.
  var isConnected = true
  private(set) var sender: WebRTCSession
  private(set) var receiver: WebRTCPublisherSession
  private(set) var now = MediaTime.zero + .seconds(1)
  private(set) var frames: [Frame] = []
  private(set) var senderEvents: [WebRTCSession.Event] = []
  private(set) var receiverEvents: [String] = []
  private(set) var keyframeRequests = 0

  private var isKeyframeWanted = true
  private var videoCount = 0
  private var audioCount = 0
  private var busyUntil = MediaTime.zero
  private var batch = DatagramBatch()

  /// - Parameters:
  ///   - candidates: Addresses of the answer; the server is at ``server``.
  ///   - serverDigest: Digest of the certificate that the server presents.
  init(
    path: FaultyPath.Faults = .init(), hasAudio: Bool = true, candidates: [TransportAddress] = [server],
    serverDigest: [UInt8] = PlainSecurity().fingerprint, seed: UInt64 = 1
  ) throws {
    let fingerprint = CertificateFingerprint(algorithm: .sha256, digest: PlainSecurity().fingerprint)
    let offer = WebRTCPushOffer(
      WebRTCPushOffer.Configuration(
        sessionID: 1, credentials: Self.credentials, fingerprint: fingerprint, candidates: [Self.client],
        video: try H264ProfileLevel(parsing: "42c01f"), hasAudio: hasAudio, ssrcs: (11, 12, 13)))
    let answer = try WebRTCPublishAnswer(
      WebRTCOffer(parsing: offer.text),
      WebRTCPublishAnswer.Configuration(
        sessionID: 2, credentials: PublisherDialogue.credentials, fingerprint: fingerprint, candidates: candidates))
    self.answer = try offer.accept(WebRTCOffer(parsing: Self.text(answer.description)))
    let numbers = Numbers(seed: seed &+ 1000)
    self.sender = WebRTCSession(
      self.answer, credentials: Self.credentials, security: PlainSecurity(clientDigest: serverDigest),
      makeRandom: { numbers.next() }, unixTime: { 1_700_000_000_000_000_000 + $0.nanoseconds }, at: self.now)
    self.sender.setBitrates(media: 1_500_000, wanted: 2_000_000)
    self.receiver = WebRTCPublisherSession(
      answer, credentials: PublisherDialogue.credentials, client: Self.credentials,
      security: PlainSecurity(clientDigest: PlainSecurity().fingerprint), makeRandom: { 0xABCD_1234 }, at: self.now)
    self.path = FaultyPath(path, seed: seed)
  }

  static func text(_ description: SessionDescription) -> ByteBuffer {
    var text = ByteBuffer()
    description.serialize(into: &text)
    return text
  }

  // MARK: Time

  /// Time passes: datagrams arrive, and timeouts of both sides are handled when they are due.
  mutating func advance(_ duration: MediaDuration) throws {
    let end = self.now + duration
    var repetitions = 0
    while true {
      let times = [self.path.nextTime, self.sender.nextDeadline, self.receiver.nextDeadline]
      guard let first = times.compactMap(\.self).min(), first <= end else { break }
      let next = max(first, self.now)
      repetitions = next == self.now ? repetitions + 1 : 0
      try #require(repetitions < 10_000, "a deadline does not pass")
      self.now = next
      if let deadline = self.sender.nextDeadline, deadline <= self.now {
        self.sender.handleTimeout(at: self.now)
        self.drainSender()
      }
      if let deadline = self.receiver.nextDeadline, deadline <= self.now {
        self.receiver.handleTimeout(at: self.now)
        self.drainReceiver()
      }
      for datagram in self.path.arrived(at: self.now) {
        if datagram.isToServer {
          self.receiver.handle(datagram.datagram, from: Self.client, at: self.now)
          self.drainReceiver()
        } else {
          self.sender.handle(datagram.datagram, from: Self.server, at: self.now)
          self.drainSender()
        }
      }
    }
    self.now = end
  }

  private mutating func drainSender() {
    self.batch.removeAll()
    self.sender.drain(into: &self.batch, at: self.now)
    while let event = self.sender.nextEvent() {
      if event == .keyframeNeeded {
        self.keyframeRequests += 1
        self.isKeyframeWanted = true
      } else {
        self.senderEvents.append(event)
      }
    }
    for (address, datagram) in self.batch.datagrams where address == Self.server {
      self.schedule(datagram, isToServer: true)
    }
  }

  private mutating func drainReceiver() {
    self.batch.removeAll()
    self.receiver.drain(into: &self.batch)
    while let event = self.receiver.nextEvent() {
      switch event {
      case .frame(let frame): self.frames.append(Frame(frame: frame, arrival: self.now, tag: Self.tag(of: frame)))
      case .valid: if !self.receiverEvents.contains("valid") { self.receiverEvents.append("valid") }
      case .invalid: self.receiverEvents.append("invalid")
      case .checked: break
      case .ready: self.receiverEvents.append("ready")
      case .refused: self.receiverEvents.append("refused")
      case .closed(let reason): self.receiverEvents.append("closed: \(reason)")
      }
    }
    for (address, datagram) in self.batch.datagrams where address == Self.client {
      // The handshake of the plain security has ended at the client with its first flight; only alerts follow.
      if DatagramKind(datagram) == .dtls, datagram.readableBytesView.first != 21 { continue }
      self.schedule(datagram, isToServer: false)
    }
  }

  private mutating func schedule(_ datagram: ByteBuffer, isToServer: Bool) {
    guard self.isConnected else { return }
    guard !self.path.loses(at: self.now) else { return }
    var start = self.now
    if let bitrate, isToServer {
      let free = max(self.now, self.busyUntil)
      guard free - self.now <= Self.maximumQueue else { return }
      self.busyUntil = free + MediaDuration(nanoseconds: Int64(Double(datagram.readableBytes) * 8 / bitrate * 1e9))
      start = self.busyUntil
    }
    self.path.send(datagram, isToServer: isToServer, leaving: start)
  }

  // MARK: Media

  /// Sends 30 frames of some packets and 50 audio packets a second; a keyframe at the start and when one is needed.
  mutating func push(seconds: Double, packetCount: Int = 4) throws {
    let start = self.now
    let (videoCount, audioCount) = (self.videoCount, self.audioCount)
    while true {
      let video = Double(self.videoCount - videoCount) / 30
      let audio = self.answer.audio == nil ? .infinity : Double(self.audioCount - audioCount) / 50
      let next = min(video, audio)
      guard next < seconds else { break }
      let time = start + .microseconds(Int64(next * 1_000_000))
      if time > self.now { try self.advance(time - self.now) }
      if next == video { self.sendVideo(packetCount: packetCount) } else { self.sendAudio() }
      self.drainSender()
    }
    try self.advance(start + .microseconds(Int64(seconds * 1_000_000)) - self.now)
  }

  /// Waits until both sides may send.
  mutating func connect() throws {
    try self.advance(.seconds(1))
    try #require(self.receiverEvents == ["valid", "ready"])
  }

  private mutating func sendVideo(packetCount: Int) {
    let isKeyframe = self.isKeyframeWanted || self.keyframeInterval.map { self.videoCount % $0 == 0 } ?? false
    self.isKeyframeWanted = false
    var payloads = PublisherPayloads.h264(
      isKeyframe: isKeyframe, packetCount: isKeyframe ? packetCount * 3 : packetCount)
    payloads[isKeyframe ? 1 : 0].setInteger(UInt16(self.videoCount), at: 3)
    self.videoCount += 1
    self.send(payloads, kind: .video, isKeyframe: isKeyframe)
  }

  private mutating func sendAudio() {
    // A code 0 packet of 20 ms, RFC 6716 §3.1, with its number.
    self.send(
      [ByteBuffer(bytes: [0xFC, UInt8(self.audioCount >> 8), UInt8(self.audioCount & 0xFF)])], kind: .audio,
      isKeyframe: true)
    self.audioCount += 1
  }

  private mutating func send(_ payloads: [ByteBuffer], kind: MediaKind, isKeyframe: Bool) {
    var bytes = ByteBuffer()
    var ranges: [Range<Int>] = []
    for payload in payloads {
      ranges.append(bytes.writerIndex..<bytes.writerIndex + payload.readableBytes)
      bytes.writeImmutableBuffer(payload)
    }
    self.sender.send(
      WebRTCMedia(kind: kind, isKeyframe: isKeyframe, presentationTime: self.now, bytes: bytes, payloads: ranges),
      at: self.now)
  }

  /// The number that a frame was sent with: behind the length and the header of its NAL unit.
  private static func tag(of frame: WebRTCReceivedFrame) -> Int {
    let bytes = frame.payload.readableBytesView
    let isAudio = if case .opus = frame.content { true } else { false }
    let offset = bytes.startIndex + (isAudio ? 1 : 6)
    guard bytes.count > (isAudio ? 2 : 7) else { return -1 }
    return Int(bytes[offset]) << 8 | Int(bytes[offset + 1])
  }

  var videoFrames: [Frame] { self.frames.filter { if case .opus = $0.frame.content { false } else { true } } }
  var audioFrames: [Frame] { self.frames.filter { if case .opus = $0.frame.content { true } else { false } } }

  mutating func closeSender() throws {
    self.sender.close(at: self.now)
    self.drainSender()
    try self.advance(.milliseconds(100))
  }

  mutating func closeReceiver() throws {
    self.receiver.close(at: self.now)
    self.drainReceiver()
    try self.advance(.milliseconds(100))
  }

  mutating func requestKeyframe() throws {
    self.receiver.requestKeyframe(at: self.now)
    self.drainReceiver()
    try self.advance(.milliseconds(100))
  }
}
