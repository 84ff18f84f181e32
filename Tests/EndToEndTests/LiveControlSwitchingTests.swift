import FakeCamera
import Foundation
import HLSRules
import Testing

extension EndToEnd.LiveControl {
  /// Duration of the switching test in seconds; 30 without the environment variable, which `Benchmarks/run soak` sets.
  private static let seconds =
    ProcessInfo.processInfo.environment["VIDICON_SWITCHING_SECONDS"].flatMap { Int($0) } ?? 30

  // The limit includes the wait for the tests before it, of more than an hour.
  @Test(.tags(.timing), .timeLimit(.minutes(180)))
  func `a switch each second, for half a minute or longer, causes no error`() async throws {
    let seconds = Self.seconds
    try await Self.withSources { sources, environment in
      let options = Self.bars + ["--files", FileManager.default.temporaryDirectory.path]
      try await VidiconProcess.serving(options, environment: environment) { vidicon in
        let switching = Task { try await Self.switchEachSecond(among: sources, for: seconds, on: vidicon) }
        async let overRTSP = SwitchWatch.watch(vidicon.url(), seconds: seconds, options: FFmpeg.overTCP)
        async let overHLS = SwitchWatch.watch(vidicon.page("/live/live.m3u8"), seconds: seconds)
        let port = vidicon.httpPort
        async let arriving = ArrivalWatch.watch(vidicon.url(), seconds: seconds)
        async let parts = waiting { try LowLatencyViewer.watch("live", port: port, seconds: Double(seconds)) }
        let watches = try await [overRTSP, overHLS]
        let switches = try await switching.value
        let arrivals = try await arriving
        #expect(arrivals.run.succeeded, "\(arrivals.run.errors)")
        // As in the check of the timestamps; this viewer says which switch was before each step.
        for line in arrivals.steps(over: 1.0 / 30 + 0.04, switches: switches.map(\.times)) { print("soak: \(line)") }
        for watch in watches { watch.expectCutsOnly() }
        let lowLatency = try await parts
        #expect(lowLatency.checker.violations == [])
        #expect(lowLatency.problems == [])
        #expect(lowLatency.partsMeasured > seconds * 4)
        // Connecting to network sources takes a second or two.
        #expect(switches.count > seconds / 2)
        for switched in switches {
          let source = switched.times.source
          #expect(switched.answer.status == 200, "\(source): \(switched.answer.text)")
          #expect(try switched.answer.json(State.self).source.video == source)
        }
        let memory = try vidicon.residentMemory()
        let steps = watches.map { watch in
          let step = zip(watch.frames, watch.frames.dropFirst()).map { $1 - $0 }.max() ?? 0
          return "\(Int((step * 1000).rounded())) ms"
        }
        print(
          "soak: \(seconds) s, \(switches.count) switches, \(watches.map(\.frames.count)) frames, maximum step \(steps),",
          "\(lowLatency.partsMeasured) parts, \(memory >> 20) MB")
        #expect(memory < 250 << 20)
      }
    }
  }

