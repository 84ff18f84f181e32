import Foundation
import Testing

extension EndToEnd {
  @Suite("Sources of the network", .serialized)
  struct NetworkSources {
    /// Slices of H.264 in a file with start codes.
    private static func slices(_ path: String) throws -> [Data] {
      let bytes = try Data(contentsOf: URL(fileURLWithPath: path))
      var slices: [Data] = []
      var rest = bytes[...]
      let code = Data([0, 0, 1])
      while let start = rest.range(of: code) {
        rest = rest[start.upperBound...]
        let end = rest.range(of: code)?.lowerBound ?? rest.endIndex
        var unit = rest[..<end]
        while unit.last == 0 { unit.removeLast() }
        if let type = unit.first.map({ $0 & 31 }), type == 1 || type == 5 { slices.append(Data(unit)) }
        rest = rest[end...]
      }
      return slices
    }

    private static func record(_ url: String, to path: String, seconds: Int) async throws {
      let run = try await Tool.run(
        "ffmpeg",
        FFmpeg.quiet + FFmpeg.overTCP + [
          "-i", url, "-map", "0:v", "-c", "copy", "-t", "\(seconds)", "-f", "h264", path,
        ],
        within: .seconds(seconds + 20))
      #expect(run.succeeded)
    }

    @Test func `a camera of another Vidicon is passed on byte for byte, and comes back after its end`() async throws {
      try await TestMedia.withTemporaryFolder { folder in
        let camera = ["--source", "bars", "--size", "320x240"]
        let port = try await VidiconProcess.serving(camera) { camera in
          try await VidiconProcess.serving(["--source", camera.url()]) { vidicon in
            _ = try await vidicon.status { $0.framesIn ?? 0 > 30 }
            async let first: Void = Self.record(camera.url(), to: "\(folder)/a.h264", seconds: 6)
            async let second: Void = Self.record(vidicon.url(), to: "\(folder)/b.h264", seconds: 4)
            _ = try await (first, second)
            let (sent, received) = (try Self.slices("\(folder)/a.h264"), try Self.slices("\(folder)/b.h264"))
            #expect(received.count > 60)
            let known = Set(sent)
            #expect(received.count { !known.contains($0) } < received.count / 2)
            let start = try #require(received.firstIndex { known.contains($0) })
            let offset = try #require(sent.firstIndex(of: received[start]))
            let count = min(sent.count - offset, received.count - start)
            #expect(count > 30)
            #expect(Array(sent[offset..<offset + count]) == Array(received[start..<start + count]))
            #expect(try await vidicon.status { _ in true }.framesEncoded == 0)

            camera.child.kill()
            _ = try await vidicon.status { $0.framesEncoded ?? 0 > 10 }
            let arguments = [
              "serve", "--json", "--no-discovery", "--rtsp-port", "\(camera.rtspPort)", "--http-port", "0",
            ]
            let back = try ChildProcess(VidiconProcess.path(), arguments + ["--source", "bars", "--size", "320x240"])
            defer { back.kill() }
            // It encodes no more than up to the first keyframe after the connection.
            var last = -1
            for _ in 0..<20 {
              let now = try await vidicon.status { _ in true }.framesEncoded ?? 0
              if now == last, vidicon.child.errors.text.contains("is back") { break }
              last = now
            }
            #expect(vidicon.child.errors.text.contains("the video source is back"))
          }
          return camera.rtspPort
        }
        #expect(port > 0)
      }
    }

    @Test func `wrong passwords, missing streams and silent servers end in a line`() async throws {
      try await VidiconProcess.serving(["--source", "bars", "--size", "320x240", "--user", "jo:right"]) { camera in
        let address = "127.0.0.1:\(camera.rtspPort)"
        let cases = [
          ("rtsp://jo:wrong@\(address)/live", "the user name or password is wrong"),
          ("rtsp://\(address)/live", "it asks for a user name and password"),
          ("rtsp://jo:right@\(address)/nothing", "404"),
        ]
        for (source, cause) in cases {
          let (exit, errors) = try await VidiconProcess.run(
            ["serve", "--no-discovery", "--rtsp-port", "0", "--http-port", "0", "--source", source])
          #expect(exit == .status(1))
          #expect(errors.contains(cause), "\(errors)")
          #expect(!errors.contains("right@") && !errors.contains("jo:"))
          #expect(errors.split(separator: "\n").count == 1)
        }
      }
    }

    @Test func `an RTMP source with B-pictures is encoded anew`() async throws {
      let ffmpeg = try Tool("ffmpeg").path
      let port = 20_000 + Int.random(in: 0..<10_000)
      let url = "rtmp://127.0.0.1:\(port)/live/x"
      let server = try ChildProcess(
        ffmpeg,
        FFmpeg.quiet + ["-re", "-f", "lavfi", "-i", "testsrc=s=320x240:r=25", "-f", "lavfi", "-i", "sine=r=48000"]
          + ["-pix_fmt", "yuv420p", "-c:v", "libx264", "-preset", "ultrafast", "-bf", "2", "-g", "50", "-c:a", "aac"]
          + ["-f", "flv", "-listen", "1", url])
      defer { server.kill() }
      // It listens when it has started.
      while try await VidiconProcess.run([
        "record", "\(NSTemporaryDirectory())/none.mp4", "--source", "rtmp://127.0.0.1:\(port + 20_000)/x",
      ]).exit == nil {}
      try await VidiconProcess.serving(["--source", url]) { vidicon in
        let play = try await FFmpeg.play(vidicon.url(), seconds: 5)
        #expect(play.run.succeeded)
        #expect(abs(play.frameRate - 25) < 1)
        #expect(try await vidicon.status { _ in true }.framesEncoded ?? 0 > 50)
      }
    }
  }
}
