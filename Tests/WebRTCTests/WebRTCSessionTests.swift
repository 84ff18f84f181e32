import Media
import NIOCore
import RTP
import TestSupport
import Testing
import WebRTC
import WebRTCPeers

@Suite("Session of a WebRTC viewer, over virtual time")
struct WebRTCSessionTests {
  private var dialogue: SessionDialogue

  init() throws {
    self.dialogue = try SessionDialogue()
  }

  private static func frame(_ packet: RTPPacket) -> UInt8? { packet.payload.readableBytesView.first }

  @Test mutating func `a client that checks, shakes hands and nominates is ready once`() throws {
    try self.dialogue.connect()
    #expect(self.dialogue.events == [.valid(self.dialogue.client.address), .ready(.aeadAES128GCM)])
    #expect(self.dialogue.client.responses.count == 2)
    try self.dialogue.deliver(self.dialogue.client.check())
    #expect(self.dialogue.events.count == 2)
  }

  @Test
  func `the server of DTLS gets the first flight at the address that it proved and nominated, once`()
    throws
  {
    var dialogue = try SessionDialogue(setup: "passive")
    dialogue.client.answersChecks = false
    try dialogue.deliver(dialogue.client.check())
    try dialogue.deliver(SessionClient.hello)
    #expect(dialogue.client.handshakes == 0 && dialogue.events == [])
    dialogue.client.answersChecks = true
    try dialogue.advance(.milliseconds(400))
    #expect(dialogue.client.handshakes == 1)
    #expect(dialogue.events == [.valid(dialogue.client.address), .ready(.aeadAES128GCM)])
    try dialogue.deliver(dialogue.client.check())
    #expect(dialogue.client.handshakes == 1 && dialogue.events.count == 2)
    try dialogue.send(isKeyframe: true)
    #expect(dialogue.client.video.count == 3)
    try dialogue.close()
    #expect(dialogue.client.closings == 1)
  }

  @Test mutating func `nothing is sent before the client is ready, and video starts at a keyframe`() throws {
    try self.dialogue.send(isKeyframe: true)
    try self.dialogue.connect()
    _ = self.dialogue.takeEvents()
    try self.dialogue.send()
    #expect(self.dialogue.client.video.isEmpty && self.dialogue.takeEvents() == [.keyframeNeeded])
    try self.dialogue.send(isKeyframe: true)
    try self.dialogue.send()
    let packets = self.dialogue.client.video
    #expect(packets.map(Self.frame) == [3, 3, 3, 4, 4, 4])
    #expect(packets.map(\.header.marker) == [false, false, true, false, false, true])
    // The first number is below 2¹⁵, whatever is random.
    #expect(packets.map(\.header.sequenceNumber) == Array(0x7FFF...0x8004))
    #expect(Set(packets.prefix(3).map(\.header.timestamp)).count == 1)
    #expect(self.dialogue.session.statistics.framesDropped == 0)
  }

  @Test mutating func `numbers and times of audio and video are of one clock, and go on over a pause`() throws {
    try self.dialogue.connect()
    try self.dialogue.send(isKeyframe: true)
    try self.dialogue.send(kind: .audio, lengths: [100])
    try self.dialogue.advance(.seconds(4))
    try self.dialogue.send()
    try self.dialogue.send(kind: .audio, lengths: [100])
    let (video, audio) = (self.dialogue.client.video, self.dialogue.client.audio)
    #expect(video[3].header.sequenceNumber == video[2].header.sequenceNumber &+ 1)
    #expect(video[3].header.timestamp &- video[0].header.timestamp == 4 * 90_000)
    #expect(audio[1].header.timestamp &- audio[0].header.timestamp == 4 * 48_000)
    #expect(audio.map(\.header.marker) == [false, false])
  }

