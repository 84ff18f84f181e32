import Bitstreams
import Media
import NIOCore
import RTP
import Testing
import WebRTCPeers

@testable import WebRTC

@Suite("WebRTC reception: the session of a publisher")
struct WebRTCPublisherSessionTests {
  private static func dialogue(
    _ offer: String = "chromium", path: PublisherDialogue.Path = .init(), maximumVideoBitrate: Int? = nil,
    seed: UInt64 = 1
  ) throws -> PublisherDialogue {
    var dialogue = try PublisherDialogue(
      offer: PublishOffers.offer(offer), path: path, maximumVideoBitrate: maximumVideoBitrate, seed: seed)
    try dialogue.connect()
    return dialogue
  }

  @Test(arguments: PublishOffers.names)
  func `each publisher's video and audio arrive as frames, in order, on one clock`(name: String) throws {
    var dialogue = try Self.dialogue(name)
    #expect(dialogue.events == ["valid", "ready"])
    try dialogue.publish(seconds: 3)
    #expect(dialogue.videoFrames.count == 90 && dialogue.audioFrames.count == 150)
    #expect(dialogue.videoFrames.map(\.frame.isKeyframe) == [true] + Array(repeating: false, count: 89))
    for frames in [dialogue.videoFrames, dialogue.audioFrames] {
      #expect(zip(frames, frames.dropFirst()).allSatisfy { $0.frame.presentationTime < $1.frame.presentationTime })
      // Without delay, the capture time is the arrival.
      #expect(frames.allSatisfy { abs(($0.arrival - $0.frame.presentationTime).seconds) < 0.003 })
    }
    #expect(dialogue.session.videoStatistics == .init(frames: 90))
    #expect(dialogue.session.statistics.packetsIgnored == 0)
  }

  @Test func `H.264 has its configuration with the first keyframe, VP8 its size`() throws {
    var h264 = try Self.dialogue()
    try h264.publish(seconds: 0.1)
    guard case .h264(let description?)? = h264.videoFrames.first?.frame.content else {
      Issue.record("no configuration")
      return
    }
    #expect(description.width == 1280 && description.height == 720)
    #expect(h264.videoFrames.dropFirst().allSatisfy { $0.frame.content == .h264(newDescription: nil) })
    var vp8 = try Self.dialogue("firefox")
    try vp8.publish(seconds: 0.1)
    #expect(vp8.videoFrames.first?.frame.content == .vp8(size: .init(width: 640, height: 360)))
  }

  @Test func `a configuration that changes within the session comes with its keyframe`() throws {
    var dialogue = try Self.dialogue()
    try dialogue.publish(seconds: 0.1)
    var sets = PublisherDialogue.parameterSets
    // The same size, another level.
    sets[0][3] = 0x20
    try dialogue.sendVideo(
      PublisherDialogue.h264(isKeyframe: true, packetCount: 3, sets: sets), timestamp: 100_000)
    // As single NAL units before the keyframe.
    sets[0][3] = 0x28
    try dialogue.sendVideo(
      sets.map { ByteBuffer(bytes: $0) }
        + PublisherDialogue.h264(isKeyframe: true, packetCount: 3, sets: []).dropFirst(),
      timestamp: 103_000)
    try dialogue.advance(.milliseconds(10))
    let levels = dialogue.videoFrames.compactMap { frame -> UInt8? in
      guard case .h264(let description?) = frame.frame.content else { return nil }
      return description.sequenceParameterSet[3]
    }
    #expect(levels == [0x1F, 0x20, 0x28])
  }

  @Test func `frames of 8192×8192 are dropped, and the next usable configuration is taken`() throws {
    var dialogue = try Self.dialogue("firefox")
    var large = PublisherDialogue.vp8(isKeyframe: true, packetCount: 2)
    large[0].setBytes([0x00, 0x20, 0x00, 0x20], at: 7)
    try dialogue.sendVideo(large, timestamp: 0)
    try dialogue.sendVideo(isKeyframe: false, timestamp: 3000)
    try dialogue.sendVideo(large, timestamp: 4000)
    try dialogue.advance(.milliseconds(10))
    #expect(dialogue.videoFrames.isEmpty && dialogue.session.videoStatistics?.framesDropped == 3)
    // Reported once.
    #expect(dialogue.events.filter { $0.hasPrefix("refused") } == ["refused: 8192×8192"])
    try dialogue.sendVideo(isKeyframe: true, timestamp: 6000)
    try dialogue.advance(.milliseconds(10))
    #expect(dialogue.videoFrames.count == 1)
  }

