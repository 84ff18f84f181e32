internal import Media
package import NIOCore
package import RTP
package import WebRTC

/// A publisher, without cryptography: checks, seals media, and counts what it is asked for.
package struct PublisherClient {
  package static let videoSSRC: UInt32 = 11
  package static let retransmissionSSRC: UInt32 = 12
  package static let audioSSRC: UInt32 = 13

  /// Payload types of the answer; nil for a track that it refuses.
  package let videoPayloadType: UInt8?
  package let audioPayloadType: UInt8?
  private var transport: ClientTransport
  private var videoNumber: UInt16 = 65_500
  private var audioNumber: UInt16 = 65_530

  /// RTCP that arrived.
  package private(set) var reports: [RTCPPacket] = []
  package private(set) var keyframeRequests = 0
  package private(set) var closings = 0
  /// Whether it answers checks of the server; false for a publisher that has gone.
  package var answersChecks = true
  /// Responses to checks of the server, which are not sent yet.
  private var replies: [ByteBuffer] = []
  /// Numbers of the packets that were requested again.
  package private(set) var missing: [UInt16] = []

  /// The publisher of an answer.
  package init(_ address: TransportAddress, answer: ByteBuffer) {
    let lines = String(buffer: answer).split(separator: "\r\n")
    func value(_ name: String) -> String {
      let line = lines.first { $0.hasPrefix("a=\(name):") }
      return line.map { String($0.dropFirst(name.utf8.count + 3)) } ?? ""
    }
    func payloadType(_ kind: MediaKind) -> UInt8? {
      guard let words = lines.first(where: { $0.hasPrefix("m=\(kind.rawValue) ") })?.split(separator: " "),
        words.count > 3, words[1] != "0"
      else { return nil }
      return UInt8(words[3])
    }
    self.transport = ClientTransport(
      address, usernameFragment: value("ice-ufrag"), password: value("ice-pwd"),
      clientPassword: PublishOffers.password)
    self.videoPayloadType = payloadType(.video)
    self.audioPayloadType = payloadType(.audio)
  }

  package var address: TransportAddress { self.transport.address }

  package mutating func check(nominates: Bool = true) -> ByteBuffer { self.transport.check(nominates: nominates) }

  /// Removes and returns the responses to checks of the server since the last call.
  package mutating func takeReplies() -> [ByteBuffer] {
    defer { self.replies = [] }
    return self.replies
  }

  /// Checks, handshake, nomination.
  package mutating func connect() -> [ByteBuffer] {
    [self.check(nominates: false), SessionClient.hello, self.check()]
  }

  /// Seals a frame of video, whose last packet has the marker.
  package mutating func video(_ payloads: [ByteBuffer], timestamp: UInt32) -> [ByteBuffer] {
    guard let payloadType = self.videoPayloadType else { return [] }
    return payloads.enumerated().map { index, payload in
      defer { self.videoNumber &+= 1 }
      return self.seal(
        RTPPacket(
          header: RTPHeader(
            marker: index == payloads.count - 1, payloadType: payloadType, sequenceNumber: self.videoNumber,
            timestamp: timestamp, ssrc: Self.videoSSRC), payload: payload))
    }
  }

  /// Seals an Opus packet of 20 ms.
  package mutating func audio(_ bytes: [UInt8] = [0xFC, 1, 2], timestamp: UInt32) -> ByteBuffer? {
    guard let payloadType = self.audioPayloadType else { return nil }
    defer { self.audioNumber &+= 1 }
    return self.seal(
      RTPPacket(
        header: RTPHeader(
          marker: false, payloadType: payloadType, sequenceNumber: self.audioNumber, timestamp: timestamp,
          ssrc: Self.audioSSRC), payload: ByteBuffer(bytes: bytes)))
  }

  /// Leaves out numbers of video, as if their packets were lost.
  package mutating func skipVideo(_ count: UInt16) { self.videoNumber &+= count }

  package mutating func seal(_ packet: RTPPacket) -> ByteBuffer {
    var buffer = ByteBuffer()
    packet.serialize(into: &buffer)
    return self.seal(rtp: buffer)
  }

  /// Seals bytes as RTP, whatever they are; empty for fewer than a header.
  package mutating func seal(rtp buffer: ByteBuffer) -> ByteBuffer {
    // An empty datagram would fail the test.
    (try? self.transport.sealer.seal(rtp: buffer)) ?? ByteBuffer()
  }

  /// Seals bytes as RTCP, whatever they are; empty for fewer than a header.
  package mutating func seal(rtcp buffer: ByteBuffer) -> ByteBuffer {
    (try? self.transport.sealer.seal(rtcp: buffer)) ?? ByteBuffer()
  }

  /// Collects the feedback and closings in a datagram of the server.
  package mutating func receive(_ datagram: ByteBuffer) throws {
    switch DatagramKind(datagram) {
    case .dtls: self.closings += datagram.readableBytesView.first == 21 ? 1 : 0
    case .rtcp:
      let compound = try RTCPCompoundPacket(
        parsing: self.transport.opener.open(rtcp: datagram), allowsReducedSize: true)
      for packet in compound.packets {
        self.reports.append(packet)
        guard case .feedback(let feedback) = packet else { continue }
        switch feedback.message {
        case .pictureLossIndication, .fullIntraRequest: self.keyframeRequests += 1
        case .nack(let pairs): self.missing += pairs.joined()
        default: break
        }
      }
    case .stun:
      let message = try STUNMessage(parsing: datagram)
      if self.answersChecks, let reply = self.transport.response(to: message) { self.replies.append(reply) }
    case .rtp, nil: break
    }
  }
}
