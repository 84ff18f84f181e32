import HLS
import Media
import Testing

@testable import VidiconCommand

@Suite("Verdicts on HLS streams", .timeLimit(.minutes(5)))
struct HLSVerdictTests {
  /// The verdict on a healthy stream after a change.
  private static func verdict(_ change: (inout HLSObservation) throws -> Void) throws -> StreamVerdict {
    var facts = try StreamFixtures.hls()
    try change(&facts)
    return facts.verdict
  }

  private static func playlist(_ text: String) throws -> HLSPlaylistDocument { try HLSPlaylistDocument(parsing: text) }

  @Test func `a healthy stream plays everywhere, with no problem`() throws {
    let verdict = try StreamFixtures.hls().verdict
    #expect(verdict.problems == [])
    for client in [StreamClient.players, .safari, .browsers] { #expect(verdict.line(client) == "ok: plays") }
  }

  @Test func `peculiarities of healthy servers are no problem`() throws {
    // A plain file server without CORS, a file of the past, and one whose segments last longer than the check.
    let files = try Self.verdict { facts in
      facts.playlists[0].allowsOtherOrigins = false
      for index in facts.segments.indices { facts.segments[index].resource.allowsOtherOrigins = false }
    }
    #expect(files.problems == [] && files.line(.browsers) == "ok: plays")
    #expect(files.findings.contains { $0.finding.meaning.contains("no Access-Control-Allow-Origin") })
    let ended = try Self.verdict { facts in
      facts.media = try Self.playlist(StreamFixtures.playlistText + "#EXT-X-ENDLIST\n")
      (facts.reloadSpan, facts.hasAdvanced) = (nil, false)
    }
    #expect(ended.problems == [])
    let waiting = try Self.verdict { ($0.reloadSpan, $0.hasAdvanced) = (2.5, false) }
    #expect(waiting.problems == [])
    #expect(try Self.verdict { $0.segments[0].startsWithKeyframe = nil }.problems == [])
  }

  @Test(arguments: [(401, "user name"), (403, "denies access"), (404, "does not have it"), (502, "responds with 502")])
  func `a playlist that is refused is a fault`(status: Int, reason: String) throws {
    let verdict = try Self.verdict { $0.playlists[0].status = status }
    #expect(verdict.problems.count == 1 && verdict.problems[0].hasPrefix("fault live.m3u8"))
    #expect(verdict.problems[0].contains(reason) && verdict.line(.players).hasPrefix("fault: does not play"))
  }

  @Test func `a page in place of a playlist, and a playlist without segments, are faults`() throws {
    let page = try Self.verdict { facts in
      facts.playlistError = ParsingError(.invalid, field: "#EXTM3U")
      facts.playlists[0].contentType = "text/html"
    }
    #expect(page.problems == ["fault playlist: the response does not start with #EXTM3U; it is text/html"])
    let large = try Self.verdict { $0.playlistError = ParsingError(.tooLarge, field: "playlist") }
    #expect(large.problems == ["fault playlist: it is larger than 8 MiB"])
    let empty = try Self.verdict { $0.media = try Self.playlist("#EXTM3U\n#EXT-X-TARGETDURATION:2\n") }
    #expect(empty.problems == ["fault playlist: it has no segments"])
    let gaps = try Self.verdict { facts in
      facts.media = try Self.playlist("#EXTM3U\n#EXT-X-TARGETDURATION:2\n#EXT-X-GAP\n#EXTINF:2,\ngap.ts\n")
    }
    #expect(gaps.problems == ["fault playlist: it has no segments"])
  }

  @Test func `segments that are gone, or that load slower than they play, are faults`() throws {
    let gone = try Self.verdict { $0.segments[0].resource.status = 404 }
    #expect(gone.problems == ["fault a8.ts: the server does not have it (404)"])
    #expect(gone.remedies[0].contains("hls_delete_threshold"))
    let slow = try Self.verdict { $0.segments[1].resource.seconds = 4.55 }
    #expect(slow.problems == ["fault segments: 4.0 s of them take 4.6 s to load"])
    #expect(slow.line(.safari).hasPrefix("warning: does not play"))
    let cut = try Self.verdict { ($0.segments[1].resource.ending, $0.segments[1].resource.seconds) = (.cutOff, 5) }
    #expect(cut.problems == ["fault a9.ts: its 2.0 s are not loaded in 5.0 s"])
    let broken = try Self.verdict { $0.segments[0].resource.ending = .closed }
    #expect(
      broken.problems == ["fault a8.ts: the server ends the response after 400000 bytes, before the end of the file"])
    let refused = try Self.verdict { facts in
      (facts.segments[0].resource.status, facts.segments[0].resource.failure) = (nil, .redirect(302, .insecure))
    }
    #expect(refused.problems.count == 1 && refused.problems[0].contains("redirects (302) from HTTPS to HTTP"))
  }

