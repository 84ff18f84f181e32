import Testing

@testable import ControlAPI

@Suite("Routes")
struct HTTPRouteTests {
  static let names = ["hello", "a", "a/b", "api", "with space", "old/recording", "old"]

  @Test(
    arguments: [
      ([], .list), (["health"], .health), (["metrics"], .metrics), (["ca"], .authority),
      (["hello", "ca"], .file("ca", stream: "hello")),
      (["api", "streams"], .streams),
      (["api", "openapi.json"], .openAPI), (["api", "qr.svg"], .qrCode),
      (["api", "streams", "hello"], .stream("hello")),
      (["api", "streams", "a", "b"], .stream("a/b")), (["api", "streams", "none"], .notFound),
      (["api", "streams", "a", "b", "recording"], .recording(stream: "a/b")),
      (["api", "streams", "none", "recording"], .notFound), (["api", "streams", "recording"], .notFound),
      (["api", "streams", "old", "recording"], .stream("old/recording")),
      (["api", "streams", "old", "recording", "recording"], .recording(stream: "old/recording")),
      (["api", "streams", "a", "b", "source"], .source(stream: "a/b")),
      (["api", "streams", "a", "level"], .level(stream: "a")), (["api", "streams", "none", "source"], .notFound),
      (["api", "streams", "a", "b", "publisher"], .publisher(stream: "a/b")),
      (["api", "streams", "a", "other"], .notFound), (["api", "devices"], .devices),
      (["api", "reload"], .reload), (["api", "reload", "x"], .notFound),
      (["api", "configuration"], .configuration), (["api", "configuration", "x"], .notFound),
      (["api", "check"], .check), (["api", "check", "x"], .notFound), (["a", "check"], .file("check", stream: "a")),
      (["api", "recordings"], .recordingList), (["recordings"], .recordings),
      (["recordings", "a", "b", "x.mp4"], .recordedFile(["a", "b", "x.mp4"])), (["recordings", "a"], .notFound),
      (["hello"], .page("hello")), (["with space"], .page("with space")), (["a", "b"], .page("a/b")),
      (["a", "b", "mjpeg"], .motionJPEG("a/b")), (["a", "mjpeg"], .motionJPEG("a")),
      (["a", "snapshot.jpg"], .snapshot("a")), (["a", "b", "x.ts"], .file("x.ts", stream: "a/b")),
      (["a", "c", "x.ts"], .notFound), (["api"], .page("api")),
      (["api", "index.m3u8"], .file("index.m3u8", stream: "api")),
      (["playlist.m3u8"], .file("playlist.m3u8", stream: "hello")), (["snapshot.jpg"], .snapshot("hello")),
      (["_page", "a.css"], .pageFile("/_page/a.css")), (["none", "x.ts"], .notFound),
    ] as [([String], HTTPRoute)])
  func `the longest matching name of a stream wins`(components: [String], route: HTTPRoute) {
    #expect(HTTPRoute(components, names: Self.names) == route)
  }

  @Test(
    arguments: [
      (["hello", "low", "live.m3u8"], .file("live.m3u8", stream: "hello/low")),
      (["a", "b", "low", "x.ts"], .file("x.ts", stream: "a/b/low")),
      (["hello", "low", "snapshot.jpg"], .snapshot("hello/low")),
      (["hello", "low", "mjpeg"], .motionJPEG("hello/low")),
      (["low", "live.m3u8"], .file("live.m3u8", stream: "hello/low")),
      (["hello", "main", "live.m3u8"], .file("live.m3u8", stream: "hello/main")),
      (["hello", "high", "live.m3u8"], .notFound), (["high", "live.m3u8"], .notFound),
      (["hello", "whep"], .whep("hello")), (["hello", "low", "whep"], .whep("hello/low")), (["whep"], .whep("hello")),
      (["hello", "whep", "0"], .whepSession("0", stream: "hello")),
      (["a", "b", "low", "whep", "0"], .whepSession("0", stream: "a/b/low")), (["none", "whep", "0"], .notFound),
      (["hello", "whip"], .whip("hello")), (["a", "b", "whip"], .whip("a/b")), (["whip"], .whip("hello")),
      (["hello", "publish"], .publish("hello")), (["a", "b", "publish"], .publish("a/b")),
      (["a", "b", "whip", "0"], .whipSession("0", stream: "a/b")), (["none", "whip", "0"], .notFound),
      // No publisher sends a rendition.
      (["hello", "low", "publish"], .file("publish", stream: "hello/low")),
      (["hello", "low", "whip"], .file("whip", stream: "hello/low")), (["hello", "low", "whip", "0"], .notFound),
      (["hello", "low"], .file("low", stream: "hello")), (["a", "low", "x.ts"], .notFound),
      // A stream's own files come first.
      (["hello", "live.m3u8"], .file("live.m3u8", stream: "hello")),
      (["api", "streams", "hello", "low"], .notFound),
    ] as [([String], HTTPRoute)])
  func `renditions have files as streams do`(components: [String], route: HTTPRoute) {
    let renditions = ["hello/low", "hello/main", "a/b/low"]
    #expect(HTTPRoute(components, names: Self.names, renditions: renditions) == route)
  }

  @Test func `without streams only fixed paths are routes`() {
    #expect(HTTPRoute(["playlist.m3u8"], names: []) == .notFound)
    #expect(HTTPRoute([], names: []) == .list)
  }
}
