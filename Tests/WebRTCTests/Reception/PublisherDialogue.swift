import Bitstreams
import Media
import NIOCore
import RTP
import TestSupport
import Testing
import WebRTC
import WebRTCPeers

/// A publisher and its session over virtual time. Both directions may lose, delay, reorder and double datagrams.
struct PublisherDialogue {
  typealias Path = FaultyPath.Faults

  struct Frame {
    var frame: WebRTCReceivedFrame
    var arrival: MediaTime
  }

  static let credentials = ICECredentials(usernameFragment: "serv", password: "server0password0server")!
  static let videoSSRC: UInt32 = 11
  static let retransmissionSSRC: UInt32 = 12
  static let audioSSRC: UInt32 = 13
  static let serverSSRC: UInt32 = 0xABCD_1234

  let answer: WebRTCPublishAnswer
  var session: WebRTCPublisherSession
  private var path: FaultyPath
  /// Whether the publisher answers NACK and PLI.
  var answersNACK = true
  var answersPLI = true
  private(set) var now = MediaTime.zero + .seconds(1)
  private(set) var frames: [Frame] = []
  private(set) var events: [String] = []
  /// RTCP that arrived at the publisher.
  private(set) var reports: [(packet: RTCPPacket, time: MediaTime)] = []
  private(set) var keyframeRequestTimes: [MediaTime] = []

  /// Whether the publisher answers checks of the server; false for one that has gone.
  var answersChecks = true
  private let address: TransportAddress
  private let key: STUNKey
  private var transaction: UInt64 = 0
  private var sealer: SRTPSealer
  private var opener: SRTPOpener
  private var batch = DatagramBatch()
  /// Packets that were sent, by sequence number, for retransmissions.
  private var sent: [UInt16: RTPPacket] = [:]
  private var retransmission: RTPRetransmission?
  private var videoNumber: UInt16 = 65_500
  private var audioNumber: UInt16 = 65_530
  private var transportWide: UInt16 = 65_000
  private var isKeyframeWanted = false
  private(set) var transportWideSent = 0