  @Test
  func `a segment that loads slower than it plays is no problem beside a faster one, and a short last one is none`()
    throws
  {
    #expect(try Self.verdict { $0.segments[0].resource.seconds = 2.5 }.problems == [])
    #expect(try Self.verdict { ($0.segments[1].duration, $0.segments[1].resource.seconds) = (0.2, 3) }.problems == [])
    // The end of the check, or of what is loaded at most, says nothing about the server.
    for ending in [HTTPResult.Ending.cutOff, .tooLong] {
      #expect(try Self.verdict { $0.segments[1].resource.ending = ending }.problems == [])
    }
  }

  @Test func `a key that is gone, or is none, is a fault`() throws {
    let key = StreamFixtures.resource("key", type: "application/octet-stream", byteCount: 16)
    let healthy = try Self.verdict { $0.keys = [key] }
    #expect(healthy.problems == [] && healthy.line(.browsers) == "ok: plays")
    var (missing, page) = (key, key)
    (missing.status, missing.byteCount) = (404, 0)
    let gone = try Self.verdict { $0.keys = [missing] }
    #expect(
      gone.problems
        == ["fault keys: the key key: the server does not have it (404), without which no segment is decrypted"])
    #expect(gone.line(.players).hasPrefix("fault: does not play") && gone.line(.safari).hasPrefix("warning: does not"))
    page.byteCount = 1200
    #expect(
      try Self.verdict { $0.keys = [page] }.problems
        == ["fault keys: the key key has 1200 bytes in place of 16 (RFC 8216 §4.3.2.4)"])
    // A page of which no more is received than the limit, a key that ends early, and one that the end of the check cuts off.
    (page.byteCount, page.ending) = (70_000, .tooLong)
    #expect(try Self.verdict { $0.keys = [page] }.problems.count == 1)
    (page.byteCount, page.ending) = (5, .closed)
    #expect(try Self.verdict { $0.keys = [page] }.problems.count == 1)
    page.ending = .cutOff
    #expect(try Self.verdict { $0.keys = [page] }.problems == [])
  }

  @Test func `a rendition with the audio that is gone keeps browsers from playing`() throws {
    let playlist = StreamFixtures.resource("en.m3u8", type: "application/vnd.apple.mpegurl", byteCount: 200)
    let segment = StreamFixtures.resource("en9.ts", type: "video/mp2t", byteCount: 8_000)
    var audio = HLSObservation.Audio(name: "English", playlist: playlist, hasSegments: true, segment: segment)
    #expect(try Self.verdict { $0.audio = audio }.problems == [])
    audio.segment?.status = 404
    let gone = try Self.verdict { $0.audio = audio }
    #expect(
      gone.problems == [
        "warning audio English: en9.ts: the server does not have it (404), and browsers wait for it"
      ])
    #expect(gone.line(.players) == "ok: plays" && gone.line(.browsers).hasPrefix("warning: does not play"))
    (audio.hasSegments, audio.segment) = (false, nil)
    let empty = try Self.verdict { $0.audio = audio }
    #expect(empty.problems[0].contains("its playlist en.m3u8 has no segments"))
    audio.playlist.status = 403
    let denied = try Self.verdict { $0.audio = audio }
    #expect(denied.problems[0].contains("en.m3u8: the server denies access (403)"))
  }

  @Test func `a playlist that does not go on is a fault`() throws {
    let verdict = try Self.verdict { ($0.reloadSpan, $0.hasAdvanced) = (4, false) }
    #expect(verdict.problems.count == 1 && verdict.problems[0].hasPrefix("fault playlist: no new segment in 4.0 s"))
  }

  @Test func `segments without a keyframe at their start delay players`() throws {
    let verdict = try Self.verdict { $0.segments[1].startsWithKeyframe = false }
    #expect(verdict.problems.count == 1 && verdict.problems[0].contains("does not start with a keyframe"))
    #expect(verdict.line(.browsers).hasPrefix("warning: plays late") && verdict.remedies[0].contains("-g"))
  }

  @Test func `long segments make the stream late`() throws {
    let text = StreamFixtures.playlistText.replacing("TARGETDURATION:2", with: "TARGETDURATION:10")
    let verdict = try Self.verdict { $0.media = try Self.playlist(text) }
    #expect(verdict.problems == ["warning latency: players start about 30.0 s behind: segments last up to 10 s"])
  }

  @Test func `broken rules are warnings with their section`() throws {
    let verdict = try Self.verdict { $0.violations = ["a segment without EXTINF (§4.3.2.1)"] }
    #expect(verdict.problems == ["warning playlist: it breaks a rule of HLS: a segment without EXTINF (§4.3.2.1)"])
  }

  @Test func `types that are not a playlist's are named`() throws {
    let named = try Self.verdict { $0.playlists[0].contentType = "application/octet-stream" }
    #expect(named.problems.count == 1 && named.problems[0].hasPrefix("warning type of live.m3u8"))
    #expect(named.remedies[0].contains("mime.types") && named.line(.safari) == "ok: plays")
    let other = try Self.verdict { ($0.playlists[0].name, $0.playlists[0].contentType) = ("live", "text/plain") }
    #expect(
      other.problems[0].hasPrefix("warning type of live") && other.line(.safari).hasPrefix("warning: does not play"))
  }

  @Test func `segments without the CORS header of their playlist keep scripts from playing`() throws {
    let verdict = try Self.verdict { $0.segments[0].resource.allowsOtherOrigins = false }
    #expect(verdict.problems.count == 1 && verdict.problems[0].hasPrefix("warning CORS: a8.ts"))
    #expect(verdict.line(.browsers).hasPrefix("warning: does not play") && verdict.line(.players) == "ok: plays")
  }

  @Test func `low latency over TLS without HTTP/2 is late in Safari`() throws {
    let text = StreamFixtures.playlistText.replacing(
      "#EXT-X-MEDIA-SEQUENCE",
      with:
        "#EXT-X-PART-INF:PART-TARGET=0.5\n#EXT-X-SERVER-CONTROL:CAN-BLOCK-RELOAD=YES,PART-HOLD-BACK=1.5\n#EXT-X-MEDIA-SEQUENCE"
    )
    func verdict(isEncrypted: Bool, negotiated: String?) throws -> StreamVerdict {
      try Self.verdict { facts in
        facts.media = try Self.playlist(text)
        (facts.isEncrypted, facts.negotiatedProtocol) = (isEncrypted, negotiated)
      }
    }
    let old = try verdict(isEncrypted: true, negotiated: "http/1.1")
    #expect(old.problems.count == 1 && old.line(.safari).hasPrefix("warning: plays late, because HTTP/2"))
    #expect(try verdict(isEncrypted: true, negotiated: "h2").problems == [])
    #expect(try verdict(isEncrypted: false, negotiated: nil).problems == [])
  }

  @Test func `codecs that browsers do not decode are a warning`() throws {
    #expect(try Self.verdict { $0.codecs = "avc1.64001f,mp4a.40.2" }.problems == [])
    let rare = try Self.verdict { $0.codecs = "avc1.7a001f" }
    #expect(rare.problems.count == 1 && rare.line(.safari).hasPrefix("warning: does not play"))
    #expect(try Self.verdict { $0.codecs = "hvc1.1.6.L93" }.line(.browsers).hasPrefix("warning: does not play"))
  }
}