  @Test func `an H.264 configuration of 8192×8192 is refused within a session, and the next usable one is taken`()
    throws
  {
    var dialogue = try Self.dialogue()
    try dialogue.publish(seconds: 0.1)
    let before = dialogue.videoFrames.count
    let dropped = try #require(dialogue.session.videoStatistics).framesDropped
    // The parameter set of x264 core 164 for frames of this size: Constrained Baseline, level 6.2.
    let large: [UInt8] = [
      0x67, 0x42, 0xC0, 0x3E, 0xDA, 0x00, 0x20, 0x00, 0x04, 0x01, 0xB0, 0x11, 0x00, 0x00, 0x03, 0x00, 0x01, 0x00, 0x00,
      0x03, 0x00, 0x3C, 0x0F, 0x08, 0x04, 0x2A,
    ]
    let sets = [large, PublisherDialogue.parameterSets[1]]
    let keyframe = PublisherDialogue.h264(isKeyframe: true, packetCount: 3, sets: sets)
    try dialogue.sendVideo(keyframe, timestamp: 100_000)
    try dialogue.sendVideo(isKeyframe: false, timestamp: 103_000)
    try dialogue.sendVideo(keyframe, timestamp: 106_000)
    // Single NAL units in place of an aggregate.
    try dialogue.sendVideo(sets.map { ByteBuffer(bytes: $0) } + keyframe.dropFirst(), timestamp: 109_000)
    try dialogue.advance(.milliseconds(10))
    #expect(dialogue.videoFrames.count == before)
    #expect(dialogue.session.videoStatistics?.framesDropped == dropped + 4)
    // Reported once.
    #expect(dialogue.events.filter { $0.hasPrefix("refused") } == ["refused: 8192×8192"])
    try dialogue.sendVideo(isKeyframe: true, timestamp: 112_000)
    try dialogue.sendVideo(isKeyframe: false, timestamp: 115_000)
    try dialogue.advance(.milliseconds(10))
    #expect(dialogue.videoFrames.count == before + 2)
    guard case .h264(let description?)? = dialogue.videoFrames.dropFirst(before).first?.frame.content else {
      Issue.record("no configuration with the keyframe")
      return
    }
    #expect(description.width == 1280 && description.height == 720)
  }

