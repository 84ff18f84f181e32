import Media
import RTP
import TestSupport
import Testing
import WebRTC

@Suite("WebRTC reception: the clock of a publisher")
struct PublisherClockTests {
  /// A publisher in virtual time: a wall clock, a sound card and a camera that drift, and a path with jitter.
  struct Publisher {
    /// Parts of a million by which the publisher's wall clock, and its sound card against that, are fast.
    var wallDrift = 0.0
    var audioDrift = 0.0
    /// Seconds that compression takes.
    var audioDelay = 0.02
    var videoDelay = 0.06
    var reportInterval: Double? = 1
    /// Maximum further delay of a packet in seconds.
    var jitter = 0.03
    /// Delay of one direction, from a time in seconds on.
    var delays: [(from: Double, delay: Double)] = [(0, 0.025)]
    /// Seconds by which the wall clock is set, from a time on.
    var wallStep = (seconds: 0.0, from: Double.infinity)

    static let audioOffset: UInt32 = 0xFFFF_0000
    static let videoOffset: UInt32 = 0x7000_0000

    func wall(_ time: Double) -> Double {
      1_700_000_000 + time * (1 + self.wallDrift / 1e6) + (time >= self.wallStep.from ? self.wallStep.seconds : 0)
    }

    func ticks(_ track: Int, _ time: Double) -> UInt32 {
      let drift = track == 0 ? self.wallDrift : self.wallDrift + self.audioDrift
      let rate = track == 0 ? 90_000.0 : 48_000.0
      let ticks = UInt64(time * (1 + drift / 1e6) * rate)
      return (track == 0 ? Self.videoOffset : Self.audioOffset) &+ UInt32(truncatingIfNeeded: ticks)
    }
  }

  /// Mapped times of a run.
  struct Result {
    /// Capture time and mapped time, in seconds, by track.
    var mapped: [[(capture: Double, mapped: Double)]] = [[], []]

    /// Mapped minus capture time of a track at a capture time.
    func offset(_ track: Int, at capture: Double) -> Double {
      let index = min(Int((capture * (track == 0 ? 30 : 50)).rounded(.up)), self.mapped[track].count - 1)
      return self.mapped[track][index].mapped - self.mapped[track][index].capture
    }

    /// Maximum distance of audio from video in a range of capture times.
    func maximumSkew(_ range: ClosedRange<Double>) -> Double {
      self.mapped[0].filter { range.contains($0.capture) }.map {
        abs(($0.mapped - $0.capture) - self.offset(1, at: $0.capture))
      }.max() ?? .infinity
    }

    var isMonotonic: Bool {
      self.mapped.allSatisfy { zip($0, $0.dropFirst()).allSatisfy { $0.mapped < $1.mapped } }
    }
  }

  private enum Event {
    case frame(track: Int, capture: Double)
    case report(track: Int, time: Double)
  }

  private static func run(_ publisher: Publisher, seconds: Double, seed: UInt64) -> Result {
    var numbers = SplitMix(seed: seed)
    var clock = PublisherClock()
    var unwrappers = [RTPTimestampUnwrapper(), RTPTimestampUnwrapper()]
    var result = Result()
    var events: [(time: Double, event: Event)] = []
    for track in 0...1 {
      var last = 0.0
      func arrival(_ sent: Double) -> Double {
        let delay = publisher.delays.last { $0.from <= sent }!.delay
        last = max(last, sent + delay + Double.random(in: 0...publisher.jitter, using: &numbers))
        return last
      }
      let interval = track == 0 ? 1.0 / 30 : 0.02
      for index in 0..<Int(seconds / interval) {
        let capture = Double(index) * interval
        let sent = capture + (track == 0 ? publisher.videoDelay : publisher.audioDelay)
        events.append((arrival(sent), .frame(track: track, capture: capture)))
      }
      if let reportInterval = publisher.reportInterval {
        for index in 0..<Int(seconds / reportInterval) {
          let time = (Double(index) + 0.3 + 0.4 * Double(track)) * reportInterval
          events.append((time + 0.1, .report(track: track, time: time)))
        }
      }
    }
    events.sort { $0.time < $1.time }
    for (time, event) in events {
      let now = MediaTime(nanoseconds: Int64(time * 1e9))
      switch event {
      case .frame(let track, let capture):
        let ticks = unwrappers[track].unwrap(publisher.ticks(track, capture))
        let rate: Int32 = track == 0 ? 90_000 : 48_000
        clock.handleArrival(ticks: ticks, track: track, clockRate: rate, arrival: now)
        let mapped = clock.time(of: ticks, track: track, clockRate: rate, at: now)
        result.mapped[track].append((capture, mapped.seconds))
      case .report(let track, let sent):
        let report = RTCPSenderReport(
          ssrc: 1, ntpTimestamp: NTPTimestamp(unixNanoseconds: Int64(publisher.wall(sent) * 1e9)),
          rtpTimestamp: publisher.ticks(track, sent), packetCount: 0, octetCount: 0)
        clock.handle(
          report, ticks: unwrappers[track].unwrap(report.rtpTimestamp), track: track,
          clockRate: track == 0 ? 90_000 : 48_000, at: now)
      }
    }
    return result
  }

