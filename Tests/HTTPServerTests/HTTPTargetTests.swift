import Streaming
import Testing

@testable import HTTPServer

@Suite("Request target, RFC 9110 §7.1 and RFC 3986 §3.3")
struct HTTPTargetTests {
  @Test(arguments: [
    ("/", []), ("/a", ["a"]), ("/a/b.ts", ["a", "b.ts"]), ("/a%20b/%C3%A9", ["a b", "é"]), ("/a+b", ["a+b"]),
    ("http://host:1/a", ["a"]), ("HTTPS://host", []), ("http://host?x", []), ("/a#b", ["a"]), ("/...", ["..."]),
    ("/a%2Eb", ["a.b"]), ("/%25", ["%"]),
  ])
  func `a path is split into decoded segments`(text: String, components: [String]) throws {
    #expect(try HTTPTarget(parsing: text).components == components)
  }

  @Test(arguments: [
    "", "*", "a", "ftp://host/a", "/..", "/a/../b", "/%2e%2E/a", "/.", "/a%2Fb", "/a%5cb", "/a\\b", "/%00", "/a%0d%0a",
    "/%", "/%4", "/%4g", "/%ff", "/%c3", "host:80",
  ])
  func `a path with ambiguous segments is malformed`(text: String) {
    #expect {
      try HTTPTarget(parsing: text)
    } throws: {
      if case .malformed? = $0 as? HTTPTarget.Failure { true } else { false }
    }
  }

  @Test(arguments: ["//", "//a", "/a//b", "/a//"])
  func `an empty segment is not found`(text: String) {
    #expect(throws: HTTPTarget.Failure.notFound) { try HTTPTarget(parsing: text) }
  }

  @Test func `a trailing slash is detected`() throws {
    #expect(try HTTPTarget(parsing: "/a/").hasTrailingSlash)
    #expect(try HTTPTarget(parsing: "/a/").components == ["a"])
    #expect(try !HTTPTarget(parsing: "/a").hasTrailingSlash)
    #expect(try !HTTPTarget(parsing: "/").hasTrailingSlash)
  }

  @Test func `parameters of the query are decoded`() throws {
    let target = try HTTPTarget(parsing: "/a?width=5&text=http%3A%2F%2Fh+x&empty=&none&bad=%f")
    #expect(target.query == "width=5&text=http%3A%2F%2Fh+x&empty=&none&bad=%f")
    #expect(try target.number("width", in: 1...9) == 5)
    #expect(target.parameter("text") == "http://h x")
    #expect(target.parameter("empty") == "")
    #expect(target.parameter("none") == "")
    #expect(target.parameter("bad") == nil)
    #expect(target.parameter("other") == nil)
    #expect(throws: HTTPRefusal.self) { try target.number("width", in: 6...9) }
    #expect(throws: HTTPRefusal.self) { try target.number("text", in: 0...9) }
  }

  @Test func `the path of a name with slashes and reserved characters is parsed back`() throws {
    #expect(try HTTPTarget(parsing: LiveStream.path(ofName: "a b/ü%?#")).components == ["a b", "ü%?#"])
  }

  @Test(arguments: [
    ("/a?x=1", "/a?x=1", true), ("http://h/a?x=1", "/a?x=1", true), ("/a", "/a?x=1", false), ("/a", "/b", false),
    ("/a/b", "/a", false), ("", "/a", false),
  ])
  func `a Digest response is valid for one target`(proven: String, requested: String, isSame: Bool) {
    #expect(HTTPTarget.isSame(proven, requested) == isSame)
  }
}
