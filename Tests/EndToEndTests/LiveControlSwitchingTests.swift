import FakeCamera
import Foundation
import HLSRules
import Testing

extension EndToEnd.LiveControl {
  /// Duration of the switching test in seconds; 60 without the environment variable.
  private static let seconds =
    ProcessInfo.processInfo.environment["VIDICON_SWITCHING_SECONDS"].flatMap { Int($0) } ?? 60

  @Test(.tags(.timing), .timeLimit(.minutes(20)))
  func `a switch each second, for a minute or longer, causes no error`() async throws {
    let seconds = Self.seconds
    try await Self.withSources { sources, environment in
      let options = Self.bars + ["--files", FileManager.default.temporaryDirectory.path]
      try await VidiconProcess.serving(options, environment: environment) { vidicon in
        let switching = Task { try await Self.switchEachSecond(among: sources, for: seconds, on: vidicon) }
        async let overRTSP = SwitchWatch.watch(vidicon.url(), seconds: seconds, options: FFmpeg.overTCP)
        async let overHLS = SwitchWatch.watch(vidicon.page("/live/live.m3u8"), seconds: seconds)
        let port = vidicon.httpPort
        async let parts = waiting { try LowLatencyViewer.watch("live", port: port, seconds: Double(seconds)) }
        for watch in try await [overRTSP, overHLS] { watch.expectCutsOnly() }
        let lowLatency = try await parts
        #expect(lowLatency.checker.violations == [])
        #expect(lowLatency.problems == [])
        #expect(lowLatency.partsMeasured > seconds * 4)
        let switches = try await switching.value
        #expect(switches.count > seconds * 3 / 4)
        for switched in switches {
          #expect(switched.answer.status == 200, "\(switched.source): \(switched.answer.text)")
          #expect(try switched.answer.json(State.self).source.video == switched.source)
        }
      }
    }
  }

  /// Provides sources of all kinds: generators, a camera, a screen with a playing video, a file.
  private static func withSources(
    _ body: (_ sources: [String], _ environment: [String: String]) async throws -> Void
  ) async throws {
    try await TestMedia.withTemporaryFolder { folder in
      let film = "\(folder)/film.mp4"
      let made = try await Tool.run(
        "ffmpeg",
        FFmpeg.quiet + ["-f", "lavfi", "-i", "testsrc2=s=320x180:r=30", "-t", "5", "-pix_fmt", "yuv420p", film],
        within: .seconds(30))
      try #require(made.succeeded, "\(made.errors)")
      try await XDisplay.showing("320x180") { display in
        try await display.playing("testsrc2=s=320x180:r=60") {
          try await body(
            ["plasma", "v4l2:/dev/video0", "noise", "screen:\(display.name)", "bars", "file:\(film)"],
            FakeCamera.environment(["formats=YUYV 320x240 30"]))
        }
      }
    }
  }

  private static func switchEachSecond(
    among sources: [String], for seconds: Int, on vidicon: VidiconProcess
  ) async throws -> [(source: String, answer: Curl)] {
    let end = ContinuousClock.now + .seconds(seconds)
    var switches: [(source: String, answer: Curl)] = []
    while ContinuousClock.now < end {
      try await Self.waitForASecond(vidicon)
      let source = sources[switches.count % sources.count]
      let audio = ["tone", "silence"][switches.count % 2]
      let change = #"{"video":"\#(source)","audio":"\#(audio)"}"#
      let answer = try await Self.send("PUT", change, to: vidicon.page("/api/streams/live/source"))
      switches.append((source, answer))
    }
    return switches
  }
}
