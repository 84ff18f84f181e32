import Media
import RTP
import Testing
import WebRTC
import WebRTCPeers

/// Cost of a client's feedback, by what is looked at and what is dropped: one event loop serves all viewers.
@Suite("Feedback that a viewer may send in a second")
struct FeedbackBudgetTests {
  private var dialogue: SessionDialogue

  init() throws {
    self.dialogue = try SessionDialogue()
    try self.dialogue.connect()
    try self.dialogue.send(isKeyframe: true)
  }

  private static let pictureLoss = RTCPPacket.feedback(
    RTCPFeedback(senderSSRC: 5, mediaSSRC: 1001, message: .pictureLossIndication))

  @Test mutating func `of 900 requests for a keyframe in ten datagrams 400 are looked at, and few cause a keyframe`()
    throws
  {
    _ = self.dialogue.takeEvents()
    let requests = Array(repeating: Self.pictureLoss, count: 90)
    try self.dialogue.advance(.milliseconds(500))
    for _ in 0..<10 { try self.dialogue.deliver(self.dialogue.client.seal(requests)) }
    #expect(self.dialogue.session.statistics.keyframesRequested == 400)
    #expect(self.dialogue.session.statistics.feedbackDropped == 500)
    #expect(self.dialogue.takeEvents() == [.keyframeNeeded])
    // A second later there is room for as many.
    try self.dialogue.advance(.seconds(1))
    for _ in 0..<10 { try self.dialogue.deliver(self.dialogue.client.seal(requests)) }
    #expect(self.dialogue.session.statistics.keyframesRequested == 800)
    #expect(self.dialogue.session.statistics.feedbackDropped == 1000)
  }

  @Test mutating func `feedback on arrivals covers 20,000 packets in a second, and is dropped beyond`() throws {
    for number in UInt8(0)..<5 {
      let feedback = RTCPTransportWideFeedback(
        baseSequenceNumber: 0, statusCount: 8000, referenceTime: 1, feedbackCount: number, arrivals: [])
      try self.dialogue.deliver(self.dialogue.client.feedback(.transportWide(feedback)))
    }
    #expect(self.dialogue.session.statistics.feedbackDropped == 3)
    try self.dialogue.advance(.seconds(1))
    let small = RTCPTransportWideFeedback(
      baseSequenceNumber: 0, statusCount: 20_000, referenceTime: 1, feedbackCount: 5, arrivals: [])
    try self.dialogue.deliver(self.dialogue.client.feedback(.transportWide(small)))
    #expect(self.dialogue.session.statistics.feedbackDropped == 3)
    try self.dialogue.deliver(self.dialogue.client.feedback(.transportWide(small)))
    #expect(self.dialogue.session.statistics.feedbackDropped == 4)
  }
}
