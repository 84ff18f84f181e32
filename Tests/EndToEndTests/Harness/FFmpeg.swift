import Foundation
import Testing

/// Runs of ffmpeg and ffprobe, and what is asked of them in more than one test.
enum FFmpeg {
  /// A stream that was played for a while: its compressed pictures' times, small decoded pictures, the sound.
  struct Play {
    var run: Tool.Run
    var pictures: Pictures
    /// Presentation times of the pictures as received, in seconds.
    var times: [Double]
    var sound: Sound?

    /// Pictures a second by their own timestamps.
    var frameRate: Double {
      guard let first = self.times.first, let last = self.times.last, last > first else { return 0 }
      return Double(self.times.count - 1) / (last - first)
    }
  }

  static let overTCP = ["-rtsp_transport", "tcp"]

  /// The options of an output that keeps what is received. Over RTSP timestamps stay as they are: FFmpeg reads none for
  /// the first picture of any RTSP stream, and would otherwise give it that of the second. Those of other protocols do
  /// not begin with zero, from which `-t` would count.
  static func copy(to path: String, from url: String) -> [String] {
    ["-c", "copy"] + (url.hasPrefix("rtsp") ? ["-copyts"] : []) + ["-f", "nut", path]
  }

  /// Plays an address for some seconds, decoding picture and sound, and stops at the first decoding error.
  static func play(
    _ url: String, seconds: Int, options: [String] = overTCP, sound: Bool = true, within limit: Duration? = nil
  ) async throws -> Play {
    try await TestMedia.withTemporaryFolder { folder in
      let end = ["-t", "\(seconds)"]
      var outputs = end + ["-map", "0:v:0"] + self.copy(to: "\(folder)/copy.nut", from: url)
      outputs +=
        end + ["-map", "0:v:0", "-vf", "scale=160:90,format=gray", "-fps_mode", "passthrough"] + [
          "-enc_time_base", "1:90000",
        ]
      outputs += ["-f", "rawvideo", "pipe:1"]
      if sound { outputs += end + ["-map", "0:a:0", "-ac", "1", "-ar", "44100", "-f", "s16le", "\(folder)/sound"] }
      let run = try await Tool.run(
        "ffmpeg", self.quiet + ["-xerror"] + options + ["-i", url] + outputs,
        within: limit ?? .seconds(seconds + 15))
      let soundBytes = try sound && run.succeeded ? Data(contentsOf: URL(fileURLWithPath: "\(folder)/sound")) : Data()
      return Play(
        run: run,
        pictures: Pictures(width: 160, height: 90, bytes: run.output),
        times: run.succeeded ? try await self.times(ofVideoIn: "\(folder)/copy.nut") : [],
        sound: sound ? Sound(sampleRate: 44_100, littleEndian: Array(soundBytes)) : nil)
    }
  }

  /// The options that every run begins with: no banner, no progress, warnings marked as such.
  static let quiet = ["-hide_banner", "-nostdin", "-nostats", "-loglevel", "level+warning"]

  /// The presentation times of a file's pictures, in seconds, in order.
  static func times(ofVideoIn path: String) async throws -> [Double] {
    try await self.times(path, selecting: "v:0").sorted()
  }

  /// The presentation times of a file's packets, in seconds, as they come.
  static func times(_ path: String, selecting stream: String) async throws -> [Double] {
    let run = try await Tool.run(
      "ffprobe",
      ["-v", "error", "-select_streams", stream, "-show_entries", "packet=pts_time", "-of", "csv=p=0", path],
      within: .seconds(20))
    return run.outputText.split(separator: "\n").compactMap { Double($0.trimmingCharacters(in: [",", " "])) }
  }

  /// The lines of a log that tell of damage in picture, sound or timing.
  static func complaints(in log: String) -> [String] {
    let signs = [
      "[error]", "[fatal]", "[panic]", "conceal", "corrupt", "non-existing", "no frame", "missed", "onotonous",
      "invalid", "discontinuity", "past duration",
    ]
    return log.split(separator: "\n").map(String.init).filter { line in
      signs.contains { line.lowercased().contains($0) }
    }
  }
}
