import Foundation
import Testing

extension EndToEnd {
  /// Neither end of these connections is judged by our own parser.
  @Suite("RTMP as tshark dissects it")
  struct RTMPDissection {
    private static let plasma = ["--source", "plasma", "--audio", "tone", "--size", "320x180", "--fps", "30"]
    private static let key = "0123456789abcdef0123"

    @Test func `of what players get nothing is malformed or unknown`() async throws {
      try await VidiconProcess.serving(Self.plasma + ["--rtmp-port", "0"]) { vidicon in
        let capture = try await RTMPCapture.dissecting(port: try #require(vidicon.started.rtmpPort)) {
          let play = try await Tool.run(
            "ffmpeg", FFmpeg.quiet + ["-i", vidicon.rtmp(), "-t", "3"] + FFmpeg.decoding, within: .seconds(20))
          #expect(play.succeeded, "\(play.errors)")
        }
        capture.expectUnderstood(
          with: ["Handshake S0+S1+S2", "NetStream.Play.Start", "onMetaData()", "Video Data", "Audio Data"])
      }
    }

    @Test func `of what is pushed to nginx nothing is malformed or unknown`() async throws {
      try await TestMedia.withTemporaryFolder { folder in
        let nginx = try NginxRTMP(in: folder, port: FreePort.take())
        let server = try nginx.start()
        defer { server.kill() }
        let capture = try await RTMPCapture.dissecting(port: nginx.port) {
          // Ended within the capture, which has its goodbye.
          try await VidiconProcess.serving(Self.plasma + ["--push", nginx.url("key")]) { vidicon in
            _ = try await vidicon.status { stream in
              stream.pushes?.first.map { $0.state == "sending" && $0.bytesSent > 100_000 } == true
            }
          }
        }
        capture.expectUnderstood(
          with: [
            "Handshake C0+C1", "Handshake C2", "Set Chunk Size", "connect('app')", "releaseStream('key')",
            "FCPublish('key')", "createStream()", "publish('key')", "NetStream.Publish.Start", "@setDataFrame()",
            "Video Data", "Audio Data", "FCUnpublish(", "deleteStream(",
          ])
      }
    }

    @Test func `of the dialogue with a publisher nothing is malformed or unknown`() async throws {
      let options = ["--source", "rtmp:?key=\(Self.key)", "--size", "320x180", "--fps", "30", "--rtmp-port", "0"]
      try await VidiconProcess.serving(options) { vidicon in
        let capture = try await RTMPCapture.dissecting(port: try #require(vidicon.started.rtmpPort)) {
          try await RTMPPublisher.publishing(RTMPPublisher.small, to: vidicon.rtmp("live/\(Self.key)")) { _ in
            _ = try await vidicon.status { ($0.framesPassedThrough ?? 0) > 60 }
          }
        }
        capture.expectUnderstood(
          with: [
            "Handshake S0+S1+S2", "Window Acknowledgement Size", "Set Peer Bandwidth", "Set Chunk Size", "_result()",
            "onFCPublish()", "Stream Begin 1", "NetStream.Publish.Start", "Video Data", "Audio Data",
          ])
      }
    }
  }
}
