import Media
import RTSP
import Testing

@Suite("Request URI, RFC 2326 §3.2")
struct RTSPURLTests {
  @Test(arguments: [
    ("rtsp://192.168.2.67", "", "rtsp://192.168.2.67"),
    ("rtsp://192.168.2.67:8554/", "", "rtsp://192.168.2.67:8554"),
    ("rtsp://host:/live", "live", "rtsp://host/live"),
    ("RTSPS://Host:322/live/", "live", "rtsps://Host:322/live"),
    ("rtsp://user:p%40ss@host/live", "live", "rtsp://host/live"),
    ("rtsp://[fe80::1%25eth0]:8554/live", "live", "rtsp://[fe80::1%25eth0]:8554/live"),
    ("rtsp://[::1]/a/b//", "a/b", "rtsp://[::1]/a/b"),
    ("rtsp://host//cam//1/", "cam/1", "rtsp://host//cam//1"),
    ("rtsp://host/live?token=a/b#c", "live", "rtsp://host/live"),
    ("rtsp://host?x=1", "", "rtsp://host"),
    ("rtsp://host/caf%C3%A9%20one%2", "café one%2", "rtsp://host/caf%C3%A9%20one%2"),
    ("rtsp://host/a%2Fb", "a/b", "rtsp://host/a%2Fb"),
    ("rtsp://host/live?a=1&rendition=low", "live/low", "rtsp://host/live/low"),
    ("rtsp://host/?rendition=low/trackID=0", "low", "rtsp://host/low"),
    ("rtsp://host/live?rendition=", "live", "rtsp://host/live"),
    ("rtsp://host/live?rendition=a%0D%0Ab", "live/a\r\nb", "rtsp://host/live/a%0D%0Ab"),
    ("/live/trackID=0", "live/trackID=0", nil),
    ("*", "", nil),
  ])
  func `every form of a URL has its stream path and base`(text: String, path: String, base: String?) throws {
    let url = try RTSPURL(parsing: text)
    #expect(url.streamPath == path)
    #expect(url.base == base)
    #expect(url.isAsterisk == (text == "*"))
  }

  @Test func `a URL is split into its parts`() throws {
    let url = try RTSPURL(parsing: "rtsp://[2001:db8::2]:554/a/b?c=d")
    #expect(url.scheme == "rtsp")
    #expect(url.host == "2001:db8::2")
    #expect(url.port == 554)
    #expect(url.path == "/a/b")
    #expect(url.query == "c=d")
  }

  @Test(arguments: [
    "", "live", "http://host/", "rtsp:/host", "rtsp://", "rtsp:///live", "rtsp://:8554/", "rtsp://host:0/",
    "rtsp://host:65536/", "rtsp://host:8a/", "rtsp://[::1/", "rtsp://[]/", "rtsp://[::1]8554/", "rtsp://a b/", "**",
  ])
  func `malformed URLs are refused`(text: String) {
    #expect(throws: ParsingError(.invalid, field: "Request-URI")) { try RTSPURL(parsing: text) }
  }

  @Test func `a path that is not UTF-8 names no stream`() throws {
    #expect(try RTSPURL(parsing: "rtsp://h/%ff").streamPath == nil)
  }
}
