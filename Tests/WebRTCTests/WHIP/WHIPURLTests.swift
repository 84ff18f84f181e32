import Authentication
import Media
import Testing

@testable import WebRTC

@Suite("WHIP URLs")
struct WHIPURLTests {
  @Test(
    arguments: [
      ("whip+https://example.org/whip/abc?key=1", true, "example.org", 443, "/whip/abc?key=1"),
      ("WHIP+HTTPS://example.org", true, "example.org", 443, "/"),
      ("whip+http://127.0.0.1:8080/live/whip", false, "127.0.0.1", 8080, "/live/whip"),
      ("whip+https://[2001:db8::1]:8443?a=/b#c", true, "2001:db8::1", 8443, "/?a=/b"),
      ("whip+https://example.org/a/./b/../c/", true, "example.org", 443, "/a/c/"),
    ] as [(String, Bool, String, UInt16, String)])
  func `a URL has host, port and target`(text: String, isEncrypted: Bool, host: String, port: UInt16, target: String)
    throws
  {
    let url = try WHIPURL(parsing: text)
    #expect(url.isEncrypted == isEncrypted && url.host == host && url.port == port && url.target.text == target)
  }

  @Test(
    arguments: [
      ("https://example.org/whip", "scheme"), ("rtmp://example.org/a/b", "scheme"),
      ("whip+ftp://example.org", "scheme"),
      ("whip+https:example.org", "URL"), ("whip+https://example.org/a b", "URL"),
      ("whip+https://example.org/\r\nX: y", "URL"), ("whip+https:///whip", "host"),
      ("whip+https://user:password@example.org/whip", "host"), ("whip+https://[::1/whip", "host"),
      ("whip+https://example.org:0/whip", "port"), ("whip+https://example.org:65536/whip", "port"),
      ("whip+https://example.org:/whip", "port"), ("whip+https://example.org:+1/whip", "port"),
    ])
  func `malformed URLs name the part that is wrong`(text: String, field: String) {
    do throws(ParsingError) {
      _ = try WHIPURL(parsing: text)
      Issue.record("accepted")
    } catch {
      #expect(error.field == field)
    }
  }

  @Test(
    arguments: [
      ("/session/1", "https://example.org:8443/session/1"),
      ("session/1?x=2", "https://example.org:8443/a/session/1?x=2"),
      ("../b", "https://example.org:8443/b"), ("?b=3", "https://example.org:8443/a/whip?b=3"),
      ("https://other.example/s", "https://other.example/s"), ("//other.example/s", "https://other.example/s"),
      ("http://example.org:8443/s", nil), ("ftp://example.org/s", nil), ("", nil), ("/a\r\nb", nil), ("/a b", nil),
    ] as [(String, String?)])
  func `a location is relative to the URL, and never leaves HTTPS`(location: String, resolved: String?) throws {
    let base = try WHIPURL(parsing: "whip+https://example.org:8443/a/whip?key=1")
    #expect(try base.resolved(location) == resolved.map { try WHIPURL(http: $0) })
  }

  @Test func `no description has the path, which may be a stream key`() throws {
    let url = try WHIPURL(parsing: "whip+https://example.org:8443/secret/path?key=hidden")
    #expect(url.address == "whip+https://example.org:8443" && "\(url)" == url.address)
    var dumped = ""
    dump(url, to: &dumped)
    #expect(!dumped.contains("secret") && !dumped.contains("hidden"))
  }

  @Test func `origins differ by scheme, host or port`() throws {
    let url = try WHIPURL(parsing: "whip+https://example.org/a")
    #expect(try url.hasOrigin(of: WHIPURL(parsing: "whip+https://EXAMPLE.org:443/b")))
    for other in ["whip+http://example.org:443/a", "whip+https://example.net/a", "whip+https://example.org:444/a"] {
      #expect(try !url.hasOrigin(of: WHIPURL(parsing: other)))
    }
  }
}
