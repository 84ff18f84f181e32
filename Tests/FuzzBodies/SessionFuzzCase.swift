internal import Authentication
internal import Media
internal import NIOCore
internal import RTP
internal import WebRTC
internal import WebRTCPeers

/// Invariants of a whole WebRTC session for any datagrams, media and times: it never traps, sends no more than it may, and its
/// deadlines pass.
struct SessionFuzzCase {
  private static let credentials = ICECredentials(usernameFragment: "serv", password: "server0password0server")
  private static let digest = [UInt8](repeating: 0xCD, count: 32)

  private var input: ByteBuffer
  private var session: WebRTCSession
  private var client: SessionClient
  private var batch = DatagramBatch()
  private var now = MediaTime.zero
  private var mediaBytes = 0
  private var isClosed = false
  /// Address from which nothing answers, and the bytes that came from there and went there.
  private static let stranger = TransportAddress(ip: .v4(0xC633_6402), port: 4000)
  private var strangerByteCounts = (received: 0, sent: 0)
  private let videoSSRC: UInt32

  init?(_ input: ByteBuffer) {
    let lines = [
      "v=0", "o=- 1 1 IN IP4 0.0.0.0", "s=-", "t=0 0", "a=group:BUNDLE 0 1", "m=video 9 UDP/TLS/RTP/SAVPF 96 97",
      "c=IN IP4 0.0.0.0", "a=mid:0", "a=recvonly", "a=rtcp-mux", "a=ice-ufrag:clnt",
      "a=ice-pwd:client0password0client", "a=setup:actpass",
      "a=fingerprint:sha-256 " + Array(repeating: "CD", count: 32).joined(separator: ":"), "a=rtpmap:96 H264/90000",
      "a=fmtp:96 level-asymmetry-allowed=1;packetization-mode=1;profile-level-id=42e01f", "a=rtpmap:97 rtx/90000",
      "a=fmtp:97 apt=96", "a=rtcp-fb:96 nack", "a=rtcp-fb:96 nack pli", "a=rtcp-fb:96 transport-cc",
      "a=extmap:5 http://www.ietf.org/id/draft-holmer-rmcat-transport-wide-cc-extensions-01",
      "m=audio 9 UDP/TLS/RTP/SAVPF 111", "c=IN IP4 0.0.0.0", "a=mid:1", "a=recvonly", "a=rtcp-mux",
      "a=rtpmap:111 opus/48000/2",
    ]
    // Some clients have no source of retransmissions.
    let hasRetransmission = (input.getInteger(at: input.readerIndex, as: UInt8.self) ?? 0) & 2 == 0
    let offered = lines.filter { hasRetransmission || !$0.contains(" rtx/") }
    guard let credentials = Self.credentials,
      let client = ICECredentials(usernameFragment: "clnt", password: PublishOffers.password),
      let offer = try? WebRTCOffer(parsing: ByteBuffer(string: offered.joined(separator: "\r\n") + "\r\n")),
      let answer = try? WebRTCAnswer(
        offer,
        WebRTCAnswer.Configuration(
          sessionID: 1, credentials: credentials,
          fingerprint: CertificateFingerprint(algorithm: .sha256, digest: Self.digest),
          candidates: [TransportAddress(ip: .v4(0xC000_0201), port: 8189)],
          video: try? H264ProfileLevel(parsing: "42c01f"), hasAudio: true, ssrcs: (1001, 1002, 1003)))
    else { preconditionFailure("a valid offer") }
    let numbers = SharedNumbers(seed: 1)
    self.session = WebRTCSession(
      answer, credentials: credentials, client: client, security: PlainSecurity(clientDigest: Self.digest),
      makeRandom: { numbers.next() }, unixTime: { 1_700_000_000_000_000_000 + $0.nanoseconds }, at: .zero)
    self.client = SessionClient(
      TransportAddress(ip: .v4(0xC633_6401), port: 4000), answer: answer, credentials: credentials)
    self.videoSSRC = answer.video?.ssrc ?? 0
    self.input = input
  }

  mutating func run() {
    // Most inputs begin with a connected session; the others have to connect it.
    guard let first = self.input.readInteger(as: UInt8.self) else { return }
    if first & 1 == 0 {
      self.deliver(self.client.check(nominates: false))
      self.deliver(SessionClient.hello)
      self.deliver(self.client.check())
    }
    for _ in 0..<512 {
      guard let action = self.input.readInteger(as: UInt8.self) else { break }
      self.perform(action)
      self.drain()
    }
    self.client.answersChecks = false
    self.pass(.seconds(35))
    precondition(self.isClosed && self.session.nextDeadline == nil, "a silent client is gone")
  }

