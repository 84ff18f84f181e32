import NIOCore
import RTP
import Testing
import WebRTC

@testable import VidiconCommand

@Suite("Verdicts on WHEP", .timeLimit(.minutes(5)))
struct WHEPVerdictTests {
  /// The answer of a server with two addresses over UDP, one over TCP and one with a name.
  private static let answer = """
    v=0
    o=- 1 1 IN IP4 0.0.0.0
    s=-
    t=0 0
    a=group:BUNDLE 0
    m=video 9 UDP/TLS/RTP/SAVPF 96
    a=mid:0
    a=ice-ufrag:abcd
    a=ice-pwd:abcdefghijklmnopqrstuvwx
    a=setup:passive
    a=sendonly
    a=rtcp-mux
    a=rtpmap:96 H264/90000
    a=candidate:1 1 udp 2130706431 192.0.2.7 8189 typ host
    a=candidate:2 1 udp 2130706175 172.17.0.2 8189 typ host
    a=candidate:3 1 tcp 1518280447 192.0.2.7 8189 typ host tcptype passive
    a=candidate:4 1 udp 2113937151 a.local 8189 typ host
    m=audio 0 UDP/TLS/RTP/SAVPF 111
    a=mid:1
    a=inactive

    """

  /// The verdict on a healthy session after a change.
  private static func verdict(_ change: (inout WHEPObservation) -> Void) throws -> StreamVerdict {
    var facts = WHEPObservation()
    (facts.status, facts.seconds, facts.hasLocation, facts.reached) = (201, 0.1, true, "192.0.2.7:8189")
    facts.handle(try WebRTCOffer(parsing: ByteBuffer(string: self.answer)))
    change(&facts)
    return facts.verdict
  }

  @Test func `a session whose candidate is reached has no problem`() throws {
    let verdict = try Self.verdict { _ in }
    #expect(verdict.problems == [] && verdict.line(.webRTC) == "ok: connects")
    #expect(verdict.observations.contains("candidates 192.0.2.7:8189, 172.17.0.2:8189, others 2"))
    #expect(verdict.observations.contains("codecs H264"))
  }

  @Test(arguments: [
    (401, "password or token"), (403, "denies access"), (404, "no stream has this path"), (405, "no WHEP endpoint"),
    (406, "does not accept the offer"), (503, "not available"), (500, "responds with 500"),
  ])
  func `each refusal of an offer has its cause`(status: Int, cause: String) throws {
    let verdict = try Self.verdict { $0.status = status }
    #expect(verdict.problems.count == 1 && verdict.problems[0].contains(cause))
    #expect(verdict.line(.webRTC).hasPrefix("fault: does not play"))
  }

  @Test func `an endpoint without an answer is a fault`() throws {
    #expect(try Self.verdict { $0.isAnswer = false }.problems[0].contains("no session description"))
  }

  @Test func `candidates that are not reached, or not there, are faults with the address to set`() throws {
    let unreached = try Self.verdict { $0.reached = nil }
    #expect(unreached.problems == ["fault candidates: none is reached over UDP: 192.0.2.7:8189, 172.17.0.2:8189"])
    #expect(unreached.remedies[0].contains("--ice-address"))
    let none = try Self.verdict { ($0.reached, $0.addresses) = (nil, []) }
    #expect(none.problems == ["fault candidates: the answer has no address over UDP: 2 over TCP or with a name"])
  }

  @Test func `an answer without video, a late one, and one without the session's address are named`() throws {
    let video = try Self.verdict { $0.hasVideo = false }
    #expect(video.problems.count == 1 && video.problems[0].hasPrefix("fault video"))
    let late = try Self.verdict { $0.seconds = 3 }
    #expect(late.problems.count == 1 && late.line(.webRTC).hasPrefix("warning: plays late"))
    #expect(try Self.verdict { $0.hasLocation = false }.problems[0].contains("no Location"))
  }

  @Test func `the offer asks for H.264, VP8 and Opus, in one bundle`() throws {
    let local = ICECredentials { 7 }
    let fingerprint = CertificateFingerprint(algorithm: .sha256, digest: [UInt8](repeating: 1, count: 32))
    let offer = try WebRTCOffer(
      parsing: WHEPOffer.text(credentials: local, fingerprint: fingerprint, sessionID: 1))
    #expect(offer.bundledMids == ["0", "1"] && offer.media.map(\.kind) == ["video", "audio"])
    #expect(offer.media[0].formats.map(\.map.encoding) == ["H264", "H264", "H264", "VP8"])
    for media in offer.media {
      #expect(media.direction == .receiveOnly && media.hasRTCPMux && media.transport.credentials == local)
      #expect(media.transport.fingerprints == [fingerprint])
    }
  }
}