  @Test func `a source that was passed through is left for good at the first switch away from it`() async throws {
    try await TestMedia.withTemporaryFolder { folder in
      let film = "\(folder)/camera.h264"
      let encoded = try await Tool.run(
        "ffmpeg",
        FFmpeg.quiet + ["-f", "lavfi", "-i", "testsrc2=s=320x180:r=30", "-frames:v", "300", "-c:v", "libx264"]
          + ["-preset", "ultrafast", "-g", "15", "-bf", "0", "-pix_fmt", "yuv420p"]
          + ["-bsf:v", "h264_metadata=aud=insert", "-f", "h264", film], within: .seconds(30))
      try #require(encoded.succeeded, "\(encoded.errors)")
      let environment = try FakeCamera.environment(["formats=H264 320x180 30;file=\(film)"])
      let options = ["--source", "v4l2:/dev/video0", "--audio", "tone", "--size", "320x180", "--fps", "30"]
      try await VidiconProcess.serving(options, environment: environment) { vidicon in
        async let viewer = SwitchWatch.watch(vidicon.url(), seconds: 10, options: FFmpeg.overTCP)
        _ = try await vidicon.status { $0.viewers == 1 && ($0.bytesSent ?? 0) > 0 }
        for source in ["bars", "v4l2:/dev/video0", "bars"] {
          try await Self.waitForASecond(vidicon)
          let answer = try await Self.send(
            "PUT", #"{"video":"\#(source)"}"#, to: vidicon.page("/api/streams/live/source"))
          #expect(answer.status == 200, "\(source): \(answer.text)")
        }
        let watch = try await viewer
        try #require(watch.run.succeeded, "\(watch.run.errors)")
        #expect(watch.frames.count > 100)
        // From the camera's parameter sets to the encoder's, which do not change.
        #expect(watch.parameterSetChanges == 1, "\(watch.parameterSets)")
        #expect(watch.parameterSets.count <= 4, "\(watch.parameterSets)")
      }
    }
  }

  /// Provides sources of all kinds: generators, cameras of frames and of H.264, a screen with a playing video, a file, and
  /// another server by RTSP and HLS; and microphones.
  private static func withSources(
    _ body: (_ sources: [String], _ environment: [String: String]) async throws -> Void
  ) async throws {
    let origin = ["--source", "plasma", "--audio", "tone", "--size", "320x180"]
    try await VidiconProcess.serving(origin) { origin in
      let network = [origin.url(), origin.page("/live/playlist.m3u8")]
      try await Self.withLocalSources { try await body($0 + network, $1) }
    }
  }

  private static func withLocalSources(
    _ body: (_ sources: [String], _ environment: [String: String]) async throws -> Void
  ) async throws {
    try await TestMedia.withTemporaryFolder { folder in
      let film = "\(folder)/film.mp4"
      let made = try await Tool.run(
        "ffmpeg",
        FFmpeg.quiet + ["-f", "lavfi", "-i", "testsrc2=s=320x180:r=30", "-t", "5", "-pix_fmt", "yuv420p", film],
        within: .seconds(30))
      try #require(made.succeeded, "\(made.errors)")
      let camera = "\(folder)/camera.h264"
      let encoded = try await Tool.run(
        "ffmpeg",
        FFmpeg.quiet + ["-f", "lavfi", "-i", "testsrc2=s=320x180:r=30", "-frames:v", "300", "-c:v", "libx264"]
          + ["-preset", "ultrafast", "-g", "60", "-bf", "0", "-pix_fmt", "yuv420p"]
          + ["-bsf:v", "h264_metadata=aud=insert", "-f", "h264", camera], within: .seconds(30))
      try #require(encoded.succeeded, "\(encoded.errors)")
      let configuration = "\(folder)/asound.conf"
      try Data("pcm.microphone { type null }\n".utf8).write(to: URL(fileURLWithPath: configuration))
      var environment = try FakeCamera.environment([
        "formats=YUYV 320x240 30", "formats=H264 320x180 30;file=\(camera)", "formats=YUYV 320x180 30;late=300",
      ])
      environment["ALSA_CONFIG_PATH"] = configuration
      try await XDisplay.showing("320x180") { display in
        try await display.playing("testsrc2=s=320x180:r=60") {
          try await body(
            [
              "plasma", "v4l2:/dev/video0", "noise", "screen:\(display.name)", "v4l2:/dev/video2", "bars",
              "file:\(film)",
              "v4l2:/dev/video1",
            ], environment)
        }
      }
    }
  }

  private static func switchEachSecond(
    among sources: [String], for seconds: Int, on vidicon: VidiconProcess
  ) async throws -> [(times: ArrivalWatch.Switch, answer: Curl)] {
    let end = ContinuousClock.now + .seconds(seconds)
    var switches: [(times: ArrivalWatch.Switch, answer: Curl)] = []
    while ContinuousClock.now < end {
      try await Self.waitForASecond(vidicon)
      let source = sources[switches.count % sources.count]
      let audio = ["tone", "silence", "mic:microphone"][switches.count % 3]
      let change = #"{"video":"\#(source)","audio":"\#(audio)"}"#
      let request = unixMicroseconds()
      let answer = try await Self.send("PUT", change, to: vidicon.page("/api/streams/live/source"))
      let times = ArrivalWatch.Switch(source: source, request: request, response: unixMicroseconds())
      switches.append((times, answer))
    }
    return switches
  }
}
