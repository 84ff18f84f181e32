import Foundation
import Testing

/// A recorded file of the source `bars`, looked at with ffmpeg.
struct RecordedFile {
  static let width = 640
  /// What `vidicon` is to show for it, small enough that many run at once.
  static let source = ["--source", "bars", "--audio", "tone", "--size", "640x360", "--fps", "30"]

  let path: String
  /// When each picture was captured, microseconds since 1970; nil where the strip cannot be read.
  let captures: [Int64?]
  /// The time of each picture in the file, in seconds.
  let times: [Double]
  /// When flashes and beeps begin, in seconds of the file's time.
  let flashes: [Double]
  let beeps: [Double]
  /// What ffmpeg and ffprobe complain of.
  let complaints: String

  /// Decodes a file.
  init(_ path: String) async throws {
    let rows = Timecode.cellSize(width: Self.width)
    // The strip, and under it rows that only the flash changes much.
    let run = try await Tool.run(
      "ffmpeg",
      FFmpeg.quiet + ["-i", path, "-vf", "format=gray", "-fps_mode", "passthrough", "-enc_time_base", "1:90000"]
        + ["-f", "rawvideo", "pipe:1"],
      within: .seconds(60))
    let sound = try await Tool.run(
      "ffmpeg", FFmpeg.quiet + ["-i", path, "-vn", "-ac", "1", "-ar", "44100", "-f", "s16le", "pipe:1"],
      within: .seconds(30))
    let probe = try await Tool.run(
      "ffprobe", ["-v", "warning", "-show_entries", "stream=index", "-of", "csv", path], within: .seconds(20))
    let pictures = Pictures(width: Self.width, height: 360, bytes: run.output)
    let times = try await FFmpeg.times(ofVideoIn: path)
    self.path = path
    self.times = times
    self.complaints = run.errors + sound.errors + probe.errors
    self.captures = (0..<pictures.count).map {
      Timecode.read(pictures[$0].prefix(rows * Self.width), width: Self.width)
    }
    // Every 16th pixel tells a flash from the rest.
    let means = (0..<pictures.count).map { index in
      let picture = pictures[index]
      let sample = stride(from: picture.startIndex, to: picture.endIndex, by: 16).map { Int(picture[$0]) }
      return Double(sample.reduce(0, +)) / Double(sample.count)
    }
    let cut = ((means.min() ?? 0) + (means.max() ?? 0)) / 2
    self.flashes = zip(times, zip(means, means.dropFirst())).enumerated().compactMap { index, pair in
      pair.1.0 <= cut && pair.1.1 > cut && index + 1 < times.count ? times[index + 1] : nil
    }
    let start = try await FFmpeg.times(path, selecting: "a:0").first ?? 0
    self.beeps = Sound(sampleRate: 44_100, littleEndian: sound.output).onsets().map { $0 + start }
  }

  /// Where a picture is not the one captured a thirtieth of a second after the one before it: the ends of runs.
  var breaks: [Int] {
    self.captures.indices.dropFirst().filter { index in
      guard let before = self.captures[index - 1], let now = self.captures[index] else { return true }
      return abs(now - before - 33_333) > 3_000
    }
  }

  /// When the picture was captured that is shown at a time.
  func capture(at seconds: Double) -> Int64? {
    self.times.lastIndex { $0 <= seconds + 0.001 }.flatMap { self.captures[$0] }
  }

  /// Checks that it plays without complaint, whatever pictures a busy machine has left out.
  func checkThatItIsWhole(sourceLocation: SourceLocation = #_sourceLocation) {
    #expect(self.complaints == "", sourceLocation: sourceLocation)
    #expect(self.captures.count > 0 && self.captures.count == self.times.count, sourceLocation: sourceLocation)
    #expect(self.captures.allSatisfy { $0 != nil }, sourceLocation: sourceLocation)
  }

  /// Checks that it plays without complaint, on an even timeline.
  func checkThatItPlays(sourceLocation: SourceLocation = #_sourceLocation) {
    self.checkThatItIsWhole(sourceLocation: sourceLocation)
    let steps = zip(self.times.dropFirst(), self.times).map { $0 - $1 }
    #expect(steps.allSatisfy { abs($0 - 1 / 30) < 0.004 }, "\(steps.min() ?? 0) to \(steps.max() ?? 0)")
  }
}
