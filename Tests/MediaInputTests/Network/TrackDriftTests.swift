import Media
import TestSupport
import Testing

@testable import MediaInput

@Suite("Drift of a camera's video against its audio")
struct TrackDriftTests {
  private static let start: Int64 = 1_000_000_000_000

  /// Plays a camera for some time: 25 frames and 31 packets of audio a second, which arrive up to 40 ms late.
  ///
  /// - Parameters:
  ///   - video: Deviation of the video clock, in millionths, likewise of the audio clock.
  ///   - offset: Time by which the video arrives before the audio of its time, in milliseconds.
  ///   - pause: Seconds of a pause of the video.
  /// - Returns: Maximum of the distance of video and audio, and of a change between two frames, in nanoseconds.
  private static func play(
    video: Int64, audio: Int64, offset: Int64 = 0, seconds: Int64 = 7_200, pause: Range<Int64> = 0..<0
  ) -> (distance: Int64, step: Int64) {
    var drift = TrackDrift()
    var generator = SplitMix(seed: 2)
    var (distance, step, last): (Int64, Int64, Int64) = (0, 0, 0)
    func arrival(_ time: Int64) -> MediaTime {
      MediaTime(nanoseconds: Self.start + time + Int64.random(in: 0...40_000_000, using: &generator))
    }
    for frame in 0..<seconds * 25 {
      let time = frame * 40_000_000
      let heard = time + time / 1_000_000 * audio
      let unmoved = drift.shift(of: .audio, at: heard, arrival: arrival(time + offset * 1_000_000))
      distance = max(distance, abs(unmoved) * 1_000)
      guard !pause.contains(time / 1_000_000_000) else { continue }
      let shown = time + time / 1_000_000 * video
      let shift = drift.shift(of: .video, at: shown, arrival: arrival(time))
      distance = max(distance, abs(shown + shift - heard))
      step = max(step, abs(shift - last))
      last = shift
    }
    return (distance, step)
  }

  @Test(arguments: [(200, 0), (-200, 0), (0, 200), (100, -100), (200, 200)] as [(Int64, Int64)])
  func `video stays within 40 ms of the audio for two hours, without steps`(video: Int64, audio: Int64) {
    let (distance, step) = Self.play(video: video, audio: audio)
    // 1.44 s without a correction.
    #expect(distance < 40_000_000, "\(distance) ns")
    #expect(step < 1_000_000, "\(step) ns")
  }

  @Test(arguments: [0, -300, 300] as [Int64]) func `without drift nothing moves, whatever arrives first`(offset: Int64)
  {
    #expect(Self.play(video: 0, audio: 0, offset: offset, seconds: 1_800) == (0, 0))
    #expect(Self.play(video: 200, audio: 0, offset: offset, seconds: 1_800).distance < 40_000_000)
  }

  @Test func `a pause of the video is no drift, and what has drifted meanwhile is followed`() {
    #expect(Self.play(video: 0, audio: 0, seconds: 1_800, pause: 600..<900) == (0, 0))
    let (distance, step) = Self.play(video: 50, audio: 0, seconds: 3_600, pause: 600..<700)
    #expect(distance < 40_000_000 && step < 11_000_000, "\(distance) ns, \(step) ns")
  }

  @Test func `a clock that jumps is measured again`() {
    var drift = TrackDrift()
    for frame in 0..<Int64(3_000) {
      let time = frame * 40_000_000
      let arrival = MediaTime(nanoseconds: Self.start + time)
      #expect(drift.shift(of: .audio, at: time, arrival: arrival) == 0)
      // An hour, between two spans.
      let jumped = frame < 1_500 ? time : time - 3_600_000_000_000
      #expect(drift.shift(of: .video, at: jumped, arrival: arrival) == 0)
    }
  }

  @Test func `damaged times do not trap`() {
    var drift = TrackDrift()
    let limit: Int64 = 1 << 60
    for (index, time) in [limit, -limit, 0, limit, -limit, 7].enumerated() {
      let arrival = MediaTime(nanoseconds: Self.start + Int64(index) * 6_000_000_000)
      _ = drift.shift(of: .audio, at: 0, arrival: arrival)
      _ = drift.shift(of: .video, at: time, arrival: arrival)
    }
    #expect(drift.shift(of: .audio, at: 0, arrival: MediaTime(nanoseconds: Self.start)) == 0)
  }
}