  private mutating func perform(_ action: UInt8) {
    switch action & 15 {
    case 0: self.deliver(self.bytes())
    case 1:
      let datagram = action & 16 != 0 ? self.client.check(nominates: action & 32 != 0) : self.bytes()
      self.strangerByteCounts.received += datagram.readableBytes
      self.deliver(datagram, from: Self.stranger)
    case 2, 3, 4: self.deliver(self.client.seal(self.bytes()))
    case 5: self.deliver(self.client.check(nominates: action & 16 != 0))
    case 6: self.pass(.milliseconds(Int64(self.input.readInteger(as: UInt8.self) ?? 0)))
    case 7: self.pass(.milliseconds(Int64(self.input.readInteger(as: UInt16.self) ?? 0) / 8))
    case 8, 9: self.send(.video, isKeyframe: action & 16 != 0)
    case 10: self.send(.audio, isKeyframe: true)
    case 11: self.session.discardEarlier(at: self.now)
    case 12: self.session.switchRendition()
    case 13:
      let media = Int(self.input.readInteger(as: UInt32.self) ?? 0)
      self.session.setBitrates(media: media, wanted: media)
    case 14: self.deliver(SessionClient.hello)
    default: self.requestAgain()
    }
  }

  /// A length of one byte, and as many bytes.
  private mutating func bytes() -> ByteBuffer {
    let length = Int(self.input.readInteger(as: UInt8.self) ?? 0)
    return self.input.readSlice(length: min(length, self.input.readableBytes)) ?? ByteBuffer()
  }

  /// A request for packets around one of the input.
  private mutating func requestAgain() {
    let first = self.input.readInteger(as: UInt16.self) ?? 0
    let count = UInt16(self.input.readInteger(as: UInt8.self) ?? 0)
    self.deliver(
      self.client.feedback(.nack(RTCPNackPair.pairs((0..<count).map { first &+ $0 })), ssrc: self.videoSSRC))
  }

  private mutating func send(_ kind: MediaKind, isKeyframe: Bool) {
    let count = kind == .audio ? 1 : 1 + Int(self.input.readInteger(as: UInt8.self) ?? 0) % 64
    let length = kind == .audio ? 160 : 1000
    self.mediaBytes += count * length
    self.session.send(
      WebRTCMedia(
        kind: kind, isKeyframe: isKeyframe, presentationTime: self.now,
        bytes: ByteBuffer(repeating: 0x41, count: count * length),
        payloads: (0..<count).map { $0 * length..<($0 + 1) * length }), at: self.now)
  }

  private mutating func deliver(_ datagram: ByteBuffer, from address: TransportAddress? = nil) {
    self.session.handle(datagram, from: address ?? self.client.address, at: self.now)
    self.drain()
  }

  /// Time passes; what is due is done.
  private mutating func pass(_ duration: MediaDuration) {
    let end = self.now + duration
    var rounds = 0
    while let deadline = self.session.nextDeadline, deadline <= end {
      rounds += 1
      precondition(rounds < 200_000, "deadlines pass")
      self.now = max(self.now, deadline)
      self.session.handleTimeout(at: self.now)
      self.drain()
    }
    self.now = end
  }

  private mutating func drain() {
    self.batch.removeAll()
    self.session.drain(into: &self.batch, at: self.now)
    while let event = self.session.nextEvent() {
      precondition(!self.isClosed, "nothing follows the end")
      if case .closed = event { self.isClosed = true }
    }
    let statistics = self.session.statistics
    precondition(statistics.framesDropped >= 0 && statistics.packetsLost >= 0)
    precondition(
      (statistics.packetsRetransmitted - 600) * 1000 <= self.mediaBytes, "more is sent again than half of what was sent"
    )
    if let estimate = self.session.estimatedBitrate {
      precondition((100_000...100_000_000).contains(estimate), "an estimate within its bounds")
    }
    for message in self.batch.messages {
      precondition(message.segmentLength <= 1500 && message.datagramCount <= DatagramBatch.maximumDatagramCount)
    }
    for (address, datagram) in self.batch.datagrams {
      if address == Self.stranger {
        self.strangerByteCounts.sent += datagram.readableBytes
        precondition(
          DatagramKind(datagram) == .stun, "no media or handshake where nobody has answered")
      } else if DatagramKind(datagram) == .stun {
        try? self.client.receive(datagram)
      }
    }
    precondition(
      self.strangerByteCounts.sent <= self.strangerByteCounts.received * 3,
      "three bytes for one until an address answers")
    for reply in self.client.takeReplies() { self.deliver(reply) }
  }
}
