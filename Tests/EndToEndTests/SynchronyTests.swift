import Foundation
import Testing

extension EndToEnd {
  @Suite("Synchrony: flash and beep, the timecode strip")
  struct Synchrony {
    private static let bars = ["--source", "bars", "--audio", "tone", "--size", "1280x720", "--fps", "30"]

    @Test(.tags(.pacing)) func `the flash and the beep are less than 40 ms apart`() async throws {
      try await VidiconProcess.serving(Self.bars) { vidicon in
        try await TestMedia.withTemporaryFolder { folder in
          let copy = "\(folder)/copy.nut"
          let recording = try await Tool.run(
            "ffmpeg",
            FFmpeg.quiet + FFmpeg.overTCP + ["-i", vidicon.url(), "-t", "12"]
              + FFmpeg.copy(to: copy, from: vidicon.url()),
            within: .seconds(30))
          try #require(recording.succeeded, "\(recording.errors)")

          let flashes = try await Self.flashes(in: copy)
          let beeps = try await Self.beeps(in: copy)
          try #require(flashes.count >= 9, "\(flashes)")
          try #require(beeps.count >= 9, "\(beeps)")
          for flash in flashes.dropFirst().dropLast() {
            let nearest = try #require(beeps.min { abs($0 - flash) < abs($1 - flash) })
            #expect(abs(nearest - flash) < 0.040, "flash at \(flash) s, beep at \(nearest) s")
          }
        }
      }
    }

    @Test(.tags(.timing)) func `timestamps follow the capture times in the timecode strip`()
      async throws
    {
      try await VidiconProcess.serving(Self.bars) { vidicon in
        async let latencies = self.latencies(of: vidicon.url())
        try await TestMedia.withTemporaryFolder { folder in
          let copy = "\(folder)/copy.nut"
          let recording = try await Tool.run(
            "ffmpeg",
            FFmpeg.quiet + FFmpeg.overTCP + ["-i", vidicon.url(), "-t", "8", "-map", "0:v"]
              + FFmpeg.copy(to: copy, from: vidicon.url()),
            within: .seconds(30))
          try #require(recording.succeeded, "\(recording.errors)")
          let times = try await FFmpeg.times(ofVideoIn: copy)
          let codes = try await self.timecodes(in: copy)
          try #require(codes.count == times.count)
          let offsets = try zip(codes, times).map { code, time in Double(try #require(code)) / 1e6 - time }
          let spread = try #require(offsets.max()) - #require(offsets.min())
          report("spread of timestamps, s", spread, limit: 0.002)
          #expect(spread < 0.002, "timestamps stray \(spread) s from the time of capture")
        }
        let sorted = try await latencies.sorted()
        try #require(sorted.count > 100)
        #expect(sorted[0] > 0)
        report("median latency, s", sorted[sorted.count / 2], limit: 1.5)
        #expect(sorted[sorted.count / 2] < 1.5, "seconds from capture to decoded frame")
      }
    }

    private static let stripRows = Timecode.cellSize(width: 1280)
    private static let strip = ["-vf", "crop=iw:\(stripRows):0:0,format=gray"] + FFmpeg.rawVideo

    private func timecodes(in file: String) async throws -> [Int64?] {
      let run = try await Tool.run(
        "ffmpeg", FFmpeg.quiet + ["-i", file] + Self.strip + ["pipe:1"], within: .seconds(30))
      let strips = LumaFrames(width: 1280, height: Self.stripRows, bytes: run.output)
      return (0..<strips.count).map { Timecode.read(strips[$0], width: 1280) }
    }

    /// Latency from capture to decoded frame, in seconds, for each frame of a live play.
    private func latencies(of url: String) async throws -> [Double] {
      let options = FFmpeg.overTCP + ["-fflags", "nobuffer", "-flags", "low_delay", "-fpsprobesize", "0"]
      let output = Self.strip + ["-flush_packets", "1", "pipe:1"]
      let run = try await Tool.run(
        "ffmpeg", FFmpeg.quiet + options + ["-i", url, "-t", "8", "-an"] + output, within: .seconds(25))
      let strips = LumaFrames(width: 1280, height: Self.stripRows, bytes: run.output)
      var arrivals = run.arrivals[...]
      return (0..<strips.count).compactMap { index in
        arrivals = arrivals.drop { $0.endOffset < (index + 1) * strips.width * strips.height }
        guard let captured = Timecode.read(strips[index], width: 1280), let arrival = arrivals.first else { return nil }
        return Double(arrival.unixMicroseconds - captured) / 1e6
      }
    }

    /// Presentation times of the starts of flashes, in seconds.
    static func flashes(in file: String) async throws -> [Double] {
      let run = try await Tool.run(
        "ffmpeg",
        FFmpeg.quiet + ["-i", file, "-vf", "scale=80:45,format=gray"] + FFmpeg.rawVideo + ["pipe:1"],
        within: .seconds(30))
      let frames = LumaFrames(width: 80, height: 45, bytes: run.output)
      let times = try await FFmpeg.times(ofVideoIn: file)
      try #require(frames.count == times.count)
      let means = (0..<frames.count).map(frames.mean)
      let dark = try #require(means.min())
      let bright = try #require(means.max())
      try #require(bright - dark > 20, "no flash: luma \(dark) to \(bright)")
      let cut = (bright + dark) / 2
      return (1..<means.count).filter { means[$0] > cut && means[$0 - 1] <= cut }.map { times[$0] }
    }

    /// Presentation times of the starts of beeps, in seconds.
    static func beeps(in file: String) async throws -> [Double] {
      let run = try await Tool.run(
        "ffmpeg", FFmpeg.quiet + ["-i", file, "-vn", "-ac", "1", "-ar", "44100", "-f", "s16le", "pipe:1"],
        within: .seconds(30))
      let start = try #require(try await FFmpeg.times(file, selecting: "a:0").first)
      return DecodedAudio(sampleRate: 44_100, littleEndian: run.output).onsets().map { $0 + start }
    }
  }
}