  init(
    offer: WebRTCOffer, path: Path = Path(), maximumVideoBitrate: Int? = nil, seed: UInt64 = 1
  ) throws {
    self.answer = try WebRTCPublishAnswer(
      offer,
      WebRTCPublishAnswer.Configuration(
        sessionID: 1, credentials: Self.credentials,
        fingerprint: CertificateFingerprint(algorithm: .sha256, digest: PlainSecurity().fingerprint),
        candidates: [#require(TransportAddress("192.0.2.7", port: 8189))]))
    let security = PlainSecurity(clientDigest: try #require(self.answer.clientTransport.fingerprints.first).digest)
    self.session = try WebRTCPublisherSession(
      self.answer, credentials: Self.credentials, client: #require(self.answer.clientTransport.credentials),
      security: security, maximumVideoBitrate: maximumVideoBitrate,
      makeRandom: { UInt64(Self.serverSSRC) }, at: self.now)
    self.path = FaultyPath(path, seed: seed)
    self.address = try #require(TransportAddress("198.51.100.1", port: 4000))
    self.key = STUNKey(password: Self.credentials.password)
    let keys = SRTPMasterKey.pair(
      exported: [UInt8](repeating: 7, count: SRTPProfile.aeadAES128GCM.exportedLength), profile: .aeadAES128GCM)!
    self.sealer = SRTPSealer(master: keys.client, profile: .aeadAES128GCM, security: PlainSecurity())!
    self.opener = SRTPOpener(master: keys.server, profile: .aeadAES128GCM, security: PlainSecurity())!
    self.retransmission = self.answer.video?.retransmissionPayloadType.map {
      RTPRetransmission(ssrc: Self.retransmissionSSRC, payloadType: $0, firstSequenceNumber: 100)
    }
  }

  /// Checks, handshake after a time, nomination, on a path without faults.
  mutating func connect(nominates: Bool = true, after time: MediaDuration = .zero) throws {
    try self.deliver(self.check(nominates: false))
    try self.advance(time)
    try self.deliver(ByteBuffer(bytes: [22, 0]))
    if nominates { try self.nominate() }
    try self.advance(self.path.faults.delay * 2)
  }

  mutating func nominate() throws { try self.deliver(self.check(nominates: true)) }

  private mutating func deliver(_ datagram: ByteBuffer) throws {
    self.session.handle(datagram, from: self.address, at: self.now)
    try self.drain()
  }

  mutating func check(nominates: Bool) -> ByteBuffer {
    self.transaction += 1
    var buffer = ByteBuffer()
    STUNMessage(
      .request, transactionID: .init(4000, self.transaction),
      attributes: [.username("serv:clnt"), .iceControlling(1), .priority(1)] + (nominates ? [.useCandidate] : [])
    ).serialize(into: &buffer, key: self.key)
    return buffer
  }

  // MARK: Time

  /// Time passes: datagrams arrive, timeouts are handled when they are due.
  mutating func advance(_ duration: MediaDuration) throws {
    let end = self.now + duration
    var repetitions = 0
    while true {
      let arrival = self.path.nextTime
      let deadline = self.session.nextDeadline.map { max($0, self.now) }
      guard let next = [arrival, deadline].compactMap(\.self).min(), next <= end else { break }
      repetitions = next == self.now ? repetitions + 1 : 0
      try #require(repetitions < 10_000, "a deadline does not pass")
      self.now = max(self.now, next)
      if let deadline, deadline <= self.now {
        self.session.handleTimeout(at: self.now)
        try self.drain()
      }
      for datagram in self.path.arrived(at: self.now) {
        if datagram.isToServer {
          self.session.handle(datagram.datagram, from: self.address, at: self.now)
          try self.drain()
        } else {
          try self.receive(datagram.datagram)
        }
      }
    }
    self.now = end
  }

  private mutating func schedule(_ datagram: ByteBuffer, isToServer: Bool) {
    guard !self.path.loses(at: self.now) else { return }
    self.path.send(datagram, isToServer: isToServer, leaving: self.now)
  }

  private mutating func drain() throws {
    self.batch.removeAll()
    self.session.drain(into: &self.batch)
    while let event = self.session.nextEvent() {
      switch event {
      case .frame(let frame): self.frames.append(Frame(frame: frame, arrival: self.now))
      // Proofs are repeated.
      case .valid: if !self.events.contains("valid") { self.events.append("valid") }
      case .invalid: self.events.append("invalid")
      case .checked: break
      case .ready: self.events.append(self.frames.isEmpty ? "ready" : "ready after a frame")
      case .refused(let width, let height): self.events.append("refused: \(width)×\(height)")
      case .closed(let reason): self.events.append("closed: \(reason)")
      }
    }
    let datagrams = self.batch.datagrams.map(\.1)
    for datagram in datagrams where DatagramKind(datagram) == .rtcp {
      self.schedule(datagram, isToServer: false)
    }
    // Checks of the server are answered on a path without faults.
    for datagram in datagrams where DatagramKind(datagram) == .stun {
      let message = try STUNMessage(parsing: datagram)
      guard self.answersChecks, message.messageClass == .request else { continue }
      var buffer = ByteBuffer()
      STUNMessage(.success, transactionID: message.transactionID, attributes: [.xorMappedAddress(self.address)])
        .serialize(into: &buffer, key: STUNKey(password: PublishOffers.password))
      self.session.handle(buffer, from: self.address, at: self.now)
      try self.drain()
    }
  }

  // MARK: The publisher

  private mutating func receive(_ datagram: ByteBuffer) throws {
    guard let plain = try? self.opener.open(rtcp: datagram) else { return }
    for packet in try RTCPCompoundPacket(parsing: plain, allowsReducedSize: true).packets {
      self.reports.append((packet, self.now))
      guard case .feedback(let feedback) = packet else { continue }
      switch feedback.message {
      case .nack(let pairs):
        #expect(feedback.mediaSSRC == Self.videoSSRC || feedback.mediaSSRC == Self.audioSSRC)
        guard self.answersNACK, feedback.mediaSSRC == Self.videoSSRC else { continue }
        for number in pairs.joined() {
          guard let original = self.sent[number] else { continue }
          if let packet = self.retransmission?.packet(for: original) {
            try self.send(packet)
          } else {
            try self.send(original, isNew: false)
          }
        }
      case .pictureLossIndication, .fullIntraRequest:
        self.keyframeRequestTimes.append(self.now)
        self.isKeyframeWanted = self.answersPLI
      default: break
      }
    }
  }

  /// Whether the publisher was asked for a keyframe since the last one.
  mutating func takeKeyframeWish() -> Bool {
    defer { self.isKeyframeWanted = false }
    return self.isKeyframeWanted
  }

  mutating func send(_ packet: RTPPacket, isNew: Bool = true) throws {
    var packet = packet
    let track = packet.header.payloadType == self.answer.audio?.payloadType ? self.answer.audio : self.answer.video
    if let id = track?.extensionIDs[WebRTCAnswer.ExtensionURI.transportWideCC] {
      packet.header.headerExtension =
        RTPExtensionElements([
          .init(id: id, data: RTPTransportWideSequenceNumber(rawValue: self.transportWide).data)
        ]).headerExtension
      self.transportWide &+= 1
      self.transportWideSent += 1
    }
    var buffer = ByteBuffer()
    packet.serialize(into: &buffer)
    let datagram = try self.sealer.seal(rtp: buffer)
    self.schedule(datagram, isToServer: true)
  }

  mutating func send(_ packets: [RTCPPacket]) throws {
    var buffer = ByteBuffer()
    RTCPCompoundPacket(packets).serialize(into: &buffer)
    self.schedule(try self.sealer.seal(rtcp: buffer), isToServer: true)
  }

  /// Sends payloads as one frame of video; the last one has the marker.
  mutating func sendVideo(_ payloads: [ByteBuffer], timestamp: UInt32) throws {
    for (index, payload) in payloads.enumerated() {
      let packet = RTPPacket(
        header: RTPHeader(
          marker: index == payloads.count - 1, payloadType: try #require(self.answer.video).payloadType,
          sequenceNumber: self.videoNumber, timestamp: timestamp, ssrc: Self.videoSSRC), payload: payload)
      self.sent[self.videoNumber] = packet
      self.videoNumber &+= 1
      try self.send(packet)
    }
  }

  /// Sends a frame of the answered codec with some packets.
  ///
  /// - Parameter tag: Two bytes of H.264, at offset 6 of the frame that is received.
  mutating func sendVideo(isKeyframe: Bool, packetCount: Int = 4, timestamp: UInt32, tag: UInt16 = 0x1111) throws {
    var payloads =
      self.answer.video?.codec == .vp8
      ? Self.vp8(isKeyframe: isKeyframe, packetCount: packetCount)
      : Self.h264(isKeyframe: isKeyframe, packetCount: packetCount)
    if self.answer.video?.codec == .h264 { payloads[isKeyframe ? 1 : 0].setInteger(tag, at: 3) }
    try self.sendVideo(payloads, timestamp: timestamp)
  }

  mutating func sendAudio(_ bytes: [UInt8] = [0xFC, 1, 2], timestamp: UInt32) throws {
    let packet = RTPPacket(
      header: RTPHeader(
        marker: false, payloadType: try #require(self.answer.audio).payloadType, sequenceNumber: self.audioNumber,
        timestamp: timestamp, ssrc: Self.audioSSRC), payload: ByteBuffer(bytes: bytes))
    self.audioNumber &+= 1
    try self.send(packet)
  }

  static let parameterSets = PublisherPayloads.parameterSets

  static func h264(isKeyframe: Bool, packetCount: Int, sets: [[UInt8]] = parameterSets) -> [ByteBuffer] {
    PublisherPayloads.h264(isKeyframe: isKeyframe, packetCount: packetCount, sets: sets)
  }

  static func vp8(isKeyframe: Bool, packetCount: Int) -> [ByteBuffer] {
    PublisherPayloads.vp8(isKeyframe: isKeyframe, packetCount: packetCount)
  }

  // MARK: A call

  /// Publishes 30 frames and 50 audio packets a second; a keyframe at the start and when it is wanted. Sender reports once a second.
  mutating func publish(seconds: Double, from start: Double = 0) throws {
    var (videoIndex, audioIndex) = (0, 0)
    var nextVideo = self.answer.video == nil ? .infinity : start
    var nextAudio = self.answer.audio == nil ? .infinity : start
    var nextReport = start + 0.5
    let origin = self.now
    while true {
      let next = min(nextVideo, nextAudio, nextReport)
      guard next < start + seconds else { break }
      let time = origin + .microseconds(Int64((next - start) * 1_000_000))
      if time > self.now { try self.advance(time - self.now) }
      if next == nextVideo {
        let isKeyframe = self.takeKeyframeWish() || nextVideo == 0
        try self.sendVideo(
          isKeyframe: isKeyframe, packetCount: isKeyframe ? 12 : 4,
          timestamp: UInt32(truncatingIfNeeded: Int64(next * 90_000)), tag: UInt16(videoIndex))
        videoIndex += 1
        nextVideo = start + Double(videoIndex) / 30
      } else if next == nextAudio {
        try self.sendAudio(
          [0xFC, UInt8(audioIndex >> 8), UInt8(audioIndex & 0xFF)],
          timestamp: UInt32(truncatingIfNeeded: Int64(next * 48_000)))
        audioIndex += 1
        nextAudio = start + Double(audioIndex) / 50
      } else {
        nextReport += 1
        for (ssrc, rate) in [(Self.videoSSRC, 90_000.0), (Self.audioSSRC, 48_000.0)] {
          try self.send([
            .senderReport(
              RTCPSenderReport(
                ssrc: ssrc, ntpTimestamp: NTPTimestamp(unixNanoseconds: 1_700_000_000_000_000_000 + Int64(next * 1e9)),
                rtpTimestamp: UInt32(truncatingIfNeeded: Int64(next * rate)), packetCount: 0, octetCount: 0))
          ])
        }
      }
    }
    try self.advance(.milliseconds(400))
  }

  var videoFrames: [Frame] { self.frames.filter { if case .opus = $0.frame.content { false } else { true } } }
  var audioFrames: [Frame] { self.frames.filter { if case .opus = $0.frame.content { true } else { false } } }

  /// Messages of feedback that the publisher got.
  func feedback(where isWanted: (RTCPFeedback.Message) -> Bool) -> [RTCPFeedback.Message] {
    self.reports.compactMap { report in
      guard case .feedback(let feedback) = report.packet, isWanted(feedback.message) else { return nil }
      return feedback.message
    }
  }
}
