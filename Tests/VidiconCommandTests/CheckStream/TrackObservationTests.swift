import Media
import NIOCore
import RTP
import Testing

@testable import VidiconCommand

@Suite("Observations of tracks", .timeLimit(.minutes(5)))
struct TrackObservationTests {
  private static let clients: Set<StreamClient> = [.players, .webRTC]

  /// The verdict on healthy video after a change.
  private static func video(_ change: (inout TrackObservation) -> Void) -> StreamVerdict {
    var track = StreamFixtures.video
    change(&track)
    return StreamVerdict(clients: [.players, .webRTC], findings: track.findings(clients: Self.clients))
  }

  private static func audio(_ change: (inout TrackObservation) -> Void) -> StreamVerdict {
    var track = StreamFixtures.audio
    change(&track)
    return StreamVerdict(clients: [.players, .webRTC], findings: track.findings(clients: Self.clients))
  }

  @Test func `video that is announced and does not arrive is a fault, and audio a warning`() {
    let video = Self.video { $0.firstPacket = nil }
    #expect(video.problems == ["fault video track: announced as H264, and nothing arrives within 8.0 s"])
    #expect(video.line(.players).hasPrefix("fault: does not play"))
    let audio = Self.audio { $0.firstPacket = nil }
    #expect(audio.problems == ["warning audio track: announced as AAC, and nothing arrives within 8.0 s"])
    #expect(audio.line(.players).hasPrefix("warning: plays late"))
    #expect(audio.remedies[0].contains("microphone"))
  }

  @Test func `a track whose first packet is late plays late`() {
    let verdict = Self.video { $0.firstPacket = 3.2 }
    #expect(verdict.problems == ["warning video track: its first packet comes after 3.2 s"])
    #expect(verdict.line(.players).hasPrefix("warning: plays late"))
  }

  @Test func `video without parameter sets is a fault, with the option that adds them`() {
    let verdict = Self.video { track in
      (track.parameterSets, track.keyframes, track.frameCount, track.hasIDRSlices) = (.missing, [], 0, true)
    }
    #expect(verdict.problems.count == 1 && verdict.problems[0].hasPrefix("fault parameter sets: neither announced"))
    #expect(verdict.remedies[0].contains("dump_extra"))
  }

  @Test func `B-frames and formats that browsers do not decode are warnings for them alone`() {
    let reordered = Self.video { $0.isReordered = true }
    #expect(reordered.problems.count == 1 && reordered.problems[0].hasPrefix("warning B-frames"))
    #expect(reordered.line(.players) == "ok: plays" && reordered.line(.webRTC).hasPrefix("warning: does not play"))
    let chroma = Self.video { $0.chromaFormat = 2 }
    #expect(chroma.problems.count == 1 && chroma.problems[0].contains("4:2:0") && chroma.line(.players) == "ok: plays")
    #expect(Self.video { $0.bitDepth = 10 }.line(.webRTC).hasPrefix("warning: does not play"))
  }

  @Test func `keyframes that are missing, late or rare are named with their distance`() {
    // As of x264, whose default is one in 250 frames; with parameter sets announced, or with the keyframes alone.
    for origin in [TrackObservation.ParameterSets.description, .missing] {
      let missing = Self.video { ($0.parameterSets, $0.keyframes, $0.frameCount) = (origin, [], 0) }
      #expect(missing.problems == ["warning keyframes: more than 8.0 s apart: a viewer waits for the next one"])
      #expect(missing.line(.players).hasPrefix("warning: plays late") && missing.line(.webRTC).contains("plays late"))
    }
    let late = Self.video { $0.keyframes = [3.4, 6.8] }
    #expect(late.problems == ["warning keyframes: the first one comes after 3.4 s"])
    let rare = Self.video { $0.keyframes = [0.1, 5.1] }
    #expect(rare.problems[0].hasPrefix("warning keyframes: 5.0 s apart"))
    let single = Self.video { $0.keyframes = [0.1] }
    #expect(single.problems[0].hasPrefix("warning keyframes: more than 7.9 s apart"))
    #expect(single.remedies[0].contains("2 s"))
  }

