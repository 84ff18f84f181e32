import HLS
import Media
import Testing

@Suite("Playlists of other servers, RFC 8216 §4")
struct HLSPlaylistDocumentTests {
  private static let head = "#EXTM3U\n#EXT-X-VERSION:3\n#EXT-X-TARGETDURATION:2\n"

  @Test func `a media playlist has its segments with their tags`() throws {
    let playlist = try HLSPlaylistDocument(
      parsing: """
        #EXTM3U
        #EXT-X-VERSION:7
        #EXT-X-TARGETDURATION:2
        #EXT-X-MEDIA-SEQUENCE:41
        #EXT-X-UNKNOWN:1
        #EXT-X-MAP:URI="init,1.mp4",BYTERANGE="1@2"
        #EXTINF:2.002,title
        a.m4s?t=1
        #EXT-X-KEY:METHOD=AES-128,URI="k"
        #EXT-X-BYTERANGE:100@5
        #EXTINF:1.5,
        b.m4s

        """)
    #expect(playlist.violations == [] && playlist.variants.isEmpty && !playlist.isEnded)
    #expect(playlist.segments.map(\.address) == ["a.m4s?t=1", "b.m4s"])
    #expect(
      playlist.segments.map(\.duration) == [2.002, 1.5] && playlist.segments.map(\.map) == ["init,1.mp4", "init,1.mp4"])
    #expect(
      playlist.segments.map(\.isEncrypted) == [false, true] && playlist.segments.map(\.isByteRange) == [false, true])
    #expect(
      playlist.version == 7 && playlist.targetDuration == 2 && playlist.mediaSequence == 41 && playlist.lastNumber == 42
    )
    #expect(playlist.startLatency == 6 && abs(playlist.duration - 3.502) < 1e-9)
  }

  @Test func `segments that are missing are marked, and count for nothing but their number`() throws {
    let playlist = try HLSPlaylistDocument(
      parsing: Self.head + "#EXT-X-GAP\n#EXTINF:2,\ngap.ts\n#EXTINF:2,\n#EXT-X-GAP\ngap.ts\n#EXTINF:1.5,\na.ts\n")
    #expect(playlist.segments.map(\.isGap) == [true, true, false] && playlist.violations == [])
    #expect(
      playlist.availableSegments.map(\.address) == ["a.ts"] && playlist.duration == 1.5 && playlist.lastNumber == 2)
  }

  @Test func `lines may end with CR LF, and a playlist may end`() throws {
    let playlist = try HLSPlaylistDocument(
      parsing: "#EXTM3U\r\n#EXT-X-TARGETDURATION:2\r\n#EXTINF:2,\r\na.ts\r\n#EXT-X-ENDLIST\r\n")
    #expect(playlist.violations == [] && playlist.isEnded && playlist.segments.map(\.address) == ["a.ts"])
  }

  @Test func `a multivariant playlist has its variants`() throws {
    let playlist = try HLSPlaylistDocument(
      parsing: """
        #EXTM3U
        #EXT-X-STREAM-INF:BANDWIDTH=1,CODECS="avc1.64001f,mp4a.40.2",RESOLUTION=1x1
        a/index.m3u8
        #EXT-X-STREAM-INF:BANDWIDTH=2
        b.m3u8

        """)
    #expect(playlist.violations == [] && playlist.variants.map(\.address) == ["a/index.m3u8", "b.m3u8"])
    #expect(playlist.variants.map(\.codecs) == ["avc1.64001f,mp4a.40.2", nil])
  }

  @Test func `a multivariant playlist has its renditions, of which players choose the default one`() throws {
    let playlist = try HLSPlaylistDocument(
      parsing: """
        #EXTM3U
        #EXT-X-MEDIA:TYPE=AUDIO,GROUP-ID="a",NAME="Deutsch",URI="de.m3u8"
        #EXT-X-MEDIA:TYPE=AUDIO,GROUP-ID="a",NAME="English",DEFAULT=YES,URI="en.m3u8"
        #EXT-X-MEDIA:TYPE=SUBTITLES,GROUP-ID="a",NAME="Deutsch",URI="text.m3u8"
        #EXT-X-MEDIA:TYPE=AUDIO,GROUP-ID="b",NAME="With the video"
        #EXT-X-STREAM-INF:BANDWIDTH=1,AUDIO="a"
        1.m3u8
        #EXT-X-STREAM-INF:BANDWIDTH=2,AUDIO="b"
        2.m3u8
        #EXT-X-STREAM-INF:BANDWIDTH=3
        3.m3u8

        """)
    #expect(playlist.violations == [] && playlist.renditions.count == 4)
    #expect(playlist.variants.map { playlist.audio(of: $0)?.name } == ["English", "With the video", nil])
    #expect(playlist.variants.map { playlist.audio(of: $0)?.address } == ["en.m3u8", nil, nil])
  }

  @Test func `a key holds for the segments behind it, up to the next one`() throws {
    let playlist = try HLSPlaylistDocument(
      parsing: Self.head + "#EXTINF:2,\na.ts\n#EXT-X-KEY:METHOD=AES-128,URI=\"k?1\"\n"
        + "#EXTINF:2,\nb.ts\n#EXTINF:2,\nc.ts\n"
        + "#EXT-X-KEY:METHOD=SAMPLE-AES,URI=\"skd://k\",KEYFORMAT=\"com.apple.streamingkeydelivery\"\n#EXTINF:2,\nd.ts\n"
        + "#EXT-X-KEY:METHOD=NONE\n#EXTINF:2,\ne.ts\n")
    #expect(playlist.violations == [])
    #expect(playlist.segments.map { $0.key?.address } == [nil, "k?1", "k?1", "skd://k", nil])
    #expect(playlist.segments.map { $0.key?.isIdentity } == [nil, true, true, false, nil])
    #expect(playlist.segments.map(\.isEncrypted) == [false, true, true, true, false])
  }

  @Test func `low latency starts at its own distance from the end`() throws {
    let playlist = try HLSPlaylistDocument(
      parsing: Self.head + "#EXT-X-PART-INF:PART-TARGET=0.5\n#EXT-X-SERVER-CONTROL:HOLD-BACK=6,PART-HOLD-BACK=1.5\n")
    #expect(playlist.partTarget == 0.5 && playlist.startLatency == 1.5 && playlist.violations == [])
  }

  @Test(arguments: [
    ("#EXTM3U\n#EXTINF:2,\na\n", "§4.3.3.1"),
    (head + "a.ts\n", "without EXTINF"),
    (head + "#EXTINF:3.2,\na.ts\n", "target duration 2 s"),
    (head + "#EXTINF:x,\na.ts\n", "EXTINF is no duration"),
    ("#EXTM3U\n#EXT-X-TARGETDURATION:2\n#EXTINF:1.5,\na\n", "EXT-X-VERSION 3"),
    (head + "#EXT-X-MAP:URI=\"i\"\n#EXTINF:2,\na\n", "EXT-X-VERSION 6"),
    (head + "#EXT-X-MAP:BYTERANGE=\"1\"\n", "without URI"),
    ("#EXTM3U\n#EXT-X-STREAM-INF:CODECS=\"a\"\nb\n", "without BANDWIDTH"),
    ("#EXTM3U\n#EXT-X-STREAM-INF:BANDWIDTH=1\nb\n#EXTINF:2,\na\n", "§4.1"),
    ("#EXTM3U\n#EXT-X-TARGETDURATION:two\n", "no number of seconds"),
    (head + "#EXT-X-MEDIA-SEQUENCE:-1\n", "EXT-X-MEDIA-SEQUENCE"),
    (head + "#EXT-X-KEY:URI=\"k\"\n", "EXT-X-KEY without METHOD"),
    (head + "#EXT-X-KEY:METHOD=AES-128\n", "EXT-X-KEY without URI"),
    ("#EXTM3U\n#EXT-X-MEDIA:TYPE=AUDIO\n", "§4.3.4.1"),
    ("#EXTM3U\n#EXT-X-STREAM-INF:BANDWIDTH=1,AUDIO=\"a\"\nb\n", "names a group without EXT-X-MEDIA"),
    (head + "#EXT-X-PART-INF:PART-TARGET=0.5\n", "PART-HOLD-BACK"),
    (head + "#EXT-X-PART-INF:\n", "without PART-TARGET"),
  ])
  func `a rule that is broken is noted with its section`(text: String, rule: String) throws {
    let violations = try HLSPlaylistDocument(parsing: text).violations
    #expect(violations.contains { $0.contains(rule) }, "\(violations)")
  }

  @Test func `other text, a byte order mark and a text without end are refused`() {
    for text in ["", "<html>", "\u{FEFF}#EXTM3U\n", "#EXTM3UX\n"] {
      #expect(throws: ParsingError(.invalid, field: "#EXTM3U")) { try HLSPlaylistDocument(parsing: text) }
    }
    let long = "#EXTM3U\n" + String(repeating: "a", count: HLSPlaylistDocument.maximumLength)
    #expect(throws: ParsingError(.tooLarge, field: "playlist")) { try HLSPlaylistDocument(parsing: long) }
  }

  @Test func `violations are few, whatever the text`() throws {
    let text = Self.head + (0..<1000).map { "#EXTINF:\(10 + $0),\na\n" }.joined()
    #expect(try HLSPlaylistDocument(parsing: text).violations.count == 8)
  }

  @Test func `a later playlist keeps what it has of an earlier one`() throws {
    func playlist(_ sequence: Int, _ names: String, target: Int = 2) throws -> HLSPlaylistDocument {
      let segments = names.map { "#EXTINF:2,\n\($0).ts\n" }.joined()
      return try HLSPlaylistDocument(
        parsing: "#EXTM3U\n#EXT-X-TARGETDURATION:\(target)\n#EXT-X-MEDIA-SEQUENCE:\(sequence)\n" + segments)
    }
    let first = try playlist(7, "abc")
    #expect(first.violations(ofLater: try playlist(8, "bcd")) == [])
    #expect(first.violations(ofLater: try playlist(20, "xyz")) == [])
    #expect(first.violations(ofLater: try playlist(6, "abc"))[0].contains("goes back from 7 to 6"))
    #expect(first.violations(ofLater: try playlist(8, "xcd"))[0].contains("address of a segment"))
    #expect(first.violations(ofLater: try playlist(7, "ab"))[0].contains("at the end are removed"))
    #expect(first.violations(ofLater: try playlist(8, "bcd", target: 3))[0].contains("TARGETDURATION changes"))
  }
}
