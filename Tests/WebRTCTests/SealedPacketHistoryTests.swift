import Media
import NIOCore
import RTP
import Testing
import WebRTC
import WebRTCPeers

@Suite("Retransmission to clients without RTX")
struct SealedPacketHistoryTests {
  private var dialogue: SessionDialogue

  init() throws { self.dialogue = try SessionDialogue(hasRetransmission: false) }

  private mutating func request(_ numbers: UInt16...) throws {
    try self.dialogue.deliver(self.dialogue.client.feedback(.nack(RTCPNackPair.pairs(numbers))))
  }

  @Test mutating func `a lost packet is sent again with the same bytes, once in a round trip`() throws {
    try self.dialogue.connect()
    self.dialogue.isLost = { $0 == 2 }
    try self.dialogue.send(isKeyframe: true)
    self.dialogue.isLost = { _ in false }
    #expect(self.dialogue.client.video.count == 2 && self.dialogue.sent.count == 3)
    let missing = self.dialogue.client.video[0].header.sequenceNumber &+ 1
    try self.request(missing)
    try self.request(missing)
    #expect(self.dialogue.sent.count == 4 && self.dialogue.sent[3] == self.dialogue.sent[1])
    #expect(self.dialogue.client.video.last?.header.sequenceNumber == missing)
    #expect(self.dialogue.session.statistics.packetsRetransmitted == 1)
    #expect(self.dialogue.takeEvents().contains(.keyframeNeeded) == false)
    // Packets that follow have numbers of their own.
    try self.dialogue.send()
    #expect(Set(self.dialogue.sent.map { Array($0.readableBytesView) }).count == 6)
  }

  @Test mutating func `a packet that is not kept counts as a request for a keyframe`() throws {
    try self.dialogue.connect()
    try self.dialogue.send(isKeyframe: true)
    let first = self.dialogue.client.video[0].header.sequenceNumber
    try self.dialogue.advance(.milliseconds(1500))
    try self.dialogue.send()
    _ = self.dialogue.takeEvents()
    // Too old; never sent.
    try self.request(first)
    #expect(self.dialogue.takeEvents() == [.keyframeNeeded])
    try self.dialogue.advance(.seconds(2))
    try self.request(first &+ 1000)
    #expect(self.dialogue.takeEvents() == [.keyframeNeeded])
    // Ten thousand are bounded as others are.
    for _ in 0..<10_000 { try self.request(first) }
    #expect(self.dialogue.takeEvents().isEmpty && self.dialogue.sent.count == 6)
  }

  @Test mutating func `frames that must not be shown any more are not sent again`() throws {
    try self.dialogue.connect()
    try self.dialogue.send(isKeyframe: true)
    let first = self.dialogue.client.video[0].header.sequenceNumber
    self.dialogue.discardEarlier()
    try self.request(first)
    #expect(self.dialogue.sent.count == 3)
  }

  @Test mutating func `kept packets are bounded, and a storm gets half of what was sent, and a store`() throws {
    try self.dialogue.connect()
    // The client would refuse a packet that comes twice.
    self.dialogue.isLost = { $0 > 1 }
    try self.dialogue.send(isKeyframe: true, lengths: Array(repeating: 1000, count: 1000))
    let first = self.dialogue.client.video[0].header.sequenceNumber
    // Datagrams of more than 1000 bytes in 512 KiB.
    try self.request(first, first &+ 400)
    #expect(self.dialogue.sent.count == 1000)
    for _ in 0..<20 {
      try self.dialogue.advance(.milliseconds(40))
      for offset in stride(from: UInt16(500), to: 1000, by: 100) {
        try self.dialogue.deliver(
          self.dialogue.client.feedback(.nack(RTCPNackPair.pairs((0..<100).map { first &+ offset &+ $0 }))))
      }
    }
    let bytes = self.dialogue.sent[1000...].reduce(0) { $0 + $1.readableBytes }
    #expect(bytes > 400_000 && bytes <= 524_288)
  }
}
