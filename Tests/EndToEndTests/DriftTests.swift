import FakeCamera
import Foundation
import Testing

extension EndToEnd {
  @Suite("Drift of a microphone's clock")
  struct Drift {
    /// Seconds of the run, in which the clock's deviation changes as it does in the course of a day; 36 without the
    /// environment variable.
    private static let seconds =
      ProcessInfo.processInfo.environment["VIDICON_DRIFT_SECONDS"].flatMap { Int($0) } ?? 36
    private static let size = (width: 320, height: 240)

    /// A camera that shows the time of its clock in each frame, and a microphone that beeps at each second of that clock. The
    /// microphone's own clock is 1000 to 1600 millionths fast, ten times as much as real ones, and its reports jitter by 2 ms.
    private static func environment() throws -> [String: String] {
      var environment = try FakeCamera.environment(["formats=YUYV 320x240 30;shown=time"])
      let program = URL(fileURLWithPath: try FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/exe"))
      environment["ALSA_CONFIG_PATH"] =
        TestMedia.checkout.appendingPathComponent("Tests/ALSATestDevice/asound.conf").path
      environment["VIDICON_TEST_ALSA_PLUGIN"] =
        program.deletingLastPathComponent().appendingPathComponent("lib_ALSATestDevice.so").path
      return environment
    }

    @Test(.tags(.timing))
    func `flash and beep stay together while the microphone's clock drifts as in the course of a day`() async throws {
      let microphone = "mic:tested:PPM=1300,SWING=300,CYCLE=\(Self.seconds),JITTER=2000,BEEP=1"
      let options = ["--source", "v4l2:/dev/video0", "--audio", microphone]
      try await VidiconProcess.serving(
        options + ["--size", "\(Self.size.width)x\(Self.size.height)", "--fps", "30"], environment: Self.environment()
      ) { vidicon in
        try await TestMedia.withTemporaryFolder { folder in
          let copy = "\(folder)/copy.nut"
          let recording = try await Tool.run(
            "ffmpeg",
            FFmpeg.quiet + FFmpeg.overTCP + ["-i", vidicon.url(), "-t", "\(Self.seconds)"]
              + FFmpeg.copy(to: copy, from: vidicon.url()), within: .seconds(Self.seconds + 20))
          try #require(recording.succeeded, "\(recording.errors)")
          let clock = try await Self.clock(in: copy)
          let beeps = try await Self.beeps(in: copy)
          try #require(beeps.count >= Self.seconds - 3, "\(beeps.count) beeps")
          // The time of the stream at zero of the camera's clock, by each frame: the median.
          let zero = clock.map { $0.shown - $0.seen }.sorted()[clock.count / 2]
          let spread = clock.map { abs($0.shown - $0.seen - zero) }.max() ?? 1
          let offsets = beeps.map { beep in
            let time = beep + zero
            return time - time.rounded()
          }
          let milliseconds = offsets.map { ($0 * 10_000).rounded() / 10 }
          let extremes = try (#require(milliseconds.min()), #require(milliseconds.max()))
          print(
            "drift: \(beeps.count) beeps in \(Self.seconds) s, offset from the camera's clock \(extremes.0) to \(extremes.1) ms,",
            "frames within \(Int(spread * 1000)) ms")
          // The millisecond that is shown, and a tick of RTP.
          report("spread, s", spread, limit: 0.004)
          #expect(spread < 0.004)
          #expect(milliseconds.allSatisfy { abs($0) < 15 }, "\(milliseconds)")
          // Uncorrected it drifts by 47 ms.
          #expect(extremes.1 - extremes.0 < 15, "\(milliseconds)")
          // Counted samples: no step between two beeps.
          let steps = zip(beeps, beeps.dropFirst()).map { abs($1 - $0 - 1) }
          #expect(steps.allSatisfy { $0 < 0.005 }, "\(steps)")
        }
      }
    }

    /// Times of the frames, and the camera's clock that they show, in seconds from the first on.
    private static func clock(in file: String) async throws -> [(seen: Double, shown: Double)] {
      let square = Self.size.width / 16
      let run = try await Tool.run(
        "ffmpeg",
        FFmpeg.quiet + ["-i", file, "-vf", "crop=iw:\(square):0:0,format=gray"]
          + FFmpeg.rawVideo + ["pipe:1"], within: .seconds(60))
      let strips = LumaFrames(width: Self.size.width, height: square, bytes: run.output)
      let times = try await FFmpeg.times(ofVideoIn: file)
      try #require(strips.count == times.count)
      var wraps = 0.0
      var last = 0
      return (0..<strips.count).map { index in
        let rows = strips[index]
        let middle = rows.startIndex + square / 2 * Self.size.width + square / 2
        let shown = (0..<16).reduce(0) { $0 << 1 | (rows[middle + $1 * square] > 125 ? 1 : 0) }
        if shown < last { wraps += 60 }
        last = shown
        return (times[index], Double(shown) / 1000 + wraps)
      }
    }

    /// Presentation times of the starts of beeps, in seconds.
    private static func beeps(in file: String) async throws -> [Double] {
      let run = try await Tool.run(
        "ffmpeg", FFmpeg.quiet + ["-i", file, "-vn", "-ac", "1", "-ar", "48000", "-f", "s16le", "pipe:1"],
        within: .seconds(60))
      let start = try #require(try await FFmpeg.times(file, selecting: "a:0").first)
      return DecodedAudio(sampleRate: 48_000, littleEndian: run.output).onsets().map { $0 + start }
    }
  }
}
