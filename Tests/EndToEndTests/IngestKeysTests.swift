import Foundation
import Testing

extension EndToEnd {
  @Suite("Stream keys of publishers are shown nowhere")
  struct IngestKeys {
    private static let key = "SECRET-9876543210-KEY"

    /// Documents of the HTTP server, which operators on this machine may read.
    private static let paths = [
      "/", "/health", "/metrics", "/live", "/recordings/", "/api/openapi.json", "/api/streams",
      "/api/streams/live", "/api/streams/live/source", "/api/streams/live/level", "/api/streams/live/effects",
      "/api/streams/live/pushes", "/api/streams/live/publisher", "/api/streams/live/recording", "/api/session",
      "/api/devices", "/api/recordings",
    ]

    /// Publishes with ffmpeg while `body` runs.
    private static func publishing(
      over scheme: String, to vidicon: VidiconProcess, _ body: () async throws -> Void
    ) async throws {
      let output =
        try scheme == "rtmp"
        ? ["-f", "flv", vidicon.rtmp("live/\(Self.key)")]
        : ["-f", "rtsp", "-rtsp_transport", "tcp", "\(vidicon.url())?key=\(Self.key)"]
      let publisher = try ChildProcess(
        Tool("ffmpeg").path, ["-nostdin", "-v", "error", "-re"] + RTMPPublisher.small + output)
      defer { publisher.kill() }
      _ = try await vidicon.status { $0.isSlateShown == false && ($0.framesPassedThrough ?? 0) > 30 }
      try await body()
    }

    @Test(arguments: ["rtmp", "rtsp"])
    func `no document, no answer to a change of the source, and no output has the key`(scheme: String) async throws {
      let options = ["--source", "\(scheme):?key=\(Self.key)", "--size", "320x180", "--fps", "30", "--rtmp-port", "0"]
      try await VidiconProcess.serving(options) { vidicon in
        try await Self.publishing(over: scheme, to: vidicon) {
          for path in Self.paths {
            let answer = try await Curl.get(vidicon.page(path))
            #expect(answer.status < 500 && !answer.text.contains(Self.key), "\(path): \(answer.status)")
            #expect(!answer.headers.contains { $0.value.contains(Self.key) }, "\(path)")
            if ["/metrics", "/live", "/api/streams/live", "/api/streams/live/source"].contains(path) {
              #expect(answer.status == 200, "\(path)")
            }
          }
          // To another source and back, and with the key, which is not set over HTTP.
          for (source, status) in [
            ("plasma", 200...200), ("\(scheme):", 200...200), ("\(scheme):?key=\(Self.key)", 400...403),
          ] {
            let body = #"{"video":"\#(source)","audio":"\#(source == "plasma" ? "tone" : "auto")"}"#
            let answer = try await Curl.get(
              vidicon.page("/api/streams/live/source"),
              ["-X", "PUT", "-H", "Content-Type: application/json", "-d", body])
            #expect(status.contains(answer.status) && !answer.text.contains(Self.key), "\(source): \(answer.text)")
          }
        }
        _ = try await vidicon.status { $0.isSlateShown == true }
        for text in [vidicon.child.output.text, vidicon.child.errors.text] {
          #expect(!text.contains(Self.key), "\(text)")
        }
      }
    }
  }
}
