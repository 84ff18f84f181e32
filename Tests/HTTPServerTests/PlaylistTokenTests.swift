import NIOCore
import Testing

@testable import HLSServer

@Suite("Tokens in playlists")
struct PlaylistTokenTests {
  /// RFC 8216 §8.1 and draft-pantos-hls-rfc8216bis, with addresses as this server has them.
  @Test(arguments: [
    (
      "#EXTM3U\n#EXT-X-STREAM-INF:BANDWIDTH=1\nlive.m3u8\n",
      "#EXTM3U\n#EXT-X-STREAM-INF:BANDWIDTH=1\nlive.m3u8?token=T\n"
    ),
    ("#EXTINF:1,\na.ts\n#EXT-X-ENDLIST", "#EXTINF:1,\na.ts?token=T\n#EXT-X-ENDLIST"),
    (
      "#EXT-X-MAP:URI=\"i.mp4\"\n#EXT-X-PART:DURATION=0.2,URI=\"a.0.m4s\",INDEPENDENT=YES\n",
      "#EXT-X-MAP:URI=\"i.mp4?token=T\"\n#EXT-X-PART:DURATION=0.2,URI=\"a.0.m4s?token=T\",INDEPENDENT=YES\n"
    ),
    ("#EXT-X-PRELOAD-HINT:TYPE=PART,URI=\"a\"", "#EXT-X-PRELOAD-HINT:TYPE=PART,URI=\"a?token=T\""),
    ("", ""), ("\n\n", "\n\n"), ("#X:URI=\"a", "#X:URI=\"a"),
  ])
  func `each address has the token`(playlist: String, changed: String) {
    #expect(String(buffer: PlaylistToken.add("T", to: ByteBuffer(string: playlist))) == changed)
  }

  @Test func `a token is percent-encoded`() {
    #expect(
      String(buffer: PlaylistToken.add("aZ0-._~+/=\"\n", to: ByteBuffer(string: "a")))
        == "a?token=aZ0-._~%2B%2F%3D%22%0A")
  }
}
