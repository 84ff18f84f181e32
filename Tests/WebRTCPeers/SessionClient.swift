internal import Media
package import NIOCore
package import RTP
package import WebRTC

/// The client of a session, without cryptography: checks, opens packets, finds those that are missing, and asks for them.
package struct SessionClient {
  package let address: TransportAddress
  private let key: STUNKey
  private let username: String
  private var transaction: UInt64 = 0
  private var sealer: SRTPSealer
  private var opener: SRTPOpener
  private let answer: WebRTCAnswer

  /// RTP packets of video in the order of arrival, those sent again in the form of their originals.
  package private(set) var video: [RTPPacket] = []
  package private(set) var audio: [RTPPacket] = []
  /// Numbers of the packets of video that arrived.
  package private(set) var received: Set<UInt16> = []
  package private(set) var retransmitted = 0
  package private(set) var reports: [RTCPCompoundPacket] = []
  package private(set) var responses: [STUNMessage] = []
  package private(set) var closings = 0
  /// Transport-wide numbers in the order of arrival.
  package private(set) var transportWide: [UInt16] = []

  package init(_ address: TransportAddress, answer: WebRTCAnswer, credentials: ICECredentials) {
    self.address = address
    self.answer = answer
    self.key = STUNKey(password: credentials.password)
    self.username = "\(credentials.usernameFragment):clnt"
    let keys = SRTPMasterKey.pair(
      exported: [UInt8](repeating: 7, count: SRTPProfile.aeadAES128GCM.exportedLength), profile: .aeadAES128GCM)!
    self.sealer = SRTPSealer(master: keys.client, profile: .aeadAES128GCM, security: PlainSecurity())!
    self.opener = SRTPOpener(master: keys.server, profile: .aeadAES128GCM, security: PlainSecurity())!
  }

  package mutating func check(nominates: Bool = true) -> ByteBuffer {
    self.transaction += 1
    var buffer = ByteBuffer()
    STUNMessage(
      .request, transactionID: .init(UInt32(self.address.port), self.transaction),
      attributes: [.username(self.username), .iceControlling(1), .priority(1)] + (nominates ? [.useCandidate] : [])
    ).serialize(into: &buffer, key: self.key)
    return buffer
  }

  package static let hello = ByteBuffer(bytes: [22, 0])
  package static let closing = ByteBuffer(bytes: [21, 0])

  package mutating func feedback(_ message: RTCPFeedback.Message, ssrc: UInt32? = nil) -> ByteBuffer {
    self.seal([
      .feedback(RTCPFeedback(senderSSRC: 5, mediaSSRC: ssrc ?? self.answer.video!.ssrc, message: message))
    ])
  }

  package mutating func seal(_ packets: [RTCPPacket]) -> ByteBuffer {
    var buffer = ByteBuffer()
    RTCPCompoundPacket(packets).serialize(into: &buffer)
    // The index is new, and the packet is one of RTCP: an empty datagram would fail the test.
    return (try? self.sealer.seal(rtcp: buffer)) ?? ByteBuffer()
  }

  /// Handles a datagram of the server.
  package mutating func receive(_ datagram: ByteBuffer) throws {
    switch DatagramKind(datagram.readableBytesView) {
    case .stun: self.responses.append(try STUNMessage(parsing: datagram))
    case .dtls: self.closings += datagram.readableBytesView.first == 21 ? 1 : 0
    case .rtcp: self.reports.append(try RTCPCompoundPacket(parsing: self.opener.open(rtcp: datagram)))
    case .rtp: try self.receive(RTPPacket(parsing: self.opener.open(rtp: datagram)))
    case nil: break
    }
  }

  private mutating func receive(_ packet: RTPPacket) throws {
    if let header = packet.header.headerExtension,
      let id = self.answer.video?.extensionIDs[WebRTCAnswer.ExtensionURI.transportWideCC],
      let data = try RTPExtensionElements(parsing: header)[id],
      let number = RTPTransportWideSequenceNumber(parsing: data)
    {
      self.transportWide.append(number.rawValue)
    }
    switch packet.header.ssrc {
    case self.answer.video?.ssrc: self.video.append(packet)
    case self.answer.audio?.ssrc: self.audio.append(packet)
    case self.answer.video?.retransmissionSSRC:
      self.retransmitted += 1
      self.video.append(
        try RTPRetransmission.original(
          of: packet, ssrc: self.answer.video!.ssrc, payloadType: self.answer.video!.payloadType))
    default: throw UnknownSource()
    }
    if let number = self.video.last?.header.sequenceNumber { self.received.insert(number) }
  }

  struct UnknownSource: Error {}
}
