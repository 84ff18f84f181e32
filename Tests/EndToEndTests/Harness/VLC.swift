import Foundation

/// VLC, without a screen.
enum VLC {
  /// What VLC has shown and said.
  struct Show {
    var run: Tool.Run
    /// When the pictures that were kept were captured, by their strips; nil where it cannot be read.
    var captures: [Int64?]
    /// Whether it played sound.
    var hasSound: Bool
  }

  /// Plays an address or a file.
  ///
  /// - Parameters:
  ///   - options: Such as `--run-time`.
  ///   - ratio: Each so many pictures one is kept.
  static func play(
    _ address: String, _ options: [String], each ratio: Int, width: Int, height: Int
  ) async throws -> Show {
    try await TestMedia.withTemporaryFolder { folder in
      try FileManager.default.setAttributes([.posixPermissions: 0o777], ofItemAtPath: folder)
      // Pictures that it shows are kept as files, with the rows below them that only the decoder needs; what it says tells
      // of the sound.
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
        hasSound: run.errors.contains("audio output debug: output 'f32l' 48000 Hz Stereo"))
    }
  }
}
