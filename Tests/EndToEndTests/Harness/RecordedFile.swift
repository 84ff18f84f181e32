import Foundation
import Testing

/// A recording of the source `bars`, decoded with ffmpeg.
struct RecordedFile {
  static let width = 640
  /// Source options of the recordings; small, since several run at once.
  static let source = ["--source", "bars", "--audio", "tone", "--size", "640x360", "--fps", "30"]

  let path: String
  /// Capture time of each frame, microseconds since 1970; nil where the timecode strip is unreadable.
  let captures: [Int64?]
  /// Presentation time of each frame, in seconds.
  let times: [Double]
  /// Presentation times of the starts of flashes and beeps, in seconds.
  let flashes: [Double]
  let beeps: [Double]
  /// Warnings and errors of ffmpeg and ffprobe.
  let complaints: String

  /// Decodes a file.
  init(_ path: String) async throws {
    let rows = Timecode.cellSize(width: Self.width)
    // Full frames: the timecode strip, and below it rows that only the flash changes much.
    let run = try await Tool.run(
      "ffmpeg",
      FFmpeg.quiet + ["-i", path, "-vf", "format=gray"] + FFmpeg.rawVideo + ["pipe:1"],
      within: .seconds(60))
    let audio = try await Tool.run(
      "ffmpeg", FFmpeg.quiet + ["-i", path, "-vn", "-ac", "1", "-ar", "44100", "-f", "s16le", "pipe:1"],
      within: .seconds(30))
    let probe = try await Tool.run(
      "ffprobe", ["-v", "warning", "-show_entries", "stream=index", "-of", "csv", path], within: .seconds(20))
    let frames = LumaFrames(width: Self.width, height: 360, bytes: run.output)
    let times = try await FFmpeg.times(ofVideoIn: path)
    self.path = path
    self.times = times
    self.complaints = run.errors + audio.errors + probe.errors
    self.captures = (0..<frames.count).map {
      Timecode.read(frames[$0].prefix(rows * Self.width), width: Self.width)
    }
    // Every 16th pixel is enough to detect a flash.
    let means = (0..<frames.count).map { index in
      let frame = frames[index]
      let sample = stride(from: frame.startIndex, to: frame.endIndex, by: 16).map { Int(frame[$0]) }
      return Double(sample.reduce(0, +)) / Double(sample.count)
    }
    let cut = ((means.min() ?? 0) + (means.max() ?? 0)) / 2
    self.flashes = zip(times, zip(means, means.dropFirst())).enumerated().compactMap { index, pair in
      pair.1.0 <= cut && pair.1.1 > cut && index + 1 < times.count ? times[index + 1] : nil
    }
    let start = try await FFmpeg.times(path, selecting: "a:0").first ?? 0
    self.beeps = DecodedAudio(sampleRate: 44_100, littleEndian: audio.output).onsets().map { $0 + start }
  }

  /// Indices of frames captured more or less than a thirtieth of a second after the previous frame.
  var breaks: [Int] {
    self.captures.indices.dropFirst().filter { index in
      guard let before = self.captures[index - 1], let now = self.captures[index] else { return true }
      return abs(now - before - 33_333) > 3_000
    }
  }

  /// Capture time of the frame displayed at a time.
  func capture(at seconds: Double) -> Int64? {
    self.times.lastIndex { $0 <= seconds + 0.001 }.flatMap { self.captures[$0] }
  }

  /// Checks that the file decodes without a warning. A busy machine may have dropped frames.
  func checkThatItIsWhole(sourceLocation: SourceLocation = #_sourceLocation) {
    #expect(self.complaints == "", sourceLocation: sourceLocation)
    #expect(self.captures.count > 0 && self.captures.count == self.times.count, sourceLocation: sourceLocation)
    #expect(self.captures.allSatisfy { $0 != nil }, sourceLocation: sourceLocation)
  }

  /// Checks that the file decodes without a warning, with a constant frame interval.
  func checkThatItPlays(sourceLocation: SourceLocation = #_sourceLocation) {
    self.checkThatItIsWhole(sourceLocation: sourceLocation)
    let steps = zip(self.times.dropFirst(), self.times).map { $0 - $1 }
    #expect(steps.allSatisfy { abs($0 - 1 / 30) < 0.004 }, "\(steps.min() ?? 0) to \(steps.max() ?? 0)")
  }
}