  @Test func `a short time without keyframes or packets is no problem, and video of few frames is slow`() {
    let short = Self.video { ($0.duration, $0.keyframes, $0.frameCount) = (3, [], 0) }
    #expect(short.problems == [])
    #expect(short.findings.contains { $0.finding.meaning == "not known: none in the 3.0 s of the check" })
    let silent = Self.video { ($0.duration, $0.firstPacket) = (3, nil) }
    #expect(silent.problems == [])
    #expect(silent.findings.contains { $0.finding.meaning.hasSuffix("received for 3.0 s only") })
    let slow = Self.video { ($0.keyframes, $0.frameCount) = ([0.05], 1) }
    #expect(slow.problems == ["warning frames: 1 in 8.0 s: the source is slow, or has stalled"])
  }

  @Test func `timestamps that jump or run at another pace are warnings`() {
    #expect(
      Self.video { $0.jumpCount = 2 }.problems == ["warning video timestamps: they jump by more than a second, 2 times"]
    )
    #expect(Self.audio { $0.clockRatio = 1.25 }.problems[0].contains("25% faster"))
    #expect(Self.video { $0.clockRatio = 0.5 }.problems[0].contains("50% slower"))
    #expect(Self.video { $0.clockRatio = nil }.problems == [])
  }

  @Test func `timestamps that stand still while frames arrive are a warning, and reports by them none`() {
    let verdict = Self.video { ($0.stillTime, $0.clockRatio, $0.senderReportError) = (8, nil, 2.5) }
    #expect(verdict.problems.count == 1 && verdict.problems[0].contains("they stand still for 8.0 s"), "\(verdict)")
    // The timestamps are the cause of both.
    let slow = Self.video { ($0.clockRatio, $0.senderReportError) = (0.5, 1.3) }
    #expect(slow.problems.count == 1 && slow.problems[0].contains("50% slower"), "\(slow)")
    #expect(Self.video { $0.stillTime = 0.9 }.problems == [])
  }

  @Test func `a timestamp stands still where frames repeat it, and not where packets of one frame share it`() {
    var meter = TimelineMeter()
    for index in 0..<100 { meter.append(media: 7, arrival: Double(index) / 25) }
    #expect(meter.stillTime == 3.96)
    // A large frame over a slow link: its first and last packet.
    var large = TimelineMeter()
    for second in 0..<8 {
      for part in [0, 0.9] { large.append(media: Double(second), arrival: Double(second) + part) }
    }
    #expect(large.stillTime == 0 && large.stallCount == 0)
  }

  @Test func `sender reports that disagree, and tracks that are apart by them, are warnings`() {
    #expect(Self.video { $0.senderReportError = 0.4 }.problems[0].contains("two clocks differ by 0.4 s"))
    var audio = StreamFixtures.audio
    #expect(TrackObservation.synchronization(of: [StreamFixtures.video, audio]) == nil)
    audio.reportedDelay = 1002.5
    let finding = TrackObservation.synchronization(of: [StreamFixtures.video, audio])?.finding
    #expect(finding?.meaning.contains("differ by 2.5 s") == true && finding?.verdict == .warning)
  }

  @Test func `loss and jitter of packets are warnings above what players even out`() {
    #expect(Self.video { $0.lostCount = 5 }.problems == [])
    // GStreamer's server leaves out so many of few packets, when a second viewer begins.
    #expect(Self.video { ($0.expectedCount, $0.lostCount) = (172, 2) }.problems == [])
    #expect(Self.video { ($0.expectedCount, $0.lostCount) = (172, 5) }.problems.count == 1)
    #expect(Self.video { $0.lostCount = 60 }.problems == ["warning video packets: 60 of 2000 are missing"])
    #expect(Self.video { $0.jitter = 0.25 }.problems[0].contains("a jitter of 250 ms"))
  }

  @Test(arguments: [1.0, 1.2, 0.7])
  func `the pace of timestamps is measured behind the burst of a start`(pace: Double) throws {
    var meter = TimelineMeter()
    // Three seconds of earlier frames come at once.
    for index in 0..<75 { meter.append(media: 100 + Double(index) / 25, arrival: 50 + Double(index) / 1000) }
    for index in 0..<200 {
      let time = Double(index) / 25
      // Frames arrive up to 30 ms late.
      meter.append(media: 103 + time * pace, arrival: 50.1 + time + Double(index % 4) / 100)
    }
    #expect(try abs(#require(meter.ratio) - pace) < 0.02 && meter.jumpCount == 0)
  }

  @Test func `a jump of timestamps is counted, and a short time has no pace`() {
    var meter = TimelineMeter()
    for index in 0..<100 {
      let time = Double(index) / 25
      meter.append(media: time + (index >= 75 ? 30 : 0), arrival: time)
    }
    #expect(meter.jumpCount == 1 && meter.stallCount == 0 && meter.ratio == nil)
    // Back to the start, as of a file that is played again.
    meter.append(media: 0, arrival: 4)
    #expect(meter.jumpCount == 2)
  }

  @Test func `an arrival that stalls is no jump of timestamps, whether its frames follow or are dropped`() {
    for keepsFrames in [true, false] {
      var meter = TimelineMeter()
      for index in 0..<200 {
        let time = Double(index) / 25
        // Between 4 and 6 seconds nothing arrives; all at once follows, or the first frame only.
        let isHeld = (100..<150).contains(index)
        if isHeld, !keepsFrames, index != 100 { continue }
        meter.append(media: time, arrival: isHeld ? 6 : time)
      }
      #expect(meter.jumpCount == 0 && meter.stallCount == 1, "\(keepsFrames)")
    }
    let verdict = Self.video { ($0.stallCount, $0.clockRatio) = (1, 0.8) }
    #expect(verdict.problems.count == 1 && verdict.problems[0].hasPrefix("warning video packets: none arrives"))
  }

  private static func header(_ number: UInt16, timestamp: UInt32) -> RTPHeader {
    RTPHeader(marker: true, payloadType: 96, sequenceNumber: number, timestamp: timestamp, ssrc: 7)
  }

  @Test func `packets are measured by number, timestamp and arrival`() {
    var meter = TrackMeter(kind: .video, codec: "H264", clockRate: 90_000, start: .zero)
    for index in 0..<100 where index != 50 {
      meter.handle(
        Self.header(UInt16(index), timestamp: UInt32(index * 3600)),
        at: MediaTime.zero + .milliseconds(40 + 40 * Int64(index)))
    }
    let facts = meter.observation(until: MediaTime.zero + .seconds(5))
    #expect(facts.firstPacket == 0.04 && facts.expectedCount == 100 && facts.lostCount == 1 && !facts.isReordered)
    #expect(facts.duration == 5 && facts.parameterSets == .missing && facts.senderReportCount == 0)
  }

  @Test func `jitter is that of packets behind the burst of a start`() throws {
    func jitter(lag: (Int) -> Int64) -> Double? {
      var meter = TrackMeter(kind: .video, codec: "H264", clockRate: 90_000, start: .zero)
      // A frame per second: eight earlier ones at once, then live ones.
      for index in 0..<100 {
        let arrival = MediaTime.zero + .milliseconds(max(0, Int64(index) - 8) * 1000 + (index > 8 ? lag(index) : 0))
        meter.handle(Self.header(UInt16(index), timestamp: UInt32(index * 90_000)), at: arrival)
      }
      return meter.observation(until: MediaTime.zero + .seconds(100)).jitter
    }
    #expect(try #require(jitter { _ in 0 }) < 0.001)
    #expect(try #require(jitter { Int64($0 % 2) * 400 }) > 0.3)
  }

  @Test func `timestamps out of order are B-frames, and steps of a clock are not`() {
    var meter = TrackMeter(kind: .video, codec: "H264", clockRate: 90_000, start: .zero)
    for (index, timestamp) in [0, 10_800, 3600, 7200].enumerated() {
      meter.handle(
        Self.header(UInt16(index), timestamp: UInt32(timestamp)), at: MediaTime.zero + .milliseconds(Int64(index) * 40))
    }
    #expect(meter.observation(until: .zero).isReordered)
    meter = TrackMeter(kind: .video, codec: "H264", clockRate: 90_000, start: .zero)
    for (index, timestamp) in [900_000, 903_600, 0, 3600].enumerated() {
      meter.handle(
        Self.header(UInt16(index), timestamp: UInt32(timestamp)), at: MediaTime.zero + .milliseconds(Int64(index) * 40))
    }
    #expect(!meter.observation(until: .zero).isReordered)
  }

  @Test func `frames in another order than they are displayed in have no jitter`() {
    func jitter(isReordered: Bool) -> Double? {
      var meter = TrackMeter(kind: .video, codec: "H264", clockRate: 90_000, start: .zero)
      for index in 0..<200 {
        // Each third frame comes before the two that it follows.
        let order = isReordered ? index + [2, -1, -1][index % 3] : index
        meter.handle(
          Self.header(UInt16(index), timestamp: UInt32(order * 3600)),
          at: MediaTime.zero + .milliseconds(Int64(index) * 40))
      }
      return meter.observation(until: MediaTime.zero + .seconds(8)).jitter
    }
    #expect(jitter(isReordered: true) == nil && jitter(isReordered: false) != nil)
  }

  @Test func `sender reports are compared with each other, and with the arrival of packets`() throws {
    func report(_ seconds: Int64, _ timestamp: UInt32) -> RTCPSenderReport {
      RTCPSenderReport(
        ssrc: 7, ntpTimestamp: NTPTimestamp(unixNanoseconds: 1_700_000_000_000_000_000 + seconds * 1_000_000_000),
        rtpTimestamp: timestamp, packetCount: 1, octetCount: 1)
    }
    var meter = TrackMeter(kind: .audio, codec: "AAC", clockRate: 1000, start: .zero)
    meter.handle(Self.header(0, timestamp: 1000), at: MediaTime.zero + .seconds(1))
    meter.handle(report(0, 1000))
    // Five seconds of the wall clock, and four and a half of the timestamps.
    meter.handle(report(5, 5500))
    let facts = meter.observation(until: MediaTime.zero + .seconds(6))
    #expect(facts.senderReportCount == 2)
    #expect(try abs(#require(facts.senderReportError) - 0.5) < 1e-3)
    #expect(facts.reportedDelay != nil)
  }

  @Test func `without RTP, samples have the timestamps, and B-frames are seen by them`() {
    var meter = TrackMeter(kind: .video, codec: "H.264", clockRate: nil, start: .zero)
    for (index, presentation) in [0, 120, 40, 80].enumerated() {
      let sample = EncodedSample(
        kind: .video, payload: ByteBuffer(), presentationTime: MediaTime.zero + .milliseconds(Int64(presentation)),
        decodeTime: MediaTime.zero + .milliseconds(Int64(index) * 40), duration: .zero, isKeyframe: index == 0)
      meter.handle(sample, at: MediaTime.zero + .milliseconds(Int64(index) * 40 + 500))
    }
    let facts = meter.observation(until: MediaTime.zero + .seconds(1))
    #expect(facts.isReordered && facts.keyframes == [0.5] && facts.frameCount == 4)
    #expect(facts.senderReportCount == nil && facts.expectedCount == 0)
  }
}