  @Test mutating func `each viewer's packets have the answer's types and extensions, mid and delay until a report`()
    throws
  {
    try self.dialogue.connect()
    try self.dialogue.send(isKeyframe: true, lengths: [500])
    try self.dialogue.send(lengths: [500])
    func elements(_ packet: RTPPacket) throws -> Int {
      try RTPExtensionElements(parsing: #require(packet.header.headerExtension)).elements.count
    }
    // Transport-wide number, mid, playout delay.
    #expect(try self.dialogue.client.video.map(elements) == [3, 2])
    let block = RTCPReportBlock(
      ssrc: 1001, fractionLost: 0, cumulativeLost: 0, extendedHighestSequenceNumber: 0, jitter: 0)
    try self.dialogue.deliver(
      self.dialogue.client.seal([.receiverReport(RTCPReceiverReport(ssrc: 5, reportBlocks: [block]))]))
    try self.dialogue.send(isKeyframe: true, lengths: [500])
    #expect(try elements(self.dialogue.client.video[2]) == 1)
    #expect(self.dialogue.client.transportWide == [0, 1, 2])
  }

  @Test mutating func `a lost packet is sent again on its own source, once in a round trip`() throws {
    try self.dialogue.connect()
    self.dialogue.isLost = { $0 == 2 }
    try self.dialogue.send(isKeyframe: true)
    self.dialogue.isLost = { _ in false }
    #expect(self.dialogue.client.video.count == 2)
    let missing = self.dialogue.client.video[0].header.sequenceNumber &+ 1
    let pairs = RTCPNackPair.pairs([missing])
    try self.dialogue.deliver(self.dialogue.client.feedback(.nack(pairs)))
    try self.dialogue.deliver(self.dialogue.client.feedback(.nack(pairs)))
    #expect(self.dialogue.client.retransmitted == 1 && self.dialogue.client.video.count == 3)
    let packet = self.dialogue.client.video[2]
    #expect(packet.header.sequenceNumber == missing && packet.payload.readableBytes == 1000)
    #expect(packet.header.timestamp == self.dialogue.client.video[0].header.timestamp)
    try self.dialogue.advance(.milliseconds(100))
    try self.dialogue.deliver(self.dialogue.client.feedback(.nack(pairs)))
    #expect(self.dialogue.client.retransmitted == 2)
    #expect(self.dialogue.session.statistics.packetsRetransmitted == 2)
    // Each retransmission has a transport-wide number of its own.
    #expect(self.dialogue.client.transportWide == [0, 2, 3, 4])
  }

  @Test mutating func `a report that waited in a queue does not delay answers to requests for what was lost again`()
    throws
  {
    try self.dialogue.connect()
    try self.dialogue.send(isKeyframe: true)
    // Round trips of 50 ms, then one of 160 ms, behind a keyframe. Reports come each second, whenever the client answers.
    for (delay, age) in [(50, 0), (50, 50), (160, 100)] {
      try self.dialogue.advance(.seconds(1))
      let report = try #require(
        self.dialogue.client.reports.last?.packets.compactMap { packet -> RTCPSenderReport? in
          if case .senderReport(let report) = packet { report } else { nil }
        }.first)
      try self.dialogue.advance(.milliseconds(Int64(delay)))
      let block = RTCPReportBlock(
        ssrc: 1001, fractionLost: 0, cumulativeLost: 0, extendedHighestSequenceNumber: 0, jitter: 0,
        lastSenderReport: report.ntpTimestamp.middle, delaySinceLastSenderReport: UInt32(age * 65_536 / 1000))
      try self.dialogue.deliver(
        self.dialogue.client.seal([.receiverReport(RTCPReceiverReport(ssrc: 5, reportBlocks: [block]))]))
    }
    try self.dialogue.send()
    let pairs = RTCPNackPair.pairs([try #require(self.dialogue.client.video.last).header.sequenceNumber])
    try self.dialogue.deliver(self.dialogue.client.feedback(.nack(pairs)))
    try self.dialogue.advance(.milliseconds(30))
    try self.dialogue.deliver(self.dialogue.client.feedback(.nack(pairs)))
    #expect(self.dialogue.session.statistics.packetsRetransmitted == 1)
    try self.dialogue.advance(.milliseconds(20))
    try self.dialogue.deliver(self.dialogue.client.feedback(.nack(pairs)))
    #expect(self.dialogue.session.statistics.packetsRetransmitted == 2)
  }

  @Test mutating func `a client that loses the first 32,000 packets opens all that follow, over the wrap of numbers`()
    throws
  {
    // The first number is the highest that any viewer begins with, 32,767.
    let frameLength = 500
    let lost = 64 * frameLength
    self.dialogue.isLost = { $0 <= lost || $0 == lost + 767 || $0 == lost + 770 }
    try self.dialogue.connect()
    for frame in 0..<68 {
      try self.dialogue.send(isKeyframe: frame % 60 == 0, lengths: Array(repeating: 20, count: frameLength))
      try self.dialogue.advance(.milliseconds(33))
    }
    let numbers = self.dialogue.client.video.map(\.header.sequenceNumber)
    // Number 65,535 is the 32,769th packet: one before it and one behind it are lost.
    #expect(numbers.count == 4 * frameLength - 2 && numbers.first == 0x7FFF + UInt16(lost))
    #expect(numbers.contains(0xFFFF) && numbers.contains(1) && !numbers.contains(0xFFFD) && !numbers.contains(0))
    // Requests over the wrap, for packets of both sides.
    try self.dialogue.deliver(self.dialogue.client.feedback(.nack(RTCPNackPair.pairs([0xFFFD, 0]))))
    #expect(self.dialogue.client.retransmitted == 2)
    #expect(self.dialogue.client.video.suffix(2).map(\.header.sequenceNumber) == [0xFFFD, 0])
  }

  @Test mutating func `packets are kept for a second, also over keyframes; requests for others want a keyframe`() throws
  {
    try self.dialogue.connect()
    try self.dialogue.send(isKeyframe: true)
    let first = self.dialogue.client.video[0].header.sequenceNumber
    try self.dialogue.advance(.milliseconds(900))
    try self.dialogue.send(isKeyframe: true)
    try self.dialogue.deliver(self.dialogue.client.feedback(.nack(RTCPNackPair.pairs([first]))))
    #expect(self.dialogue.client.retransmitted == 1)
    try self.dialogue.advance(.milliseconds(600))
    try self.dialogue.send()
    _ = self.dialogue.takeEvents()
    try self.dialogue.deliver(self.dialogue.client.feedback(.nack(RTCPNackPair.pairs([first]))))
    #expect(self.dialogue.client.retransmitted == 1 && self.dialogue.takeEvents() == [.keyframeNeeded])
    // A number that was never sent.
    try self.dialogue.advance(.seconds(2))
    try self.dialogue.deliver(self.dialogue.client.feedback(.nack(RTCPNackPair.pairs([first &+ 1000]))))
    #expect(self.dialogue.client.retransmitted == 1 && self.dialogue.takeEvents() == [.keyframeNeeded])
  }

  @Test mutating func `a request storm is answered with half of what was sent, and a store`() throws {
    try self.dialogue.connect()
    try self.dialogue.send(isKeyframe: true, lengths: Array(repeating: 1000, count: 1000))
    let first = self.dialogue.client.video[0].header.sequenceNumber
    let all = RTCPNackPair.pairs((0..<1000).map { first &+ $0 })
    for _ in 0..<20 {
      try self.dialogue.advance(.milliseconds(60))
      try self.dialogue.deliver(self.dialogue.client.feedback(.nack(all)))
    }
    // 524,288 bytes, which sending did not exceed.
    #expect(self.dialogue.client.retransmitted == 524)
  }

  @Test mutating func `feedback beyond what a client may send in a second is dropped and counted`() throws {
    try self.dialogue.connect()
    try self.dialogue.send(isKeyframe: true, lengths: Array(repeating: 100, count: 300))
    let first = self.dialogue.client.video[0].header.sequenceNumber
    // 6,120 numbers in each datagram, of packets that were never sent.
    let pairs = (0..<360).map { RTCPNackPair(packetID: first &+ 1000 &+ UInt16($0 * 17), followingMask: 0xFFFF) }
    for _ in 0..<300 { try self.dialogue.deliver(self.dialogue.client.feedback(.nack(pairs))) }
    let statistics = self.dialogue.session.statistics
    #expect(self.dialogue.session.dropCounts.excess == 100)
    #expect(statistics.feedbackDropped == 200 * 360 * 17 - 2000)
    // A second later it is heard again.
    try self.dialogue.advance(.seconds(1))
    try self.dialogue.deliver(self.dialogue.client.feedback(.nack(RTCPNackPair.pairs([first]))))
    #expect(self.dialogue.client.retransmitted == 1)
  }

  @Test mutating func `a request that a keyframe on its way answers counts for nothing, others are bounded`() throws {
    try self.dialogue.connect()
    try self.dialogue.send(isKeyframe: true)
    _ = self.dialogue.takeEvents()
    try self.dialogue.deliver(self.dialogue.client.feedback(.pictureLossIndication))
    #expect(self.dialogue.takeEvents() == [])
    try self.dialogue.advance(.milliseconds(200))
    for _ in 0..<50 { try self.dialogue.deliver(self.dialogue.client.feedback(.pictureLossIndication)) }
    #expect(self.dialogue.takeEvents() == [.keyframeNeeded])
    try self.dialogue.advance(.milliseconds(1100))
    try self.dialogue.deliver(
      self.dialogue.client.feedback(.fullIntraRequest([.init(ssrc: 1001, commandSequenceNumber: 7)]), ssrc: 0))
    #expect(self.dialogue.takeEvents() == [.keyframeNeeded])
    try self.dialogue.advance(.milliseconds(1100))
    // The same request again, and one for another source.
    try self.dialogue.deliver(
      self.dialogue.client.feedback(.fullIntraRequest([.init(ssrc: 1001, commandSequenceNumber: 7)]), ssrc: 0))
    try self.dialogue.deliver(
      self.dialogue.client.feedback(.fullIntraRequest([.init(ssrc: 9, commandSequenceNumber: 8)]), ssrc: 0))
    try self.dialogue.deliver(self.dialogue.client.feedback(.pictureLossIndication, ssrc: 9))
    #expect(self.dialogue.takeEvents() == [])
    #expect(self.dialogue.session.statistics.keyframesRequested == 52)
  }

  @Test mutating func `reports map both tracks to one clock, also over its steps, and show the round trip`() throws {
    try self.dialogue.connect()
    try self.dialogue.send(isKeyframe: true, lengths: [500, 100])
    try self.dialogue.send(kind: .audio, lengths: [80])
    try self.dialogue.advance(.milliseconds(2500))
    let reports = self.dialogue.client.reports.map { compound in
      compound.packets.compactMap { packet -> RTCPSenderReport? in
        if case .senderReport(let report) = packet { report } else { nil }
      }
    }
    #expect(reports.map { $0.map(\.ssrc) } == [[1001, 1003], [1001, 1003], [1001, 1003]])
    let (first, last) = (reports[0], reports[2])
    #expect(last[0].packetCount == 2 && last[0].octetCount == 600 && last[1].octetCount == 80)
    #expect(last[0].ntpTimestamp == last[1].ntpTimestamp)
    #expect(last[0].rtpTimestamp &- first[0].rtpTimestamp == 2 * 90_000)
    // Both mappings are from the clock's first reading; NTP timestamps count 2^-32 seconds.
    let elapsed = last[0].ntpTimestamp.rawValue - first[0].ntpTimestamp.rawValue
    #expect(abs(Double(elapsed) / 4_294_967_296 - 2) < 1e-6)
    #expect(last[1].rtpTimestamp &- first[1].rtpTimestamp == 2 * 48_000)
    // The frame was captured when the first report was made.
    #expect(first[0].rtpTimestamp == self.dialogue.client.video[0].header.timestamp)
    // 500 ms have passed since the last report, 440 of them at the client.
    let block = RTCPReportBlock(
      ssrc: 1001, fractionLost: 64, cumulativeLost: 3, extendedHighestSequenceNumber: 0, jitter: 0,
      lastSenderReport: last[0].ntpTimestamp.middle, delaySinceLastSenderReport: 65_536 * 44 / 100)
    try self.dialogue.deliver(
      self.dialogue.client.seal([.receiverReport(RTCPReceiverReport(ssrc: 5, reportBlocks: [block]))]))
    let statistics = self.dialogue.session.statistics
    let roundTrip = try #require(statistics.roundTrip)
    #expect(abs((roundTrip - .milliseconds(60)).nanoseconds) < 100_000)
    #expect(statistics.fractionLost == 0.25 && statistics.packetsLost == 3)
    // One of them came after all: a counter does not fall.
    var next = block
    next.cumulativeLost = 2
    try self.dialogue.deliver(
      self.dialogue.client.seal([.receiverReport(RTCPReceiverReport(ssrc: 5, reportBlocks: [next]))]))
    #expect(self.dialogue.session.statistics.packetsLost == 3)
  }

  @Test mutating func `a client's reference time is answered with the time that it was here`() throws {
    try self.dialogue.connect()
    try self.dialogue.send(isKeyframe: true)
    try self.dialogue.advance(.milliseconds(100))
    let time = NTPTimestamp(rawValue: 0x0001_2345_6789_0000)
    try self.dialogue.deliver(
      self.dialogue.client.seal([
        .extendedReport(RTCPExtendedReport(ssrc: 77, blocks: [.receiverReferenceTime(time)]))
      ]))
    try self.dialogue.advance(.seconds(1))
    let delays = self.dialogue.client.reports.flatMap(\.packets).compactMap { packet -> RTCPExtendedReport.Block? in
      if case .extendedReport(let report) = packet { report.blocks.first } else { nil }
    }
    #expect(
      delays == [
        .delaySinceLastReceiverReport([
          .init(ssrc: 77, lastReceiverReport: time.middle, delay: UInt32(65_536 * 9 / 10))
        ])
      ])
  }

  @Test mutating func `an estimate of the client bounds that of the server`() throws {
    try self.dialogue.connect()
    let block = RTCPReportBlock(
      ssrc: 1001, fractionLost: 0, cumulativeLost: 0, extendedHighestSequenceNumber: 0, jitter: 0)
    try self.dialogue.deliver(
      self.dialogue.client.seal([.receiverReport(RTCPReceiverReport(ssrc: 5, reportBlocks: [block]))]))
    #expect(try #require(self.dialogue.session.estimatedBitrate) > 2_000_000)
    let estimate = RTCPReceiverEstimatedBitrate(bitrate: 2_000_000, ssrcs: [1001])
    try self.dialogue.deliver(self.dialogue.client.feedback(.receiverEstimatedBitrate(estimate), ssrc: 0))
    #expect(self.dialogue.session.estimatedBitrate == 2_000_000)
  }

  @Test mutating func `frames that the caller has not drained for half a second are dropped up to a keyframe`() throws {
    try self.dialogue.connect()
    try self.dialogue.send(isKeyframe: true)
    _ = self.dialogue.takeEvents()
    self.dialogue.queue()
    try self.dialogue.advance(.milliseconds(100))
    // The report of this time drained the queue.
    let sent = self.dialogue.client.video.count
    for _ in 0..<6 {
      self.dialogue.queue()
      self.dialogue.pass(.milliseconds(100))
    }
    try self.dialogue.drain()
    // The first five were too old for the sixth.
    #expect(self.dialogue.client.video.count == sent && self.dialogue.takeEvents() == [.keyframeNeeded])
    try self.dialogue.send()
    #expect(self.dialogue.client.video.count == sent)
    try self.dialogue.send(isKeyframe: true)
    let numbers = self.dialogue.client.video.map(\.header.sequenceNumber)
    #expect(zip(numbers, numbers.dropFirst()).allSatisfy { $1 == $0 &+ 1 } && numbers.count == sent + 3)
    // Five, the sixth, and the one that was no keyframe.
    #expect(self.dialogue.session.statistics.framesDropped == 7)
  }

  @Test mutating func `frames that must not be shown any more are neither sent nor sent again`() throws {
    try self.dialogue.connect()
    try self.dialogue.send(isKeyframe: true)
    let first = self.dialogue.client.video[0].header.sequenceNumber
    self.dialogue.queue()
    self.dialogue.discardEarlier()
    try self.dialogue.drain()
    #expect(self.dialogue.client.video.count == 3)
    try self.dialogue.deliver(self.dialogue.client.feedback(.nack(RTCPNackPair.pairs([first]))))
    #expect(self.dialogue.client.retransmitted == 0)
  }

  @Test mutating func `a client that moves gets media at its new address`() throws {
    try self.dialogue.connect()
    try self.dialogue.send(isKeyframe: true)
    let other = try #require(TransportAddress("198.51.100.1", port: 4001))
    self.dialogue.otherAddresses = [other]
    try self.dialogue.deliver(self.dialogue.client.check(), from: other)
    #expect(self.dialogue.session.selectedAddress == other && self.dialogue.takeEvents().last == .valid(other))
    try self.dialogue.send()
    #expect(self.dialogue.client.video.count == 3 && self.dialogue.messageCount > 0)
  }

  @Test mutating func `after forged checks no media, report or handshake goes to a third party`() throws {
    try self.dialogue.connect()
    try self.dialogue.send(isKeyframe: true)
    let victim = try #require(TransportAddress("203.0.113.9", port: 53))
    var (forged, sent) = (0, 0)
    for _ in 0..<100 {
      let check = self.dialogue.client.check()
      forged += check.readableBytes
      try self.dialogue.deliver(check, from: victim)
      try self.dialogue.deliver(SessionClient.hello, from: victim)
      try self.dialogue.send()
      try self.dialogue.advance(.milliseconds(100))
    }
    for (address, datagram) in self.dialogue.strays {
      #expect(address == victim && DatagramKind(datagram) == .stun)
      sent += datagram.readableBytes
    }
    #expect(sent > 0 && sent <= forged * 3)
    #expect(self.dialogue.client.video.count == 303 && self.dialogue.session.selectedAddress != victim)
  }

  @Test mutating func `the end is notified, and nothing follows`() throws {
    try self.dialogue.connect()
    try self.dialogue.close()
    #expect(self.dialogue.client.closings == 1 && self.dialogue.takeEvents().last == .closed(.closedByServer))
    try self.dialogue.send(isKeyframe: true)
    #expect(self.dialogue.client.video.isEmpty && self.dialogue.session.nextDeadline == nil)
    try self.dialogue.deliver(self.dialogue.client.check())
    #expect(self.dialogue.takeEvents() == [])
  }

  @Test mutating func `timeouts are handled when they are due, not before`() throws {
    try self.dialogue.connect()
    let due = try #require(self.dialogue.session.nextDeadline)
    let isEarlyHandled = self.dialogue.handleTimeoutIfDue(at: due - .milliseconds(1))
    #expect(!isEarlyHandled && self.dialogue.session.nextDeadline == due)
    let isHandled = self.dialogue.handleTimeoutIfDue(at: due)
    let next = try #require(self.dialogue.session.nextDeadline)
    #expect(isHandled && next > due)
  }

  @Test mutating func `a frame for a slow path leaves in parts, at the times that draining returns`() throws {
    try self.dialogue.connect()
    let estimate = RTCPReceiverEstimatedBitrate(bitrate: 500_000, ssrcs: [1001])
    try self.dialogue.deliver(self.dialogue.client.feedback(.receiverEstimatedBitrate(estimate)))
    try self.dialogue.send(isKeyframe: true)
    let next = try #require(self.dialogue.nextSending)
    #expect((1..<3).contains(self.dialogue.client.video.count) && next > self.dialogue.now)
    try self.dialogue.advance(.milliseconds(99))
    #expect(self.dialogue.client.video.count == 3 && self.dialogue.nextSending == nil)
  }

  @Test mutating func `equal packets of a frame are one message`() throws {
    try self.dialogue.connect()
    try self.dialogue.send(isKeyframe: true, lengths: [30])
    try self.dialogue.send(lengths: Array(repeating: 900, count: 15) + [100])
    #expect(self.dialogue.messageCount == 1)
    try self.dialogue.send(lengths: Array(repeating: 900, count: 17))
    #expect(self.dialogue.messageCount == 2)
  }

  @Test(arguments: 1...8) mutating func `all packets arrive over a path that loses one of twenty`(seed: UInt64) throws {
    var random = SplitMix(seed: seed)
    let losses = (0..<2000).map { _ in Int.random(in: 0..<20, using: &random) == 0 }
    self.dialogue.isLost = { losses[$0] }
    try self.dialogue.connect()
    var end: UInt16 = 0x7FFF
    /// Asks for what is missing of the last 150 packets: more than a second has.
    func askForMissing(_ dialogue: inout SessionDialogue) throws -> Int {
      let missing = (1...150).map { end &- $0 }.reversed().filter {
        $0 &- 0x7FFF < 0x8000 && !dialogue.client.received.contains($0)
      }
      if !missing.isEmpty { try dialogue.deliver(dialogue.client.feedback(.nack(RTCPNackPair.pairs(missing)))) }
      return missing.count
    }
    for frame in 0..<150 {
      try self.dialogue.send(isKeyframe: frame % 60 == 0)
      end &+= 3
      try self.dialogue.advance(.milliseconds(33))
      _ = try askForMissing(&self.dialogue)
    }
    for _ in 0..<20 where try askForMissing(&self.dialogue) > 0 { try self.dialogue.advance(.milliseconds(60)) }
    #expect(self.dialogue.client.received.count == 450 && self.dialogue.client.retransmitted > 0)
    #expect(!self.dialogue.events.contains(.keyframeNeeded))
  }
}