  /// Drift of the publisher's wall clock and of its sound card, in parts of a million.
  @Test(arguments: [(0, 0), (50, -50), (-100, 100), (200, 200)] as [(Double, Double)], [1, 2] as [UInt64])
  func `audio and video stay within 40 ms, and drift does not accumulate, with sender reports`(
    drift: (wall: Double, audio: Double), seed: UInt64
  ) {
    let publisher = Publisher(wallDrift: drift.wall, audioDrift: drift.audio)
    let result = Self.run(publisher, seconds: 120, seed: seed)
    #expect(result.isMonotonic)
    #expect(result.maximumSkew(3...120) <= 0.005)
    #expect(result.maximumSkew(0...120) <= 0.08)
    let early = result.offset(0, at: 20)
    #expect([40, 80, 115].allSatisfy { abs(result.offset(0, at: $0) - early) <= 0.005 })
    // The mapped time is near the arrival: after capture, and before the path's maximum delay.
    #expect((0.02...0.12).contains(early))
  }

  @Test(arguments: [(0, 0), (50, -50), (-100, 100)] as [(Double, Double)])
  func `without sender reports the tracks stay as far apart as their encoders are`(
    drift: (wall: Double, audio: Double)
  ) {
    let publisher = Publisher(wallDrift: drift.wall, audioDrift: drift.audio, reportInterval: nil)
    let result = Self.run(publisher, seconds: 120, seed: 7)
    #expect(result.isMonotonic)
    #expect(result.maximumSkew(3...120) <= 0.04 + 0.005)
    #expect(abs(result.offset(1, at: 115) - result.offset(1, at: 20)) <= 0.005)
  }

  @Test func `reports every five seconds correct a late encoder, and nothing jumps`() {
    let publisher = Publisher(audioDrift: 100, audioDelay: 0.3, reportInterval: 5)
    let result = Self.run(publisher, seconds: 60, seed: 3)
    #expect(result.isMonotonic)
    // 240 ms are corrected by a tenth of the time after the reports at 1.5 s and 3.5 s.
    #expect(result.maximumSkew(8...60) <= 0.005)
  }

  @Test func `a route that becomes longer or shorter keeps the tracks together`() {
    let publisher = Publisher(delays: [(0, 0.025), (20, 0.15), (60, 0.025)])
    let result = Self.run(publisher, seconds: 100, seed: 4)
    #expect(result.isMonotonic && result.maximumSkew(3...100) <= 0.02)
    #expect(abs(result.offset(0, at: 55) - result.offset(0, at: 15) - 0.125) <= 0.01)
    #expect(abs(result.offset(0, at: 95) - result.offset(0, at: 15)) <= 0.01)
  }

  @Test(arguments: [-3600, 5, 86_400] as [Double])
  func `a wall clock that is set moves neither track`(seconds: Double) {
    var publisher = Publisher()
    publisher.wallStep = (seconds, 20)
    let result = Self.run(publisher, seconds: 60, seed: 5)
    #expect(result.isMonotonic && result.maximumSkew(3...20) <= 0.005)
    #expect(result.maximumSkew(20...60) <= 0.04 && result.maximumSkew(30...60) <= 0.005)
    #expect(abs(result.offset(0, at: 55) - result.offset(0, at: 15)) <= 0.01)
  }

  @Test func `timestamps that jump begin a new timeline at their arrival`() {
    var clock = PublisherClock()
    for (ticks, milliseconds) in [(0, 0), (3000, 33), (90_000_000, 66), (90_003_000, 100), (0, 133)] as [(Int64, Int64)]
    {
      let now = MediaTime.zero + .milliseconds(milliseconds)
      clock.handleArrival(ticks: ticks, track: 0, clockRate: 90_000, arrival: now)
      let distance = clock.time(of: ticks, track: 0, clockRate: 90_000, at: now) - now
      #expect((-2...2).contains(distance.nanoseconds / 1_000_000), "\(ticks)")
    }
  }

  @Test func `a report without a time, or of another world, changes nothing`() {
    var clock = PublisherClock()
    func map(_ index: Int64) -> MediaTime {
      let now = MediaTime.zero + .milliseconds(index * 20)
      clock.handleArrival(ticks: index * 960, track: 1, clockRate: 48_000, arrival: now)
      return clock.time(of: index * 960, track: 1, clockRate: 48_000, at: now)
    }
    for index: Int64 in 0..<50 { #expect(map(index) == .zero + .milliseconds(index * 20)) }
    for raw: UInt64 in [0, 1, .max] {
      clock.handle(
        RTCPSenderReport(
          ssrc: 1, ntpTimestamp: NTPTimestamp(rawValue: raw), rtpTimestamp: 0, packetCount: 0, octetCount: 0),
        ticks: .max, track: 1, clockRate: 48_000, at: .zero + .seconds(1))
    }
    for index: Int64 in 50..<100 { #expect(map(index) == .zero + .milliseconds(index * 20)) }
  }
}
