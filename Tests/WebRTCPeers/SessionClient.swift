internal import Media
package import NIOCore
package import RTP
package import WebRTC

/// The client of a session, without cryptography: checks, opens packets, finds those that are missing, and asks for them.
package struct SessionClient {
  private var transport: ClientTransport
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
  /// Number of datagrams of handshakes.
  package private(set) var handshakes = 0
  /// Whether it answers checks of the server; false for a client that has gone.
  package var answersChecks = true
  /// Responses to checks of the server, which are not sent yet.
  private var replies: [ByteBuffer] = []
  /// Transport-wide numbers in the order of arrival.
  package private(set) var transportWide: [UInt16] = []

  package init(_ address: TransportAddress, answer: WebRTCAnswer, credentials: ICECredentials) {
    self.answer = answer
    self.transport = ClientTransport(
      address, usernameFragment: credentials.usernameFragment, password: credentials.password,
      clientPassword: answer.clientTransport.credentials?.password ?? "")
  }

  package var address: TransportAddress { self.transport.address }

  package mutating func check(nominates: Bool = true) -> ByteBuffer { self.transport.check(nominates: nominates) }

  /// Removes and returns the responses to checks of the server since the last call.
  package mutating func takeReplies() -> [ByteBuffer] {
    defer { self.replies = [] }
    return self.replies
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
    if packets.count == 1, case .feedback(let feedback) = packets[0],
      case .transportWide(let arrivals) = feedback.message
    {
      Self.markPadding(of: arrivals, in: &buffer)
    }
    return self.seal(buffer)
  }

  /// Marks the bytes that fill the last word of transport-wide feedback as padding, as Chromium does.
  private static func markPadding(of feedback: RTCPTransportWideFeedback, in buffer: inout ByteBuffer) {
    // Behind the header, two SSRC, and the fields before the chunks.
    var position = 4 + 8 + 8
    var covered = 0
    while covered < Int(feedback.statusCount), let chunk: UInt16 = buffer.getInteger(at: position) {
      covered += chunk >> 15 == 0 ? Int(chunk & 0x1FFF) : chunk & 0x4000 == 0 ? 14 : 7
      position += 2
    }
    position += feedback.arrivals.reduce(0) { $0 + ((0...255).contains($1.delta) ? 1 : 2) }
    let padding = buffer.writerIndex - position
    guard padding > 0, let first: UInt8 = buffer.getInteger(at: 0) else { return }
    buffer.setInteger(first | 0b0010_0000, at: 0)
    buffer.setInteger(UInt8(padding), at: buffer.writerIndex - 1)
  }

  /// Seals bytes as RTCP, whatever they are; empty for fewer than a header.
  package mutating func seal(_ buffer: ByteBuffer) -> ByteBuffer {
    // The index is new, and the packet is one of RTCP: an empty datagram would fail the test.
    return (try? self.transport.sealer.seal(rtcp: buffer)) ?? ByteBuffer()
  }

  /// Collects the responses, reports, closings or media in a datagram of the server.
  package mutating func receive(_ datagram: ByteBuffer) throws {
    switch DatagramKind(datagram) {
    case .stun:
      let message = try STUNMessage(parsing: datagram)
      if message.messageClass == .request {
        if self.answersChecks, let reply = self.transport.response(to: message) { self.replies.append(reply) }
      } else {
        self.responses.append(message)
      }
    case .dtls:
      self.closings += datagram.readableBytesView.first == 21 ? 1 : 0
      self.handshakes += datagram.readableBytesView.first == 22 ? 1 : 0
    case .rtcp: self.reports.append(try RTCPCompoundPacket(parsing: self.transport.opener.open(rtcp: datagram)))
    case .rtp: try self.receive(RTPPacket(parsing: self.transport.opener.open(rtp: datagram)))
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
