import Authentication
import Capture
import Media
import TestSupport
import Testing

@testable import HTTPServer
@testable import Streaming

@Suite("Renditions over HTTP", .timeLimit(.minutes(2)))
struct RenditionsOverHTTPTests {
  /// A server with the stream `a/b`, 64x64, and its rendition `low`, 32x32.
  private func withStream(
    access: AccessControl = .permissive(), _ body: (_ stream: LiveStream, _ port: Int) async throws -> Void
  ) async throws {
    try await withServer(access: access) { server, port in
      let low = RenditionSettings(name: "low", width: 32, height: 32, bitrate: 50_000)
      let stream = LiveStream(
        "a/b", video: VideoSettings(width: 64, height: 64, frameRate: 30, renditions: .list([low])))
      stream.attachVideo(PlasmaCapturer())
      try await stream.start()
      server.publish(stream)
      do {
        try await body(stream, port)
      } catch {
        await stream.stop()
        throw error
      }
      await stream.stop()
    }
  }

  /// The first playlist that has a part.
  private static let start = "live.m3u8?_HLS_msn=0&_HLS_part=0"

  /// Address of the last part in a playlist.
  private static func part(_ playlist: String) throws -> Substring {
    let line = try #require(playlist.split(separator: "\n").last { $0.hasPrefix("#EXT-X-PART:") })
    return line.split(separator: "\"")[1]
  }

  @Test func `each has playlists and images, and all run while one is played`() async throws {
    try await self.withStream { stream, port in
      let low = try #require(stream.rendition(named: "low"))
      let variants = try await RawClient.get("/a/b/index.m3u8", port: port).body.split(separator: "\n")
      #expect(variants.filter { !$0.hasPrefix("#") } == ["main/live.m3u8", "low/live.m3u8"])
      #expect(low.statistics.users == 0)
      let main = try await RawClient.get("/a/b/main/\(Self.start)", port: port)
      #expect(main.head.hasPrefix("HTTP/1.1 200"))
      #expect(low.statistics.users == 1)
      for path in ["/a/b/low", "/low"] {
        let playlist = try await RawClient.get("\(path)/\(Self.start)", port: port)
        #expect(playlist.head.contains("application/vnd.apple.mpegurl"))
        #expect(playlist.body.contains("#EXT-X-RENDITION-REPORT:URI=\"../main/live.m3u8\",LAST-MSN="))
        let part = try await RawClient.get("\(path)/\(try Self.part(playlist.body))", port: port, method: "HEAD")
        #expect(part.head.hasPrefix("HTTP/1.1 200") && part.head.contains("video/mp4"))
      }
      let image = try await RawClient.get("/a/b/low/snapshot.jpg", port: port, method: "HEAD").head
      #expect(image.hasPrefix("HTTP/1.1 200") && image.contains("image/jpeg"))
      for path in ["/a/b/none/live.m3u8", "/a/b/low/none.m4s", "/a/b/low/index.m3u8", "/a/b/low"] {
        #expect(try await RawClient.get(path, port: port).head.hasPrefix("HTTP/1.1 404"), "\(path)")
      }
    }
  }

  @Test func `the state and the metrics of the stream have those of each rendition`() async throws {
    try await self.withStream { stream, port in
      let before = try await RawClient.get("/api/streams/a/b", port: port).body
      #expect(before.contains(#""renditions":[{"#) && before.contains(#""encoding":false"#))
      #expect(!before.contains("encodeMilliseconds"))
      _ = try await RawClient.get("/a/b/low/\(Self.start)", port: port)
      let entry = try await RawClient.get("/api/streams/a/b", port: port).body
      let list = try #require(entry.firstMatch(of: /"renditions":\[\{(.*?)\}\]/)).output.1
      for member in [
        #""name":"low""#, #""hls":"/a/b/low/live.m3u8""#, #""snapshot":"/a/b/low/snapshot.jpg""#, #""width":32"#,
        #""height":32"#, #""frameRate":30"#, #""bitrate":50000"#, #""encoding":true"#, #""failed":false"#, #""hls":1"#,
        #""rtsp":0"#, #""encodeMilliseconds":"#,
      ] {
        #expect(list.contains(member), "\(member) \(list)")
      }
      let metrics = try await RawClient.get("/metrics", port: port).body
      for line in [
        #"vidicon_rendition_viewers{stream="a/b",rendition="low",protocol="hls"} 1"#,
        #"vidicon_rendition_encoding{stream="a/b",rendition="low"} 1"#,
        #"vidicon_rendition_bitrate{stream="a/b",rendition="low"} 50000"#,
        #"vidicon_rendition_starts_total{stream="a/b",rendition="low"} 1"#,
      ] {
        #expect(metrics.contains(line + "\n"), "\(line)")
      }
      #expect(metrics.contains("vidicon_rendition_encode_seconds_total{stream=\"a/b\",rendition=\"low\"} 0."))
    }
  }

  @Test func `a password protects each address of a rendition`() async throws {
    let access = AccessControl.permissive {
      $0.users = [Credentials(user: "us", password: "pw")]
      $0.control = .operators
    }
    try await self.withStream(access: access) { _, port in
      let paths = [
        "/a/b/index.m3u8", "/a/b/main/\(Self.start)", "/a/b/low/\(Self.start)", "/low/\(Self.start)",
        "/a/b/low/snapshot.jpg", "/a/b/low/mjpeg", "/a/b/low/x-1.m4s", "/a/b/low/playlist.m3u8",
      ]
      for path in paths {
        #expect(try await RawClient.get(path, port: port).head.hasPrefix("HTTP/1.1 401"), "\(path)")
      }
      for path in paths.prefix(5) {
        let response = try await RawClient.get(path, port: port, method: "HEAD", "Authorization: Basic dXM6cHc=")
        #expect(response.head.hasPrefix("HTTP/1.1 200"), "\(path)")
        #expect(!response.head.contains("public"), "\(path)")
      }
    }
  }

  @Test func `once faces are private, what each rendition had is gone`() async throws {
    try await self.withStream { stream, port in
      let playlist = try await RawClient.get("/a/b/low/\(Self.start)", port: port).body
      let part = try Self.part(playlist)
      let initialization = try #require(playlist.firstMatch(of: /EXT-X-MAP:URI="([^"]*)"/)).output.1
      let ofMain = try Self.part(try await RawClient.get("/a/b/main/\(Self.start)", port: port).body)
      stream.discardEarlier()
      for path in ["low/\(part)", "low/\(initialization)", "main/\(ofMain)", ofMain] {
        #expect(try await RawClient.get("/a/b/\(path)", port: port).head.hasPrefix("HTTP/1.1 410"), "\(path)")
      }
      // It goes on with new segments.
      let next = try await RawClient.get("/a/b/low/live.m3u8", port: port)
      #expect(next.head.hasPrefix("HTTP/1.1 200") && !next.body.contains("\"\(part)\""))
    }
  }
}