  /// The path, and the minimum number of frames of 600.
  @Test(
    arguments: [
      (PublisherDialogue.Path(loss: 0.02, delay: .milliseconds(25)), 576),
      (PublisherDialogue.Path(loss: 0.02, delay: .milliseconds(25), jitter: .milliseconds(15)), 540),
      (PublisherDialogue.Path(delay: .milliseconds(25), disorder: 0.05), 600),
      (PublisherDialogue.Path(loss: 0.1, lossTimes: 6...8, delay: .milliseconds(25), disorder: 0.01), 520),
    ] as [(PublisherDialogue.Path, Int)], ["chromium", "firefox"])
  func `loss is repaired by retransmissions: at 2 percent in both directions and 50 ms, 28.8 frames per second remain`(
    path: (path: PublisherDialogue.Path, minimum: Int), offer: String
  ) throws {
    for seed in UInt64(1)...2 {
      var dialogue = try Self.dialogue(offer, path: path.path, seed: seed)
      try dialogue.publish(seconds: 20)
      #expect(dialogue.videoFrames.count >= path.minimum, "seed \(seed)")
      let statistics = try #require(dialogue.session.videoStatistics)
      #expect(statistics.packetsLost + statistics.packetsRecovered >= (path.path.loss > 0 ? 30 : 0))
      // The budget: one per second and a few saved.
      #expect(statistics.keyframesRequested <= 26)
      // A second after the loss of two seconds ends, all frames arrive.
      let late = dialogue.videoFrames.count { $0.arrival.seconds >= 9 }
      if path.path.lossTimes.upperBound == 8 { #expect(late >= 358) }
      for frames in [dialogue.videoFrames, dialogue.audioFrames] {
        #expect(zip(frames, frames.dropFirst()).allSatisfy { $0.frame.presentationTime < $1.frame.presentationTime })
        let delays = frames.map { ($0.arrival - $0.frame.presentationTime).seconds }
        #expect((delays.max() ?? 1) <= 0.15 + 0.06, "no frame waits longer than its gap may")
      }
    }
  }

  @Test func `audio and video that were captured together keep their times on a path with loss and jitter`() throws {
    var dialogue = try Self.dialogue(
      path: .init(loss: 0.01, delay: .milliseconds(40), jitter: .milliseconds(30)))
    try dialogue.publish(seconds: 20)
    /// Time minus capture time, by the number of the frame or packet.
    func offsets(_ frames: [PublisherDialogue.Frame], at index: Int, rate: Double) -> [Int: Double] {
      let pairs = frames.compactMap { frame -> (Int, Double)? in
        guard let number = frame.frame.payload.getInteger(at: frame.frame.payload.readerIndex + index, as: UInt16.self)
        else { return nil }
        return (Int(number), frame.frame.presentationTime.seconds - Double(number) / rate)
      }
      return Dictionary(pairs) { first, _ in first }
    }
    let video = offsets(dialogue.videoFrames, at: 6, rate: 30)
    let audio = offsets(dialogue.audioFrames, at: 1, rate: 50)
    #expect(video.count > 450 && audio.count > 900)
    // Each third frame was captured with each fifth packet. From two seconds on, after the first reports.
    let skews = (20..<200).compactMap { index -> Double? in
      guard let time = video[index * 3], let audio = audio[index * 5] else { return nil }
      return abs(time - audio)
    }
    #expect(skews.count > 100 && skews.allSatisfy { $0 <= 0.04 })
  }

  @Test func `a long silence of the sender's Opus is a gap of their times`() throws {
    var dialogue = try Self.dialogue()
    try dialogue.sendAudio(timestamp: 0)
    try dialogue.advance(.milliseconds(400))
    try dialogue.sendAudio(timestamp: 19_200)
    try dialogue.advance(.milliseconds(20))
    #expect(
      dialogue.audioFrames.map(\.frame.content) == [
        .opus(duration: .milliseconds(20)), .opus(duration: .milliseconds(20)),
      ])
    let times = dialogue.audioFrames.map(\.frame.presentationTime)
    #expect(abs((times[1] - times[0]).seconds - 0.4) < 0.005)
  }

