internal import Authentication
internal import Media
internal import NIOCore
internal import RTP
internal import WebRTC
internal import WebRTCPeers

/// Invariants of a WebRTC publisher's session for any datagrams, media and times: it never traps, the times of its frames increase,
/// and its deadlines pass.
struct PublisherFuzzCase {
  /// Bits of the first byte that choose this case among those of sessions, and those that choose the offer.
  static let mark: UInt8 = 0xF0
  private static let offerMask: UInt8 = 0b110

  private static let credentials = ICECredentials(usernameFragment: "serv", password: "server0password0server")
  private static let digest = [UInt8](repeating: 0xCD, count: 32)

  private var input: ByteBuffer
  private var session: WebRTCPublisherSession
  private var client: PublisherClient
  private var batch = DatagramBatch()
  private var now = MediaTime.zero
  private var lastTimes: [Bool: MediaTime] = [:]
  private var isClosed = false
  private let isConnected: Bool

  init(_ input: ByteBuffer) {
    var input = input
    let first = input.readInteger(as: UInt8.self) ?? 0
    let name = PublishOffers.names[Int(first & Self.offerMask) / 2]
    guard let credentials = Self.credentials,
      let client = ICECredentials(usernameFragment: "clnt", password: PublishOffers.password),
      let offer = try? PublishOffers.offer(name),
      let answer = try? WebRTCPublishAnswer(
        offer,
        WebRTCPublishAnswer.Configuration(
          sessionID: 1, credentials: credentials,
          fingerprint: CertificateFingerprint(algorithm: .sha256, digest: Self.digest),
          candidates: [TransportAddress(ip: .v4(0xC000_0201), port: 8189)]))
    else { preconditionFailure("a valid offer") }
    self.session = WebRTCPublisherSession(
      answer, credentials: credentials, client: client, security: PlainSecurity(clientDigest: Self.digest),
      maximumVideoBitrate: 2_000_000, makeRandom: { 7 }, at: .zero)
    var text = ByteBuffer()
    answer.description.serialize(into: &text)
    self.client = PublisherClient(TransportAddress(ip: .v4(0xC633_6401), port: 4000), answer: text)
    self.input = input
    self.isConnected = first & 1 == 0
  }

  mutating func run() {
    // Most inputs begin with a connected session; the others have to connect it.
    if self.isConnected { for datagram in self.client.connect() { self.deliver(datagram) } }
    for _ in 0..<512 {
      guard let action = self.input.readInteger(as: UInt8.self) else { break }
      self.perform(action)
    }
    self.client.answersChecks = false
    self.pass(.seconds(35))
    precondition(self.isClosed && self.session.nextDeadline == nil, "a silent publisher is gone")
  }

  private mutating func perform(_ action: UInt8) {
    let isKeyframe = action & 16 != 0
    switch action & 15 {
    case 0: self.deliver(self.bytes())
    case 1: self.deliver(self.client.seal(rtp: self.bytes()))
    case 2, 3: self.deliver(self.client.seal(rtcp: self.bytes()))
    case 4: self.deliver(self.client.check(nominates: isKeyframe))
    case 5: self.pass(.milliseconds(Int64(self.input.readInteger(as: UInt8.self) ?? 0)))
    case 6: self.pass(.milliseconds(Int64(self.input.readInteger(as: UInt16.self) ?? 0) / 8))
    case 7, 8:
      let count = 1 + Int(action >> 5)
      self.send(PublisherPayloads.h264(isKeyframe: isKeyframe, packetCount: count))
    case 9: self.send(PublisherPayloads.vp8(isKeyframe: isKeyframe, packetCount: 1 + Int(action >> 5)))
    case 10: self.send([self.bytes(), self.bytes()])
    case 11:
      if let datagram = self.client.audio(Array(self.bytes().readableBytesView), timestamp: self.timestamp()) {
        self.deliver(datagram)
      }
    case 12: self.client.skipVideo(UInt16(self.input.readInteger(as: UInt8.self) ?? 0))
    case 13: self.session.requestKeyframe(at: self.now)
    case 14: self.deliver(SessionClient.hello)
    default: self.sendReport()
    }
    self.drain()
  }

  /// A length of one byte, and as many bytes.
  private mutating func bytes() -> ByteBuffer {
    let length = Int(self.input.readInteger(as: UInt8.self) ?? 0)
    return self.input.readSlice(length: min(length, self.input.readableBytes)) ?? ByteBuffer()
  }

  private mutating func timestamp() -> UInt32 { self.input.readInteger(as: UInt32.self) ?? 0 }

  private mutating func send(_ payloads: [ByteBuffer]) {
    let timestamp = self.timestamp()
    for datagram in self.client.video(payloads, timestamp: timestamp) { self.deliver(datagram) }
  }

  private mutating func sendReport() {
    let ssrc = self.input.readInteger(as: UInt8.self) ?? 0
    var buffer = ByteBuffer()
    RTCPCompoundPacket([
      .senderReport(
        RTCPSenderReport(
          ssrc: ssrc & 1 == 0 ? PublisherClient.videoSSRC : PublisherClient.audioSSRC,
          ntpTimestamp: NTPTimestamp(rawValue: self.input.readInteger(as: UInt64.self) ?? 0),
          rtpTimestamp: self.timestamp(), packetCount: 0, octetCount: 0))
    ]).serialize(into: &buffer)
    self.deliver(self.client.seal(rtcp: buffer))
  }

  private mutating func deliver(_ datagram: ByteBuffer) {
    self.session.handle(datagram, from: self.client.address, at: self.now)
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
    self.session.drain(into: &self.batch)
    while let event = self.session.nextEvent() {
      precondition(!self.isClosed, "nothing follows the end")
      switch event {
      case .frame(let frame):
        let isAudio = if case .opus = frame.content { true } else { false }
        precondition(self.lastTimes[isAudio].map { $0 < frame.presentationTime } ?? true, "times increase")
        self.lastTimes[isAudio] = frame.presentationTime
      case .refused(let width, let height): precondition(width * height > 4096 * 2304, "a frame that is too large")
      case .closed: self.isClosed = true
      case .checked, .valid, .invalid, .ready: break
      }
    }
    for message in self.batch.messages {
      precondition(message.segmentLength <= 1500 && message.datagramCount <= DatagramBatch.maximumDatagramCount)
    }
    for (_, datagram) in self.batch.datagrams where DatagramKind(datagram) == .stun {
      try? self.client.receive(datagram)
    }
    for reply in self.client.takeReplies() { self.deliver(reply) }
  }
}
