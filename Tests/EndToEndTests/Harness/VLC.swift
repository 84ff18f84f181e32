import Foundation

/// VLC without a display.
enum VLC {
  /// Result of a play.
  struct Show {
    var run: Tool.Run
    /// Capture times of the stored frames; nil where the timecode strip is unreadable.
    var captures: [Int64?]
    /// Whether an audio output was opened.
    var hasAudio: Bool
  }

  /// Plays a URL or a file.
  ///
  /// - Parameters:
  ///   - options: Additional options, such as `--run-time`.
  ///   - ratio: Stores one of this many frames.
  static func play(
    _ address: String, _ options: [String], each ratio: Int, width: Int, height: Int
  ) async throws -> Show {
    try await TestMedia.withTemporaryFolder { folder in
      try FileManager.default.setAttributes([.posixPermissions: 0o777], ofItemAtPath: folder)
      // Displayed frames are stored as files, uncropped; the log shows whether audio was decoded.
      let scenes = [
        "--video-filter", "scene", "--scene-path", folder, "--scene-format", "png", "--scene-ratio", "\(ratio)",
      ]
      let arguments =
        ["--intf", "dummy", "--no-color", "-vv", "--play-and-exit", "--vout", "dummy", "--aout", "adummy"] + scenes
        + options + [address, "vlc://quit"]
      // VLC does not run as root.
      let asNobody = ["--reuid=65534", "--regid=65534", "--clear-groups", "env", "HOME=\(folder)", "cvlc"]
      let run =
        try await getuid() == 0
        ? Tool.run("setpriv", asNobody + arguments, within: .seconds(40))
        : Tool.run("cvlc", arguments, within: .seconds(40))
      let files = try FileManager.default.contentsOfDirectory(atPath: folder).filter { $0.hasSuffix(".png") }.sorted()
      var captures: [Int64?] = []
      for name in files {
        let luma = try await Tool.run(
          "ffmpeg",
          FFmpeg.quiet + [
            "-i", "\(folder)/\(name)", "-vf", "crop=\(width):\(height):0:0,format=gray", "-f", "rawvideo", "pipe:1",
          ],
          within: .seconds(10)
        ).output
        captures.append(luma.count == width * height ? Timecode.read(luma[...], width: width) : nil)
      }
      return Show(
        run: run, captures: captures,
        hasAudio: run.errors.contains("audio output debug: output 'f32l' 48000 Hz Stereo"))
    }
  }
}
