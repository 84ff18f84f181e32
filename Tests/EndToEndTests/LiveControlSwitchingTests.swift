import FakeCamera
import Foundation
import HLSRules
import Testing

extension EndToEnd.LiveControl {
  /// How long sources are switched each second: a minute, or as the variable says.
  private static let seconds =
    ProcessInfo.processInfo.environment["VIDICON_SWITCHING_SECONDS"].flatMap { Int($0) } ?? 60

  @Test(.timeLimit(.minutes(20)))
  func `a switch each second, for a minute or longer, breaks nothing`() async throws {
    let seconds = Self.seconds
    try await Self.withSources { sources, environment in
      try await VidiconProcess.serving(Self.bars, environment: environment) { vidicon in
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
        let answers = try await switching.value
        #expect(answers.count > seconds / 3)
        #expect(answers.allSatisfy { $0.status == 200 }, "\(answers.first { $0.status != 200 }?.text ?? "")")
      }
    }
  }

  /// Sources of all kinds: drawn, a camera, a screen on which a video plays, a file.
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
  ) async throws -> [Curl] {
    let end = ContinuousClock.now + .seconds(seconds)
    var answers: [Curl] = []
    while ContinuousClock.now < end {
      try await Self.waitForASecond(vidicon)
      let source = sources[answers.count % sources.count]
      let sound = ["tone", "silence"][answers.count % 2]
      let change = #"{"video":"\#(source)","audio":"\#(sound)"}"#
      answers.append(try await Self.send("PUT", change, to: vidicon.page("/api/streams/live/source")))
    }
    return answers
  }
}
