import Foundation
import Testing

/// Result of decoding a stream during source switches, with the checks that every switch must pass.
struct SwitchWatch {
  var url: String
  var run: Tool.Run
  /// Presentation times of video and audio packets as received, in seconds.
  var frames: [Double]
  var audioTimes: [Double]
  /// Distinct parameter sets (SPS and PPS) received, as hexadecimal text.
  var parameterSets: Set<String>
  /// Number of times that a sequence parameter set differs from the one before it.
  var parameterSetChanges = 0

  /// Plays and decodes a URL.
  static func watch(_ url: String, seconds: Int, options: [String] = []) async throws -> SwitchWatch {
    try await TestMedia.withTemporaryFolder { folder in
      let path = "\(folder)/watched.nut"
      let kept = ["-map", "0:v:0", "-map", "0:a:0", "-t", "\(seconds)"]
      let run = try await Tool.run(
        "ffmpeg",
        FFmpeg.quiet + ["-xerror", "-err_detect", "explode"] + options + ["-i", url] + kept
          + FFmpeg.copy(to: path, from: url) + kept
          + FFmpeg.decoding, within: .seconds(seconds + 40)
      )
      guard run.succeeded else {
        return SwitchWatch(url: url, run: run, frames: [], audioTimes: [], parameterSets: [])
      }
      // NAL units of types 7 and 8 only.
      let sets = try await Tool.run(
        "ffmpeg",
        FFmpeg.quiet + ["-i", path, "-map", "0:v:0", "-c", "copy"]
          + ["-bsf:v", "h264_mp4toannexb,filter_units=pass_types=7-8", "-f", "data", "pipe:1"], within: .seconds(60))
      let units = Self.units(in: sets.output)
      // nal_unit_type 7, ITU-T H.264 Table 7-1.
      let sequenceSets = units.filter { UInt8($0.prefix(2), radix: 16).map { $0 & 0x1F == 7 } ?? false }
      return SwitchWatch(
        url: url, run: run, frames: try await FFmpeg.times(ofVideoIn: path),
        audioTimes: try await FFmpeg.times(path, selecting: "a:0"),
        parameterSets: Set(units),
        parameterSetChanges: zip(sequenceSets, sequenceSets.dropFirst()).count { $0 != $1 })
    }
  }

  /// The NAL units of a byte stream, as hexadecimal text.
  private static func units(in bytes: [UInt8]) -> [String] {
    let text = bytes.map { String(format: "%02x", $0) }.joined(separator: " ")
    return text.replacingOccurrences(of: "00 00 00 01", with: "|").replacingOccurrences(of: "00 00 01", with: "|")
      .split(separator: "|").map { $0.trimmingCharacters(in: .whitespaces) }.filter { !$0.isEmpty }
  }

  /// Steps between packets that are longer than a limit, and the seconds since the first packet.
  private static func steps(_ times: [Double], over limit: Double) -> [String] {
    zip(times, times.dropFirst()).filter { $1 - $0 >= limit }.map { last, next in
      "\(Int(((next - last) * 1000).rounded())) ms at \((last - times[0]).formatted())"
    }
  }

  /// Expects no decoding error, no timestamp step of more than 40 ms over the frame interval, and constant parameter sets.
  func expectCutsOnly(frameRate: Double = 30, sourceLocation: SourceLocation = #_sourceLocation) {
    #expect(self.run.succeeded, "\(self.url): \(self.run.errors.suffix(2_000))", sourceLocation: sourceLocation)
    #expect(FFmpeg.complaints(in: self.run.errors) == [], sourceLocation: sourceLocation)
    #expect(self.frames.count > 10 && self.audioTimes.count > 10, sourceLocation: sourceLocation)
    report(
      "maximum frame interval, s", zip(self.frames, self.frames.dropFirst()).map { $1 - $0 }.max() ?? 99,
      limit: 1 / frameRate + 0.04)
    let steps = Self.steps(self.frames, over: 1 / frameRate + 0.04)
    #expect(steps.isEmpty, "\(self.url): \(steps)", sourceLocation: sourceLocation)
    // A frame of AAC has 1024 samples.
    let audioSteps = Self.steps(self.audioTimes, over: 1024.0 / 44_100 + 0.04)
    #expect(audioSteps.isEmpty, "\(self.url): \(audioSteps)", sourceLocation: sourceLocation)
    // One sequence and one picture parameter set.
    #expect(self.parameterSets.count == 2, "\(self.parameterSets)", sourceLocation: sourceLocation)
  }
}
