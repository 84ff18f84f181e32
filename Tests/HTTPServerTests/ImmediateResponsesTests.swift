import HTTPTypes
import Media
import TestSupport
import Testing
import Threading

@testable import ControlAPI
@testable import HLSServer
@testable import Streaming

@Suite("Responses without a task", .timeLimit(.minutes(5)))
struct ImmediateResponsesTests {
  private static func get(_ path: String, _ fields: String = "") -> String {
    "GET \(path) HTTP/1.1\r\nHost: localhost\r\n\(fields)\r\n"
  }

  private static func types(_ text: String) -> [String] {
    text.matches(of: #/Content-Type: ([^\r]+)/#).map { String($0.1) }
  }

  @Test func `requests that are sent together are answered in their order, also behind one that waits`() async throws {
    try await DiscardableTransfersTests.withSegment { _, _, port, segment in
      let end = StreamClock.system.now() + .seconds(300)
      var text = ""
      repeat {
        let playlist = try await RawClient.get("/a/live.m3u8", port: port).body
        let first = try #require(playlist.firstMatch(of: #/MEDIA-SEQUENCE:([0-9]+)/#).flatMap { Int($0.1) })
        let next = first + playlist.ranges(of: "#EXTINF").count
        let client = try await RawClient.connect(port: port)
        let requests = [
          Self.get("/a/playlist.m3u8"), Self.get("/a/live.m3u8?_HLS_msn=\(next)"), Self.get("/health"),
          Self.get(segment, "Range: bytes=0-187\r\n"), Self.get("/a/none.ts"),
          Self.get("/a/playlist.m3u8", "Content-Length: 4\r\n") + "body",
        ]
        text = try await client.exchange([requests.joined()])
        // On a busy machine the segment may come later than the server waits for it, three seconds.
      } while text.contains("HTTP/1.1 503") && StreamClock.system.now() < end
      let playlists = "application/vnd.apple.mpegurl"
      #expect(
        Self.types(text).map { $0.hasPrefix("text/plain") ? "text" : $0 } == [
          playlists, playlists, "text", "video/mp2t", "text", playlists,
        ])
      let statuses = text.matches(of: #/HTTP\/1.1 ([0-9]{3})/#).map { String($0.1) }
      #expect(statuses == ["200", "200", "200", "206", "404", "200"])
    }
  }

  @Test func `a client that does not read its responses gets no more than fits into its connection`() async throws {
    try await DiscardableTransfersTests.withSegment { stream, served, port, _ in
      let segment = try await DiscardableTransfersTests.longSegment(of: served)
      let client = try DiscardableTransfersTests.Client(port: port, receiveBuffer: 4096)
      let length = try DiscardableTransfersTests.length(try await RawClient.get(segment, port: port).head)
      let before = served.bytesSent(of: .hls)
      for _ in 0..<400 { client.request(segment) }
      try await eventually { served.bytesSent(of: .hls) > before }
      // Time for all of them: 400 segments are more than 40 MB.
      let encoded = stream.statistics.framesEncoded
      try await eventually { stream.statistics.framesEncoded > encoded + 10 }
      let sent = served.bytesSent(of: .hls) - before
      #expect(sent < 12_000_000 && sent < 200 * length, "\(sent) of \(400 * length)")
    }
  }
}
