import Foundation
import Testing

/// Runs ffmpeg and ffprobe with the options that several tests share.
enum FFmpeg {
  /// Result of playing a stream: timestamps as received, frames scaled to 160×90, decoded audio.
  struct Play {
    var run: Tool.Run
    var frames: LumaFrames
    /// Presentation times of the access units as received, in seconds.
    var times: [Double]
    var audio: DecodedAudio?

    /// Frames per second, from the timestamps.
    var frameRate: Double {
      guard let first = self.times.first, let last = self.times.last, last > first else { return 0 }
      return Double(self.times.count - 1) / (last - first)
    }
  }

  static let overTCP = ["-rtsp_transport", "tcp"]

  /// Output options that store packets unchanged. `-copyts` for RTSP only: without it FFmpeg gives the first frame, whose
  /// timestamp it does not read, that of the second. Timestamps of other protocols start above zero, from which `-t`
  /// would count.
  static func copy(to path: String, from url: String) -> [String] {
    ["-c", "copy"] + (url.hasPrefix("rtsp") ? ["-copyts"] : []) + ["-f", "nut", path]
  }

  /// Plays and decodes a URL for some seconds. ffmpeg fails at the first decoding error (`-xerror`).
  static func play(
    _ url: String, seconds: Int, options: [String] = overTCP, audio: Bool = true, within limit: Duration? = nil
  ) async throws -> Play {
    try await self.play(
      url, until: ["-t", "\(seconds)"], options: options, audio: audio, within: limit ?? .seconds(seconds + 15))
  }

  /// Plays and decodes a URL until a number of frames of video, and as many of audio, are there, however long it takes.
  static func play(
    _ url: String, frames: Int, options: [String] = overTCP, audio: Bool = true
  ) async throws -> Play {
    try await self.play(
      url, until: ["-frames", "\(frames)"], options: options, audio: audio, within: .seconds(30))
  }

  /// - Parameter end: Output options that end each output.
  private static func play(
    _ url: String, until end: [String], options: [String], audio: Bool, within limit: Duration
  ) async throws -> Play {
    try await TestMedia.withTemporaryFolder { folder in
      var outputs = end + ["-map", "0:v:0"] + self.copy(to: "\(folder)/copy.nut", from: url)
      outputs +=
        end + ["-map", "0:v:0", "-vf", "scale=160:90,format=gray"] + self.rawVideo + ["pipe:1"]
      if audio { outputs += end + ["-map", "0:a:0", "-ac", "1", "-ar", "44100", "-f", "s16le", "\(folder)/audio"] }
      let run = try await Tool.run(
        "ffmpeg", self.quiet + ["-xerror"] + options + ["-i", url] + outputs, within: limit)
      let audioBytes = try audio && run.succeeded ? Data(contentsOf: URL(fileURLWithPath: "\(folder)/audio")) : Data()
      return Play(
        run: run,
        frames: LumaFrames(width: 160, height: 90, bytes: run.output),
        times: run.succeeded ? try await self.times(ofVideoIn: "\(folder)/copy.nut") : [],
        audio: audio ? DecodedAudio(sampleRate: 44_100, littleEndian: Array(audioBytes)) : nil)
    }
  }

  /// Output options for raw frames, each of them as it is decoded. Without a time base, ffmpeg takes the frame rate that it guesses
  /// from the first timestamps for one, and complains of frames that come closer than that.
  static let rawVideo = eachFrame + ["-f", "rawvideo"]

  /// Output options that decode everything and store nothing.
  static let decoding = eachFrame + ["-f", "null", "-"]

  private static let eachFrame = ["-fps_mode", "passthrough", "-enc_time_base", "1:90000"]

  /// First options of every run: no banner, no progress, warnings with their level.
  static let quiet = ["-hide_banner", "-nostdin", "-nostats", "-loglevel", "level+warning"]

  /// Presentation times of a file's video packets, in seconds, sorted.
  static func times(ofVideoIn path: String) async throws -> [Double] {
    try await self.times(path, selecting: "v:0").sorted()
  }

  /// Presentation times of a stream's packets, in seconds, in file order.
  static func times(_ path: String, selecting stream: String) async throws -> [Double] {
    let run = try await Tool.run(
      "ffprobe",
      ["-v", "error", "-select_streams", stream, "-show_entries", "packet=pts_time", "-of", "csv=p=0", path],
      within: .seconds(20))
    return run.outputText.split(separator: "\n").compactMap { Double($0.trimmingCharacters(in: [",", " "])) }
  }

  /// Log lines that report damaged video, damaged audio or wrong timestamps.
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
