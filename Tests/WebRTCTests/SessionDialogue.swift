import Media
import NIOCore
import RTP
import Synchronization
import Testing
import WebRTC
import WebRTCPeers

/// A session and its client over virtual time; both directions may lose datagrams.
struct SessionDialogue {
  private(set) var session: WebRTCSession
  var client: SessionClient
  private(set) var now = MediaTime.zero + .seconds(1)
  private(set) var events: [WebRTCSession.Event] = []
  private var batch = DatagramBatch()
  /// Whether a datagram with media is lost on its way to the client, by its number.
  var isLost: (Int) -> Bool = { _ in false }
  private var mediaCount = 0
  /// Number of messages of the last drain.
  private(set) var messageCount = 0
  /// Time at which the session has more to send, as of the last drain.
  private(set) var nextSending: MediaTime?
  private var frameCount = 0

  static let credentials = ICECredentials(usernameFragment: "serv", password: "server0password0server")!
  static let unixTimeAtZero: Int64 = 1_700_000_000_000_000_000

  /// Datagrams with media, those that are lost included.
  private(set) var sent: [ByteBuffer] = []

  /// - Parameters:
  ///   - hasRetransmission: Whether the client has a source of retransmissions.
  ///   - setup: The client's role in DTLS.
  init(
    offer: String = "chromium", hasAudio: Bool = true, hasRetransmission: Bool = true, setup: String = "actpass"
  ) throws {
    let lines = try WebRTCOffers.text(offer).split(separator: "\r\n", omittingEmptySubsequences: true)
      .filter { hasRetransmission || !$0.contains(" rtx/") }
      .map { $0.replacing("a=setup:actpass", with: "a=setup:\(setup)") }
    let answer = try WebRTCAnswer(
      WebRTCOffer(parsing: ByteBuffer(string: lines.joined(separator: "\r\n") + "\r\n")),
      WebRTCAnswer.Configuration(
        sessionID: 1, credentials: Self.credentials,
        fingerprint: CertificateFingerprint(algorithm: .sha256, digest: PlainSecurity().fingerprint),
        candidates: [#require(TransportAddress("192.0.2.7", port: 8189))],
        video: H264ProfileLevel(parsing: "42c01f"), hasAudio: hasAudio, ssrcs: (1001, 1002, 1003)))
    let security = PlainSecurity(clientDigest: try #require(answer.clientTransport.fingerprints.first).digest)
    self.session = try WebRTCSession(
      answer, credentials: Self.credentials, client: #require(answer.clientTransport.credentials), security: security,
      makeRandom: { 0xFFFF_FFFF_FFFF_FFFF }, unixTime: SteppedClock().unixTime(at:), at: self.now)
    self.client = SessionClient(
      try #require(TransportAddress("198.51.100.1", port: 4000)), answer: answer, credentials: Self.credentials)
  }

  /// Checks, handshake, nomination.
  mutating func connect() throws {
    try self.deliver(self.client.check(nominates: false))
    try self.deliver(SessionClient.hello)
    try self.deliver(self.client.check())
  }

  private var validAddresses: Set<TransportAddress> = []
  /// Addresses other than the client's own at which it receives.
  var otherAddresses: Set<TransportAddress> = []
  /// Datagrams to addresses at which the client does not receive.
  private(set) var strays: [(TransportAddress, ByteBuffer)] = []

  /// The client sends a datagram.
  mutating func deliver(_ datagram: ByteBuffer, from address: TransportAddress? = nil) throws {
    self.session.handle(datagram, from: address ?? self.client.address, at: self.now)
    try self.drain()
  }

  mutating func drain() throws {
    self.batch.removeAll()
    self.nextSending = self.session.drain(into: &self.batch, at: self.now)
    self.messageCount = self.batch.messages.count
    while let event = self.session.nextEvent() {
      // Proofs are repeated.
      if case .checked = event { continue }
      if case .valid(let address) = event, !self.validAddresses.insert(address).inserted { continue }
      self.events.append(event)
    }
    var replies: [(ByteBuffer, TransportAddress)] = []
    for (address, datagram) in self.batch.datagrams {
      guard address == self.client.address || self.otherAddresses.contains(address) else {
        self.strays.append((address, datagram))
        continue
      }
      if address != self.client.address, DatagramKind(datagram) != .stun { continue }
      if DatagramKind(datagram) == .rtp {
        self.mediaCount += 1
        self.sent.append(datagram)
        if self.isLost(self.mediaCount) { continue }
      }
      try self.client.receive(datagram)
      replies += self.client.takeReplies().map { ($0, address) }
    }
    for (reply, address) in replies { try self.deliver(reply, from: address) }
  }

  /// Time passes; timeouts are handled when they are due.
  mutating func advance(_ duration: MediaDuration) throws {
    let end = self.now + duration
    while let deadline = self.session.nextDeadline, deadline <= end {
      self.now = max(self.now, deadline)
      self.session.handleTimeout(at: self.now)
      try self.drain()
    }
    self.now = end
  }

  /// Runs the timers that are due at a time; returns whether any was.
  mutating func handleTimeoutIfDue(at time: MediaTime) -> Bool { self.session.handleTimeoutIfDue(at: time) }

  /// Time passes without anything being done.
  mutating func pass(_ duration: MediaDuration) { self.now += duration }

  /// The stream has a frame; its payloads begin with its number.
  mutating func queue(isKeyframe: Bool = false, kind: MediaKind = .video, lengths: [Int] = [1000, 1000, 400]) {
    self.frameCount += 1
    var bytes = ByteBuffer()
    var payloads: [Range<Int>] = []
    for length in lengths {
      payloads.append(bytes.writerIndex..<bytes.writerIndex + length)
      bytes.writeRepeatingByte(UInt8(truncatingIfNeeded: self.frameCount), count: length)
    }
    self.session.send(
      WebRTCMedia(kind: kind, isKeyframe: isKeyframe, presentationTime: self.now, bytes: bytes, payloads: payloads),
      at: self.now)
  }

  mutating func send(
    isKeyframe: Bool = false, kind: MediaKind = .video, lengths: [Int] = [1000, 1000, 400]
  ) throws {
    self.queue(isKeyframe: isKeyframe, kind: kind, lengths: lengths)
    try self.drain()
  }

  mutating func discardEarlier() { self.session.discardEarlier(at: self.now) }
  mutating func close() throws {
    self.session.close(at: self.now)
    try self.drain()
  }

  mutating func takeEvents() -> [WebRTCSession.Event] {
    defer { self.events = [] }
    return self.events
  }
}

/// Wall clock of a machine that is set 1.7 seconds ahead before each reading but the first.
final class SteppedClock: Sendable {
  private let readingCount = Atomic<Int64>(0)

  @Sendable func unixTime(at time: MediaTime) -> Int64 {
    let count = self.readingCount.add(1, ordering: .relaxed).oldValue
    return SessionDialogue.unixTimeAtZero + time.nanoseconds + count * 1_700_000_000
  }
}
