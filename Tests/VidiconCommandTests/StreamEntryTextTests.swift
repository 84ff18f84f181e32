import ControlAPI
import Foundation
import Media
import Streaming
import Testing

@testable import VidiconCommand

@Suite("Streams of a running server in words")
struct StreamEntryTextTests {
  private static let server = RunningServer(address: ServerAddress(port: 0), token: nil)

  /// A response of `/api/streams` with one stream.
  private static func streams(_ members: String = "") throws -> StreamEntry {
    let json = """
      {"time": "2026-11-27T12:00:00Z", "streams": [{
        "name": "door", "page": "/door", "snapshot": "/door/snapshot.jpg", "mjpeg": "/door/mjpeg",
        "hls": "/door/index.m3u8", "ts": "/door/playlist.m3u8", "rtsp": [], "rtmp": [],
        "http": ["http://h:8080/door"], "viewers": {"rtsp": 1, "hls": 0}, "framesIn": 0, "framesEncoded": 0,
        "framesPassedThrough": 0, "audioFramesPassedThrough": 0, "framesDropped": 0, "loopLag": 0, "slate": false,
        "startedAt": "2026-11-27T11:00:00Z"\(members)
      }]}
      """
    return try #require(try Self.server.decode(StreamList.self, from: Data(json.utf8)).streams.first)
  }

  @Test func `a stream without renditions and rights is shown`() throws {
    let stream = try Self.streams()
    #expect(stream.renditions == nil && stream.role == nil)
    #expect(stream.lines(token: nil) == ["door   1 viewer", "  Browser    http://h:8080/door"])
  }

  @Test func `members of a newer server are left out`() throws {
    let stream = try Self.streams(#", "later": {"a": 1}, "login": "later", "effects": {"later": 1}, "mute": true"#)
    #expect(stream.lines(token: "t").first == "door   1 viewer   muted")
    #expect(stream.lines(token: "t").last == "  Control    http://h:8080/door#control=t")
  }

  @Test func `what the server encodes is decoded to an equal value`() throws {
    var stream = StreamEntry(LiveStream("door"), servedSince: .seconds(1))
    (stream.http, stream.viewers, stream.slate, stream.rotation) = (["http://h/door"], ["hls": 2], true, 90)
    let body = try JSONEncoder().encode(StreamList(time: "", streams: [stream]))
    #expect(try Self.server.decode(StreamList.self, from: body).streams == [stream])
    #expect(stream.lines(token: nil).first == "door   2 viewers   no signal   rotated by 90°")
  }

  @Test func `sources and renditions have lines of their own`() throws {
    func rendition(_ name: String, _ members: String) -> String {
      """
      {"name": "\(name)", "width": 640, "height": 360, "frameRate": 15, "bitrate": 450000, "framesEncoded": 0,
        "framesDropped": 0, \(members)}
      """
    }
    let renditions = [
      rendition(
        "low", #""encoding": true, "failed": false, "viewers": {"rtsp": 1, "hls": 1}, "encodeMilliseconds": 4.25"#),
      rendition("tiny", #""encoding": false, "failed": false, "viewers": {}"#),
      rendition("hw", #""encoding": false, "failed": true, "viewers": {}"#),
    ].joined(separator: ", ")
    let source = #"{"video": "rtsps://h/x", "audio": "mic:", "insecure": true, "started": {}}"#
    #expect(
      try Self.streams(", \"source\": \(source), \"renditions\": [\(renditions)]").lines(token: nil) == [
        "door   1 viewer", "  Source     rtsps://h/x", "  Audio      mic:",
        "  Source     its certificate is not verified (insecure=1)",
        "  Rendition  low   640×360   15 fps   0.45 Mb/s   2 viewers   4.2 ms per frame",
        "  Rendition  tiny   640×360   15 fps   0.45 Mb/s   unused",
        "  Rendition  hw   640×360   15 fps   0.45 Mb/s   failed",
        "  Browser    http://h:8080/door",
      ])
  }

  @Test func `a program of another kind is named as such`() {
    #expect {
      _ = try Self.server.decode(StreamList.self, from: Data("{}".utf8))
    } throws: { error in
      (error as? VidiconError)?.description.contains("no server of this version") == true
    }
  }
}
