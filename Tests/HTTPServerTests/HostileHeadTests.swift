import Authentication
import Streaming
import Testing

@testable import ControlAPI
@testable import HTTPServer

/// Feeds nearly valid texts to the server's own request parsers.
@Suite("Hostile paths and header values")
struct HostileHeadTests {
  private static let pieces = [
    "/", "//", "a", "..", ".", "%2f", "%2F", "%", "%4", "%41", "%C3%BC", "%FF", "?", "#", "\\", "\u{0}", "\r\n", " ",
    "://",
    "http", "https", "bytes=", "-", "0", "7", "99999999999999999999", ",", ";", "q=", "1.", "0.5", "gzip", "identity",
    "*",
    "\"", "W/", "\"t\"", "-gzip", "ü", "\u{301}", "&", "=", "text", "Basic ", "Digest ", "nonce=", "uri=", "YQ==",
  ]

  private static let texts = makeTexts(of: pieces)

  private static func makeTexts(of pieces: [String]) -> [String] {
    // SplitMix64 with a fixed seed: the same texts in each run.
    var state: UInt64 = 2026
    func next(below limit: Int) -> Int {
      state &+= 0x9E37_79B9_7F4A_7C15
      var bits = state
      bits = (bits ^ bits >> 30) &* 0xBF58_476D_1CE4_E5B9
      bits = (bits ^ bits >> 27) &* 0x94D0_49BB_1331_11EB
      return Int((bits ^ bits >> 31) % UInt64(limit))
    }
    return (0..<20_000).map { _ in
      (0...next(below: 8)).map { _ in pieces[next(below: pieces.count)] }.joined()
    }
  }

  @Test func `a parsed path has plain segments and survives a round trip`() {
    var count = 0
    for text in Self.texts {
      for target in ["/" + text, text] {
        guard let read = try? HTTPTarget(parsing: target) else { continue }
        count += 1
        _ = read.parameter("text")
        _ = HTTPRoute(read.components, names: ["a", "a/a", "ü"])
        for part in read.components {
          #expect(!part.isEmpty && part != "." && part != ".." && !part.utf8.contains(UInt8(ascii: "/")), "\(target)")
        }
        let again = try? HTTPTarget(parsing: LiveStream.path(ofName: read.components.joined(separator: "/")))
        #expect(again?.components == read.components, "\(target)")
      }
    }
    #expect(count > 1_000)
  }

  @Test func `a range is within the content`() {
    var count = 0
    for text in Self.texts + Self.makeTexts(of: ["-", "0", "7", "99999999999999999999", ",", " "]) {
      for length in [0, 1, 10] {
        guard case .part(let range) = ByteRange(parsing: "bytes=" + text, length: length) else { continue }
        #expect(!range.isEmpty && range.lowerBound >= 0 && range.upperBound <= length, "\(text)")
        count += 1
      }
    }
    #expect(count > 1_000)
  }

  @Test func `other values are parsed or ignored, and nothing traps`() {
    var (gzipCount, tagCount) = (0, 0)
    for text in Self.texts {
      if ContentCoding.acceptsGzip(text) { gzipCount += 1 }
      guard let tag = EntityTag.match(text, "\"t\"") else { continue }
      tagCount += 1
      #expect(["\"t\"", "\"t-gzip\""].contains(tag))
    }
    // Some of the texts are valid, and most are not.
    #expect((10..<10_000).contains(gzipCount) && (10..<10_000).contains(tagCount), "\(gzipCount), \(tagCount)")
  }
}
