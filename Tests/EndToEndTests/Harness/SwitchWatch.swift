import Foundation
import Testing

/// A stream that was watched for a while, decoded, and looked at for what switches of sources must not do.
struct SwitchWatch {
  var url: String
  var run: Tool.Run
  /// The times of the pictures and of the sound as received, in seconds.
  var pictures: [Double]
  var sounds: [Double]
  /// Each set of parameters that was sent, as hexadecimal text.
  var parameterSets: Set<String>

  /// Watches an address.
  static func watch(_ url: String, seconds: Int, options: [String] = []) async throws -> SwitchWatch {
    try await TestMedia.withTemporaryFolder { folder in
      let path = "\(folder)/watched.nut"
      let kept = ["-map", "0:v:0", "-map", "0:a:0", "-t", "\(seconds)"]
      let run = try await Tool.run(
        "ffmpeg",
        FFmpeg.quiet + ["-xerror", "-err_detect", "explode"] + options + ["-i", url] + kept
          + FFmpeg.copy(to: path, from: url) + kept
          + ["-fps_mode", "passthrough", "-enc_time_base", "1:90000", "-f", "null", "-"], within: .seconds(seconds + 40)
      )
      guard run.succeeded else {
        return SwitchWatch(url: url, run: run, pictures: [], sounds: [], parameterSets: [])
      }
      // As the bitstream has them: NAL units 7 and 8 alone.
      let sets = try await Tool.run(
        "ffmpeg",
        FFmpeg.quiet + ["-i", path, "-map", "0:v:0", "-c", "copy"]
          + ["-bsf:v", "h264_mp4toannexb,filter_units=pass_types=7-8", "-f", "data", "pipe:1"], within: .seconds(60))
      return SwitchWatch(
        url: url, run: run, pictures: try await FFmpeg.times(ofVideoIn: path),
        sounds: try await FFmpeg.times(path, selecting: "a:0"),
        parameterSets: Set(Self.units(in: sets.output)))
    }
  }

  /// The NAL units of a byte stream, as hexadecimal text.
  private static func units(in bytes: [UInt8]) -> [String] {
    let text = bytes.map { String(format: "%02x", $0) }.joined(separator: " ")
    return text.replacingOccurrences(of: "00 00 00 01", with: "|").replacingOccurrences(of: "00 00 01", with: "|")
      .split(separator: "|").map { $0.trimmingCharacters(in: .whitespaces) }.filter { !$0.isEmpty }
  }

  /// No decoding error, no step of time over 40 ms beyond a picture's or a sound's own, no change of parameter sets.
  func expectCutsOnly(frameRate: Double = 30, sourceLocation: SourceLocation = #_sourceLocation) {
    #expect(self.run.succeeded, "\(self.url): \(self.run.errors.suffix(2_000))", sourceLocation: sourceLocation)
    #expect(FFmpeg.complaints(in: self.run.errors) == [], sourceLocation: sourceLocation)
    #expect(self.pictures.count > 10 && self.sounds.count > 10, sourceLocation: sourceLocation)
    func longest(_ times: [Double]) -> Double { zip(times, times.dropFirst()).map { $1 - $0 }.max() ?? 0 }
    #expect(longest(self.pictures) < 1 / frameRate + 0.04, "\(self.url)", sourceLocation: sourceLocation)
    // A frame of AAC has 1024 samples.
    #expect(longest(self.sounds) < 1024.0 / 44_100 + 0.04, "\(self.url)", sourceLocation: sourceLocation)
    // One sequence and one picture parameter set.
    #expect(self.parameterSets.count == 2, "\(self.parameterSets)", sourceLocation: sourceLocation)
  }
}
