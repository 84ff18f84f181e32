import Foundation
import Testing

extension EndToEnd.LiveControl {
  /// How long sources are switched each second: a minute, or as the variable says.
  private static let seconds =
    ProcessInfo.processInfo.environment["VIDICON_SWITCHING_SECONDS"].flatMap { Int($0) } ?? 60

  @Test(.timeLimit(.minutes(20)))
  func `a switch each second, for a minute or longer, breaks nothing`() async throws {
    let seconds = Self.seconds
    try await VidiconProcess.serving(Self.bars) { vidicon in
      let address = vidicon.page("/api/streams/live/source")
      let switching = Task {
        let end = ContinuousClock.now + .seconds(seconds)
        var (count, refused) = (0, 0)
        while ContinuousClock.now < end {
          try await Self.waitForASecond(vidicon)
          let source = ["plasma", "noise", "bars"][count % 3]
          let sound = ["tone", "silence"][count % 2]
          let answer = try await Self.send("PUT", #"{"video":"\#(source)","audio":"\#(sound)"}"#, to: address)
          count += 1
          if answer.status != 200 { refused += 1 }
        }
        return (count, refused)
      }
      async let overRTSP = SwitchWatch.watch(vidicon.url(), seconds: seconds, options: FFmpeg.overTCP)
      async let overHLS = SwitchWatch.watch(vidicon.page("/live/live.m3u8"), seconds: seconds)
      for watch in try await [overRTSP, overHLS] { watch.expectCutsOnly() }
      let (count, refused) = try await switching.value
      #expect(count > seconds / 3)
      #expect(refused == 0)
    }
  }
}
