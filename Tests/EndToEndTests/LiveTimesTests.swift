import Foundation
import TestSupport
import Testing

extension EndToEnd {
  /// Sources whose time runs otherwise than a camera's.
  @Suite("How the time of live sources runs")
  struct LiveTimes {
    private static let key = "0123456789abcdef0123"

    /// Makes a film: 40 s of white, then 20 s of black, with a tone.
    private static func film(in folder: String) async throws -> String {
      let path = "\(folder)/film.ts"
      let made = try await Tool.run(
        "ffmpeg",
        FFmpeg.quiet + [
          "-f", "lavfi", "-i", "color=white:s=320x180:r=25:d=40", "-f", "lavfi", "-i",
          "color=black:s=320x180:r=25:d=20",
          "-f", "lavfi", "-i", "sine=440:d=60", "-filter_complex", "[0][1]concat[v]", "-map", "[v]", "-map", "2:a",
          "-c:v", "libx264", "-preset", "ultrafast", "-g", "25", "-pix_fmt", "yuv420p", "-c:a", "aac", path,
        ], within: .seconds(60))
      try #require(made.succeeded, "\(made.errors)")
      return path
    }

    @Test(.tags(.pacing), arguments: ["rtmp", "rtsp", "http"])
    func `what is sent faster than in real time is played in real time`(way: String) async throws {
      try await TestMedia.withTemporaryFolder { folder in
        let film = try await Self.film(in: folder)
        let bytes = try Data(contentsOf: URL(filePath: film))
        let server = try LocalServer { connection in
          _ = connection.readHead()
          connection.write("HTTP/1.0 200 OK\r\nContent-Type: video/mp2t\r\n\r\n")
          connection.write(bytes)
          connection.waitForEnd()
        }
        defer { server.stop() }
        let source = way == "http" ? "http://127.0.0.1:\(server.port)/film" : "\(way):?key=\(Self.key)"
        let options =
          ["--source", source, "--size", "320x180", "--fps", "25"] + (way == "rtmp" ? ["--rtmp-port", "0"] : [])
        try await VidiconProcess.serving(options) { vidicon in
          var publisher: ChildProcess?
          defer { publisher?.kill() }
          if way != "http" {
            let target =
              try way == "rtmp"
              ? ["-f", "flv", vidicon.rtmp("live/\(Self.key)")]
              : ["-f", "rtsp", "-rtsp_transport", "tcp", vidicon.url() + "?key=\(Self.key)"]
            publisher = try ChildProcess(
              Tool("ffmpeg").path, ["-nostdin", "-v", "error", "-i", film, "-c:v", "copy", "-c:a", "aac"] + target)
          }
          _ = try await vidicon.status { $0.isSlateShown == false }
          let play = try await FFmpeg.play(vidicon.url(), seconds: 10, within: .seconds(40))
          #expect(play.run.exit == .status(0) && FFmpeg.complaints(in: play.run.errors) == [], "\(play.run.errors)")
          #expect(play.frames.count > 200, "\(play.frames.count)")
          let dark = (0..<play.frames.count).count { play.frames.mean($0) < 200 }
          #expect(dark == 0, "\(dark) of \(play.frames.count) frames are of the second half")
        }
      }
    }

    @Test(.tags(.pacing)) func `a still screen keeps its last frame, and a new viewer has it`() async throws {
      try await VidiconProcess.serving(
        ["--source", "rtmp:?key=\(Self.key)", "--size", "640x360", "--fps", "30", "--rtmp-port", "0"]
      ) { vidicon in
        // A frame in six seconds, each a keyframe, and a tone.
        let publisher = try ChildProcess(
          Tool("ffmpeg").path,
          [
            "-nostdin", "-v", "error", "-re", "-f", "lavfi", "-i", "color=white:s=640x360:r=10", "-re", "-f", "lavfi",
            "-i", "sine=440", "-vf", "select='not(mod(n,60))'", "-fps_mode", "vfr", "-c:v", "libx264", "-g", "1",
            "-tune", "zerolatency", "-pix_fmt", "yuv420p", "-c:a", "aac", "-max_interleave_delta", "100000",
            "-flush_packets", "1", "-f", "flv", vidicon.rtmp("live/\(Self.key)"),
          ])
        defer { publisher.kill() }
        _ = try await vidicon.status { $0.isSlateShown == false }
        for _ in 0..<2 {
          let play = try await FFmpeg.play(vidicon.url(), frames: 1)
          try #require(play.frames.count == 1)
          #expect(play.frames.mean(0) > 200)
          let status = try await vidicon.status { _ in true }
          #expect(status.isSlateShown == false)
        }
        let play = try await FFmpeg.play(vidicon.url(), seconds: 14, within: .seconds(40))
        #expect(play.frames.count >= 2 && (0..<play.frames.count).allSatisfy { play.frames.mean($0) > 200 })
        let status = try await vidicon.status { _ in true }
        #expect(status.isSlateShown == false)
        publisher.kill()
        _ = try await vidicon.status { $0.isSlateShown == true }
      }
    }
  }
}
