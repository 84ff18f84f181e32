import Media
import Testing
import WebRTC
import WebRTCPeers

@Suite("WebRTC session of a push, against the WHIP server's")
struct PushSessionTests {
  @Test func `video and audio reach the server as frames, in order, on one clock`() throws {
    var dialogue = try PushDialogue()
    try dialogue.connect()
    #expect(dialogue.senderEvents == [.ready(.aeadAES128GCM)])
    try dialogue.push(seconds: 3)
    try dialogue.advance(.milliseconds(400))
    #expect(dialogue.videoFrames.map(\.tag) == Array(0..<90))
    #expect(dialogue.audioFrames.map(\.tag) == Array(0..<150))
    #expect(dialogue.videoFrames.map(\.frame.isKeyframe) == [true] + Array(repeating: false, count: 89))
    for frames in [dialogue.videoFrames, dialogue.audioFrames] {
      // Without delay, the capture time is the arrival.
      #expect(frames.allSatisfy { abs(($0.arrival - $0.frame.presentationTime).seconds) < 0.02 })
    }
    #expect(dialogue.keyframeRequests == 0)
    #expect(dialogue.receiver.statistics.packetsIgnored == 0)
  }

  @Test func `a stream without audio is sent without it`() throws {
    var dialogue = try PushDialogue(hasAudio: false)
    try dialogue.connect()
    try dialogue.push(seconds: 1)
    try dialogue.advance(.milliseconds(400))
    #expect(dialogue.videoFrames.map(\.tag) == Array(0..<30))
    #expect(dialogue.receiver.audioStatistics == nil)
  }

  @Test func `on a lossy path lost packets are sent again, and each gap ends at a keyframe`() throws {
    // Of 600 for each seed; without retransmissions, three packets in a hundred would end nearly all of them.
    let counts = try (UInt64(1)...6).map(Self.framesOnLossyPath)
    #expect(counts.allSatisfy { $0 >= 400 } && counts.reduce(0, +) >= 3_000, "\(counts)")
  }

  /// Pushes 20 s over a lossy path, and returns the number of video frames that arrive.
  private static func framesOnLossyPath(seed: UInt64) throws -> Int {
    var dialogue = try PushDialogue(
      path: .init(
        loss: 0.03, lossTimes: 2...Double.infinity, delay: .milliseconds(25), jitter: .milliseconds(8), disorder: 0.01),
      seed: seed)
    // Requests are bounded: between them, the regular keyframes of a push have to do.
    dialogue.keyframeInterval = 60
    try dialogue.connect()
    try dialogue.push(seconds: 20)
    try dialogue.advance(.seconds(1))
    let frames = dialogue.videoFrames
    for (one, next) in zip(frames, frames.dropFirst()) {
      #expect(next.tag > one.tag && (next.tag == one.tag + 1 || next.frame.isKeyframe), "seed \(seed)")
      #expect(one.frame.presentationTime < next.frame.presentationTime, "seed \(seed)")
    }
    let audio = dialogue.audioFrames
    #expect(audio.count >= 850, "seed \(seed)")
    #expect(zip(audio, audio.dropFirst()).allSatisfy { $0.tag < $1.tag }, "seed \(seed)")
    let statistics = try #require(dialogue.receiver.videoStatistics)
    #expect(statistics.packetsRecovered > 0 && dialogue.sender.statistics.packetsRetransmitted > 0, "seed \(seed)")
    #expect(dialogue.sender.statistics.roundTrip != nil && dialogue.receiver.statistics.roundTrip != nil)
    return frames.count
  }

  @Test func `the server's feedback shows a path that is slower than the stream`() throws {
    // 30 frames of 16 packets of 204 bytes and their headers a second: about 950 kb/s.
    var fast = try PushDialogue()
    try fast.connect()
    try fast.push(seconds: 10, packetCount: 16)
    let enough = try #require(fast.sender.estimatedBitrate)
    #expect(enough > 1_000_000)
    var slow = try PushDialogue()
    slow.bitrate = 500_000
    try slow.connect()
    try slow.push(seconds: 10, packetCount: 16)
    let estimate = try #require(slow.sender.estimatedBitrate)
    #expect(estimate < 900_000 && estimate < enough)
  }

  @Test func `a keyframe that the server asks for is requested`() throws {
    var dialogue = try PushDialogue()
    try dialogue.connect()
    try dialogue.push(seconds: 1)
    #expect(dialogue.keyframeRequests == 0)
    try dialogue.requestKeyframe()
    try dialogue.push(seconds: 0.5)
    #expect(dialogue.keyframeRequests == 1)
    #expect(dialogue.videoFrames.count { $0.frame.isKeyframe } == 2)
  }

  @Test func `either side ends the session at the other`() throws {
    var dialogue = try PushDialogue()
    try dialogue.connect()
    try dialogue.closeSender()
    #expect(dialogue.senderEvents.last == .closed(.closedByServer))
    #expect(dialogue.receiverEvents.last == "closed: closedByClient")
    var other = try PushDialogue()
    try other.connect()
    try other.closeReceiver()
    #expect(other.senderEvents.last == .closed(.closedByClient))
    #expect(other.sender.nextDeadline == nil)
  }

  @Test func `an address that does not respond is passed over for the next one`() throws {
    let dead = try #require(TransportAddress("192.0.2.99", port: 1))
    var dialogue = try PushDialogue(candidates: [dead, PushDialogue.server])
    try dialogue.connect()
    #expect(dialogue.sender.selectedAddress == PushDialogue.server)
  }

  @Test func `without any response the session ends after 15 s, and 30 s after the last one`() throws {
    var dialogue = try PushDialogue()
    dialogue.isConnected = false
    try dialogue.advance(.milliseconds(14_900))
    #expect(dialogue.senderEvents.isEmpty)
    try dialogue.advance(.milliseconds(200))
    #expect(dialogue.senderEvents == [.closed(.neverChecked)])
    var cut = try PushDialogue()
    try cut.connect()
    try cut.push(seconds: 1)
    cut.isConnected = false
    try cut.advance(.seconds(31))
    #expect(cut.senderEvents.last == .closed(.consentExpired))
  }

  @Test func `a server with another certificate than its answer's gets nothing`() throws {
    var dialogue = try PushDialogue(serverDigest: [UInt8](repeating: 1, count: 32))
    try dialogue.advance(.seconds(1))
    #expect(dialogue.senderEvents == [.closed(.wrongFingerprint)])
    #expect(dialogue.sender.statistics.packetsSent == 0 && dialogue.frames.isEmpty)
  }
}
