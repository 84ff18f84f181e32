import Media
import TestSupport
import Testing

@testable import MediaInput

@Suite("Drift of a camera's video against its audio")
struct TrackDriftTests {
  private static let start: Int64 = 1_000_000_000_000

  /// A camera of 25 frames and as many packets of audio a second, which arrive up to 40 ms late.
  private struct Camera {
    /// Deviation of the video clock, in millionths, likewise of the audio clock.
    var video: Int64 = 0
    var audio: Int64 = 0
    /// Time by which the video arrives before the audio of its time, in milliseconds.
    var offset: Int64 = 0
    var seconds: Int64 = 7_200
    /// Seconds of a pause of the video.
    var pause: Range<Int64> = 0..<0
    /// Latency of the video besides, in milliseconds, at a second.
    var latency: (Int64) -> Int64 = { _ in 0 }
    /// Second of the first report.
    var report: Int64?

    /// Result of playing.
    struct Played: Equatable {
      /// Maximum of the distance of video and audio, in nanoseconds.
      var distance: Int64 = 0
      /// Likewise of a change of the shift between two frames.
      var step: Int64 = 0
      /// Likewise of the shift.
      var shift: Int64 = 0
      /// The last shift.
      var last: Int64 = 0
    }

    func play() -> Played {
      var drift = TrackDrift()
      var generator = SplitMix(seed: 2)
      var played = Played()
      func arrival(_ time: Int64) -> MediaTime {
        MediaTime(nanoseconds: TrackDriftTests.start + time + Int64.random(in: 0...40_000_000, using: &generator))
      }
      for frame in 0..<self.seconds * 25 {
        let time = frame * 40_000_000
        let second = time / 1_000_000_000
        let heard = time + time / 1_000_000 * self.audio
        if let report, second >= report { drift.end() }
        let unmoved = drift.shift(of: .audio, at: heard, arrival: arrival(time + self.offset * 1_000_000))
        played.distance = max(played.distance, abs(unmoved) * 1_000)
        guard !self.pause.contains(second) else { continue }
        let shown = time + time / 1_000_000 * self.video
        let shift = drift.shift(of: .video, at: shown, arrival: arrival(time + self.latency(second) * 1_000_000))
        played.distance = max(played.distance, abs(shown + shift - heard))
        played.step = max(played.step, abs(shift - played.last))
        played.shift = max(played.shift, abs(shift))
        played.last = shift
      }
      return played
    }
  }

  @Test(arguments: [(200, 0), (-200, 0), (0, 200), (100, -100)] as [(Int64, Int64)])
  func `video stays within 40 ms of the audio for two hours, without steps`(video: Int64, audio: Int64) {
    let played = Camera(video: video, audio: audio).play()
    // 1.44 s without a correction.
    #expect(played.distance < 40_000_000 && played.shift > 1_400_000_000, "\(played)")
    // 10 ms in 5 s, of frames that arrive up to 40 ms late.
    #expect(played.step <= 160_000, "\(played)")
  }

  @Test(arguments: [-1_000, 1_000] as [Int64])
  func `a drift of a thousandth is followed within 0.2 s`(video: Int64) {
    let played = Camera(video: video).play()
    #expect(played.distance < 200_000_000 && played.shift > 7_000_000_000 && played.step <= 160_000, "\(played)")
  }

  @Test func `clocks that drift alike are left alone`() {
    #expect(Camera(video: 200, audio: 200, seconds: 3_600).play() == Camera.Played())
  }

  @Test(arguments: [0, -300, 300] as [Int64])
  func `without drift nothing moves, whatever arrives first`(offset: Int64) {
    #expect(Camera(offset: offset, seconds: 1_800).play() == Camera.Played())
    let played = Camera(video: 200, offset: offset, seconds: 1_800).play()
    #expect(played.distance < 40_000_000, "\(played)")
  }

  /// Motion in ten minutes of twenty, which delays video by 70 ms: at once, or more and more in some seconds.
  @Test(arguments: [1, 20, 60, 120] as [Int64])
  func `latency that changes, and back again, is no drift`(rise: Int64) {
    var camera = Camera()
    camera.latency = { second in min(70, max(0, (second % 1_200 - 600) * 70 / rise)) }
    let still = camera.play()
    #expect(still.shift == 0, "\(still)")
    (camera.video, camera.seconds) = (200, 7_200)
    let drifting = camera.play()
    #expect(drifting.distance < 80_000_000, "\(drifting)")
  }

  @Test func `latency that stays is no drift`() {
    let played = Camera(seconds: 3_600, latency: { $0 > 600 ? 70 : 0 }).play()
    #expect(played.shift == 0, "\(played)")
  }

  @Test func `a pause of the video is no drift, and what has drifted meanwhile is followed`() {
    #expect(Camera(seconds: 1_800, pause: 600..<900).play() == Camera.Played())
    let played = Camera(video: 50, seconds: 3_600, pause: 600..<700).play()
    #expect(played.distance < 40_000_000, "\(played)")
  }

  @Test func `no pause of the video makes a step of more than 10 ms`() {
    // Of 20 ms that are due after each span, some are left when the pause begins.
    let steps = [600, 604, 608, 612, 616].map { (start: Int64) in
      Camera(video: 1_000, seconds: 720, pause: start..<start + 60).play().step
    }
    #expect(steps.max() == 10_000_000, "\(steps)")
  }

  @Test func `after a late report, the shift fades without a step`() {
    let played = Camera(video: 200, seconds: 3_600, report: 1_800).play()
    #expect(played.shift > 300_000_000 && played.step <= 160_000, "\(played)")
    #expect(played.last == 0, "\(played)")
  }

  @Test func `a clock that jumps is no drift`() {
    var drift = TrackDrift()
    for frame in 0..<Int64(15_000) {
      let time = frame * 40_000_000
      let arrival = MediaTime(nanoseconds: Self.start + time)
      #expect(drift.shift(of: .audio, at: time, arrival: arrival) == 0)
      // An hour, between two spans.
      let jumped = frame < 7_500 ? time : time - 3_600_000_000_000
      #expect(drift.shift(of: .video, at: jumped, arrival: arrival) == 0)
    }
  }

  @Test func `damaged times do not trap, and move nothing`() {
    var drift = TrackDrift()
    let limit: Int64 = 1 << 60
    let times: [Int64] = [.min, .max, limit, -limit, 0, limit, -limit, 7, .max, .min]
    for index in 0..<Int64(200) {
      let arrival = MediaTime(nanoseconds: Self.start + index * 21_000_000_000)
      _ = drift.shift(of: .audio, at: 0, arrival: arrival)
      let shift = drift.shift(of: .video, at: times[Int(index) % times.count], arrival: arrival)
      #expect(shift == 0)
    }
  }
}