  @Test func `the first packets are lost: a keyframe is asked for, until one comes`() throws {
    var dialogue = try Self.dialogue()
    dialogue.answersPLI = false
    for index in 0..<90 {
      try dialogue.sendVideo(isKeyframe: false, timestamp: UInt32(index) * 3000)
      try dialogue.advance(.microseconds(33_333))
    }
    #expect(dialogue.videoFrames.isEmpty)
    // Every 0.5 s, then after twice the time.
    #expect(
      dialogue.keyframeRequestTimes.map { ($0 - dialogue.keyframeRequestTimes[0]).seconds } == [0, 0.5, 1, 1.5, 2.5])
    try dialogue.sendVideo(isKeyframe: true, timestamp: 90 * 3000)
    try dialogue.advance(.seconds(10))
    #expect(dialogue.videoFrames.count == 1 && dialogue.keyframeRequestTimes.count == 5)
  }

  @Test func `a publisher of recovery points without keyframes is received from the first of them`() throws {
    var dialogue = try Self.dialogue()
    dialogue.answersPLI = false
    try dialogue.sendVideo(isKeyframe: false, timestamp: 0)
    try dialogue.advance(.milliseconds(700))
    #expect(dialogue.videoFrames.isEmpty && !dialogue.keyframeRequestTimes.isEmpty)
    let requests = dialogue.keyframeRequestTimes.count
    // STAP-A: parameter sets, a recovery point (ITU-T H.264 §D.1.8) and a slice of type P.
    var aggregate: [UInt8] = [0x78]
    for unit in PublisherDialogue.parameterSets + [[0x06, 0x06, 0x01, 0xC4, 0x80], [0x41, 0x9A, 7]] {
      aggregate += [0, UInt8(unit.count)] + unit
    }
    try dialogue.sendVideo([ByteBuffer(bytes: aggregate)], timestamp: 63_000)
    try dialogue.sendVideo(isKeyframe: false, timestamp: 66_000)
    try dialogue.advance(.seconds(10))
    #expect(dialogue.videoFrames.map(\.frame.isKeyframe) == [true, false])
    #expect(dialogue.keyframeRequestTimes.count == requests, "no other start is needed")
  }

  @Test func `transport-wide feedback reports each packet, every 50 to 100 ms`() throws {
    var dialogue = try Self.dialogue(path: .init(delay: .milliseconds(20)))
    try dialogue.publish(seconds: 10)
    let feedback = dialogue.feedback { if case .transportWide = $0 { true } else { false } }.compactMap {
      message -> RTCPTransportWideFeedback? in
      if case .transportWide(let feedback) = message { feedback } else { nil }
    }
    #expect(feedback.reduce(0) { $0 + $1.arrivals.count } == dialogue.transportWideSent)
    let times = dialogue.reports.compactMap { report -> Double? in
      guard case .feedback(let feedback) = report.packet, case .transportWide = feedback.message else { return nil }
      return report.time.seconds
    }
    let intervals = zip(times, times.dropFirst()).map { $1 - $0 }
    #expect(intervals.dropLast(2).allSatisfy { (0.0499...0.1051).contains($0) })
  }

  @Test func `reports have loss and jitter once a second, the limit of the bitrate, and measure the round trip`() throws
  {
    var dialogue = try Self.dialogue(path: .init(delay: .milliseconds(30)), maximumVideoBitrate: 2_000_000)
    try dialogue.publish(seconds: 5)
    let reports = dialogue.reports.compactMap { report -> RTCPReceiverReport? in
      guard case .receiverReport(let report) = report.packet, !report.reportBlocks.isEmpty else { return nil }
      return report
    }
    #expect((4...6).contains(reports.count))
    #expect(reports.allSatisfy { $0.reportBlocks.map(\.ssrc) == [11, 13] && $0.ssrc == PublisherDialogue.serverSSRC })
    #expect(reports.last?.reportBlocks.allSatisfy { $0.cumulativeLost == 0 && $0.lastSenderReport != 0 } == true)
    let limits = dialogue.feedback { if case .receiverEstimatedBitrate = $0 { true } else { false } }
    #expect(limits.count == reports.count)
    #expect(
      limits.allSatisfy { $0 == .receiverEstimatedBitrate(.init(bitrate: 2_000_000, ssrcs: [11])) })
    // The publisher answers a reference time after 5 ms.
    var references: [NTPTimestamp] = []
    for case .extendedReport(let report) in dialogue.reports.map(\.packet) {
      for case .receiverReferenceTime(let time) in report.blocks { references.append(time) }
    }
    let reference = try #require(references.last)
    #expect(dialogue.session.statistics.roundTrip == nil)
    try dialogue.send([
      .receiverReport(RTCPReceiverReport(ssrc: 11)),
      .extendedReport(
        RTCPExtendedReport(
          ssrc: 11,
          blocks: [
            .delaySinceLastReceiverReport([
              .init(ssrc: PublisherDialogue.serverSSRC, lastReceiverReport: reference.middle, delay: 0)
            ])
          ])),
    ])
    try dialogue.advance(.milliseconds(30))
    let roundTrip = try #require(dialogue.session.statistics.roundTrip)
    #expect(roundTrip > .milliseconds(59) && roundTrip < .seconds(2))
  }

  @Test func `other payload types, padding, retransmissions of nothing and garbage are dropped and counted`() throws {
    var dialogue = try Self.dialogue()
    try dialogue.publish(seconds: 0.2)
    let before = dialogue.frames.count
    let dropped = dialogue.session.droppedDatagramCount
    let video = try #require(dialogue.answer.video)
    func packet(_ payloadType: UInt8, ssrc: UInt32, number: UInt16, _ bytes: [UInt8]) -> RTPPacket {
      RTPPacket(
        header: RTPHeader(marker: true, payloadType: payloadType, sequenceNumber: number, timestamp: 0, ssrc: ssrc),
        payload: ByteBuffer(bytes: bytes))
    }
    // VP8 was not agreed on.
    try dialogue.send(packet(96, ssrc: 99, number: 900, [0x10, 0, 0, 0]))
    let retransmission = try #require(video.retransmissionPayloadType)
    try dialogue.send(packet(retransmission, ssrc: 12, number: 900, []))
    for number in UInt16(901)..<1000 {
      try dialogue.send(packet(retransmission, ssrc: 12, number: number, [UInt8(number & 0xFF), 7, 0x65, 1]))
    }
    dialogue.session.handle(
      ByteBuffer(bytes: [0x80, 96] + [UInt8](repeating: 3, count: 60)),
      from: try #require(TransportAddress("198.51.100.1", port: 4000)), at: dialogue.now)
    try dialogue.advance(.milliseconds(100))
    #expect(dialogue.frames.count == before && dialogue.session.statistics.packetsIgnored == 1)
    #expect(dialogue.session.droppedDatagramCount == dropped + 2)
    try dialogue.publish(seconds: 0.2, from: 0.2)
    #expect(dialogue.videoFrames.count == 12)
  }

  /// Chromium sends from a proved address before it nominates it; its first keyframe may be the only one.
  @Test func `media before the nomination is received, after the start of the session`() throws {
    var dialogue = try PublisherDialogue(offer: PublishOffers.offer("chromium"))
    // The proof of the address is too old for the handshake to select it.
    try dialogue.connect(nominates: false, after: .seconds(6))
    #expect(dialogue.events == ["valid"])
    try dialogue.publish(seconds: 0.1)
    #expect(dialogue.events == ["valid", "ready"])
    #expect(dialogue.videoFrames.map(\.frame.isKeyframe) == [true, false, false])
    guard case .h264(_?)? = dialogue.videoFrames.first?.frame.content else {
      Issue.record("no configuration")
      return
    }
    #expect(dialogue.reports.isEmpty)
    try dialogue.nominate()
    try dialogue.publish(seconds: 2, from: 0.5)
    #expect(dialogue.events == ["valid", "ready"])
    #expect(dialogue.videoFrames.count == 63 && dialogue.keyframeRequestTimes == [] && !dialogue.reports.isEmpty)
  }

  @Test func `media from an address without a check, or before the handshake, is dropped`() throws {
    var dialogue = try PublisherDialogue(offer: PublishOffers.offer("chromium"))
    try dialogue.sendAudio(timestamp: 0)
    try dialogue.advance(.milliseconds(1))
    #expect(dialogue.session.droppedDatagramCount == 1 && dialogue.frames.isEmpty)
  }

  @Test func `10 000 packets a second of one frame cost no more than their buffer`() throws {
    var dialogue = try Self.dialogue()
    for _ in 0..<10 {
      try dialogue.sendVideo(
        (0..<1000).map { _ in ByteBuffer(bytes: [0x7C, 0x05] + [UInt8](repeating: 0, count: 100)) }, timestamp: 0)
      try dialogue.advance(.milliseconds(100))
    }
    #expect(dialogue.videoFrames.isEmpty)
    try dialogue.sendVideo(isKeyframe: true, timestamp: 3000)
    try dialogue.advance(.milliseconds(10))
    #expect(dialogue.videoFrames.count == 1)
  }

  @Test func `timestamps that go back give times that do not`() throws {
    var dialogue = try Self.dialogue()
    for index in 0..<60 {
      try dialogue.sendVideo(isKeyframe: true, timestamp: UInt32(900_000 - index * 3000))
      try dialogue.advance(.milliseconds(33))
    }
    let frames = dialogue.videoFrames
    #expect(frames.count == 60)
    #expect(zip(frames, frames.dropFirst()).allSatisfy { $0.frame.presentationTime < $1.frame.presentationTime })
  }

  @Test func `a publisher that goes silent is closed when its consent expires, one that says goodbye at once`() throws {
    var silent = try Self.dialogue()
    try silent.publish(seconds: 1)
    silent.answersChecks = false
    try silent.advance(.seconds(60))
    #expect(silent.events.last == "closed: consentExpired" && silent.session.nextDeadline == nil)
    var closing = try Self.dialogue()
    closing.session.handle(
      ByteBuffer(bytes: [21, 0]), from: try #require(TransportAddress("198.51.100.1", port: 4000)), at: closing.now)
    try closing.advance(.milliseconds(1))
    #expect(closing.session.nextDeadline == nil)
  }

  @Test func `a keyframe that an output needs is asked for`() throws {
    var dialogue = try Self.dialogue()
    try dialogue.publish(seconds: 2)
    let before = dialogue.keyframeRequestTimes.count
    dialogue.session.requestKeyframe(at: dialogue.now)
    try dialogue.publish(seconds: 1, from: 2)
    #expect(dialogue.keyframeRequestTimes.count == before + 1)
    #expect(dialogue.videoFrames.count { $0.frame.isKeyframe } == 2)
  }
}
