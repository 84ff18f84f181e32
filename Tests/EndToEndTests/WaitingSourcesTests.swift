import Foundation
import Testing

extension EndToEnd {
  /// Publishers that copy a stream from its middle, so that no IDR picture comes.
  @Suite("Publishers without IDR pictures: ffmpeg -c copy")
  struct WaitingSources {
    private static let key = "0123456789abcdef0123"

    /// x264 options, and bitstream filters: recovery points with intra refresh, with open groups, and intra frames alone.
    private static let encoders: [(options: String, filter: [String])] = [
      ("intra-refresh=1:keyint=60:min-keyint=60:bframes=0:scenecut=0", []),
      ("open-gop=1:keyint=30:min-keyint=30:bframes=2:scenecut=0", []),
      ("open-gop=1:keyint=30:min-keyint=30:bframes=0:scenecut=0", ["-bsf:v", "filter_units=remove_types=6"]),
    ]

    /// A film of 12 s, and the part of it from the second recovery point on.
    private static func film(_ encoder: (options: String, filter: [String]), in folder: String) async throws -> String {
      let (whole, part) = ("\(folder)/whole.ts", "\(folder)/part.ts")
      let tests = ["-f", "lavfi", "-i", "testsrc2=s=640x360:r=30:d=12", "-f", "lavfi", "-i", "sine=1000:r=48000:d=12"]
      let coded = ["-c:v", "libx264", "-preset", "ultrafast", "-x264opts", encoder.options, "-pix_fmt", "yuv420p"]
      for arguments in [
        tests + coded + ["-c:a", "aac", "-ac", "2", whole],
        ["-ss", "2.5", "-i", whole, "-c", "copy"] + encoder.filter + [part],
      ] {
        let made = try await Tool.run("ffmpeg", FFmpeg.quiet + arguments, within: .seconds(60))
        try #require(made.succeeded, "\(made.errors)")
      }
      return part
    }

    @Test(.tags(.pacing), arguments: ["rtsp", "rtmp"])
    func `the wait for the first recovery point is shown, in words too, until it comes`(scheme: String) async throws {
      try await TestMedia.withTemporaryFolder { folder in
        let film = "\(folder)/film.ts"
        // Recovery points each 15 s; the publisher begins one second after the first one.
        let made = try await Tool.run(
          "ffmpeg",
          FFmpeg.quiet + [
            "-f", "lavfi", "-i", "testsrc2=s=640x360:r=30:d=60", "-c:v", "libx264", "-preset", "ultrafast", "-x264opts",
            "intra-refresh=1:keyint=450:min-keyint=450:bframes=0:scenecut=0", "-pix_fmt", "yuv420p", film,
          ], within: .seconds(60))
        try #require(made.succeeded, "\(made.errors)")
        let words = "connected, no frame yet: no keyframe has come"
        try await Self.serving(scheme) { vidicon, target in
          let before = try await vidicon.status { $0.isSlateShown == true }
          #expect(before.isSourceWaiting == false && !vidicon.child.errors.text.contains(words))
          let publisher = try ChildProcess(
            Tool("ffmpeg").path,
            ["-nostdin", "-v", "error", "-re", "-i", film, "-c:v", "copy", "-bsf:v", "noise=drop=lt(n\\,30)"] + target)
          defer { publisher.kill() }
          let waiting = try await vidicon.status { $0.isSourceWaiting == true }
          #expect(waiting.isSlateShown == true)
          try await vidicon.child.complains(words)
          _ = try await vidicon.status { $0.isSlateShown == false && $0.isSourceWaiting == false }
          #expect(publisher.isRunning, "\(publisher.errors.text)")
          #expect(vidicon.child.errors.text.components(separatedBy: words).count == 2, "\(vidicon.child.errors.text)")
        }
      }
    }

    /// Serves a source for publishers, which send to the output options that `body` gets.
    private static func serving(_ scheme: String, _ body: (VidiconProcess, [String]) async throws -> Void) async throws
    {
      let source = ["--source", "\(scheme):?key=\(Self.key)", "--size", "640x360", "--fps", "30"]
      let ports = scheme == "rtmp" ? ["--rtmp-port", "0"] : []
      try await VidiconProcess.serving(source + ports) { vidicon in
        try await body(
          vidicon,
          scheme == "rtmp"
            ? ["-f", "flv", vidicon.rtmp("live/\(Self.key)")]
            : ["-f", "rtsp", "-rtsp_transport", "tcp", vidicon.url() + "?key=\(Self.key)"])
      }
    }

    @Test(.tags(.pacing), arguments: Self.encoders.indices, ["rtsp", "rtmp"])
    func `the publisher is shown, moving, and its waiting ended nothing`(index: Int, scheme: String) async throws {
      try await TestMedia.withTemporaryFolder { folder in
        let film = try await Self.film(Self.encoders[index], in: folder)
        try await Self.serving(scheme) { vidicon, target in
          _ = try await vidicon.status { $0.isSlateShown == true }
          let publisher = try ChildProcess(
            Tool("ffmpeg").path,
            ["-nostdin", "-v", "error", "-re", "-stream_loop", "20", "-i", film, "-c:v", "copy", "-c:a", "aac"] + target
          )
          defer { publisher.kill() }
          _ = try await vidicon.status { $0.isSlateShown == false && $0.isSourceWaiting == false }
          let play = try await FFmpeg.play(vidicon.url(), seconds: 4, within: .seconds(40))
          #expect(play.run.exit == .status(0), "\(play.run.errors)")
          #expect(FFmpeg.complaints(in: play.run.errors) == [])
          try #require(play.frames.count > 60, "\(play.frames.count) frames")
          #expect(play.frames.difference(play.frames.count - 1, play.frames.count - 40) > 0.3)
        }
      }
    }
  }
}
