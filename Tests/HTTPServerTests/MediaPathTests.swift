import HLS
import Media
import Testing

@testable import ControlAPI
@testable import HLSServer
@testable import HTTPServer

@Suite("Paths of files of streams")
struct MediaPathTests {
  private static let names = ["a", "a/b", "c"]
  private static let renditions = ["a/low", "a/b/low", "c/low"]

  @Test(
    arguments: [
      (["a", "f"], "a", false), (["a", "b", "f"], "a/b", false), (["a", "low", "f"], "a/low", true),
      (["a", "b", "low", "f"], "a/b/low", true), (["f"], "a", false), (["low", "f"], "a/low", true),
      (["low"], "a", false), (["c", "f"], "c", false),
    ])
  func `the last segment is a file, those before it name a stream or a rendition`(
    components: [String], stream: String, isRendition: Bool
  ) throws {
    let path = try #require(MediaPath(components, names: Self.names, renditions: Self.renditions))
    #expect(path.stream == stream && path.isRendition == isRendition && path.file == components.last)
  }

  @Test(arguments: [[], ["a"], ["a", "b"], ["d", "f"], ["a", "f", "g"], ["c", "b", "low", "f"]])
  func `streams themselves and unknown names have no file`(components: [String]) {
    #expect(MediaPath(components, names: Self.names, renditions: Self.renditions) == nil)
  }

  @Test func `without a stream there is no file`() {
    #expect(MediaPath(["f"], names: [], renditions: []) == nil)
  }

  /// Files that are answered without the router's decision.
  @Test(arguments: [["a", "playlist.m3u8"], ["live.m3u8"], ["a", "b", "t-17.ts"], ["c", "t-init1.mp4"]])
  func `a file of HLS is the same one to the router`(components: [String]) throws {
    let path = try #require(MediaPath(components, names: Self.names, renditions: Self.renditions))
    let route = HTTPRoute(components, names: Self.names, renditions: Self.renditions)
    #expect(route == .file(path.file, stream: path.stream) && route.crossSiteUse == .media)
  }

  /// Paths of other resources, by their last segments.
  @Test(
    arguments: [
      ["health"], ["metrics"], ["ca"], ["recordings"], ["api", "streams"], ["api", "streams", "a", "level"],
      ["api", "streams", "a", "events"], ["a"], ["a", "snapshot.jpg"], ["a", "mjpeg"], ["a", "whep"], ["a", "whip"],
      ["a", "publish"], ["a", "whep", "t-1.ts"],
    ])
  func `no other resource has the name of a file of HLS`(components: [String]) {
    let path = MediaPath(components, names: Self.names, renditions: Self.renditions)
    #expect(path.flatMap { HLSRequest(file: $0.file, query: "", arrival: .zero) } == nil)
  }
}
