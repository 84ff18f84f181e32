import NIOCore
import RTP
import Testing
import WebRTC

@Suite("WebRTC offers of a push, RFC 9725 §4.2")
struct WebRTCPushOfferTests {
  private static let digest = Array(repeating: "AB", count: 32).joined(separator: ":")

  private static func offer(_ profileLevel: String? = "42c01f", hasAudio: Bool = true) throws -> WebRTCPushOffer {
    try WebRTCPushOffer(
      WebRTCPushOffer.Configuration(
        sessionID: 42, credentials: PushDialogue.credentials,
        fingerprint: CertificateFingerprint(algorithm: .sha256, digest: [UInt8](repeating: 0xAB, count: 32)),
        candidates: [
          #require(TransportAddress("192.0.2.5", port: 4000)), #require(TransportAddress("2001:db8::5", port: 4001)),
        ],
        video: profileLevel.map { try H264ProfileLevel(parsing: $0) }, hasAudio: hasAudio, ssrcs: (11, 12, 13)))
  }

  private static func lines(_ offer: WebRTCPushOffer) -> [String] {
    String(buffer: PushDialogue.text(offer.description)).split(separator: "\r\n").map(String.init)
  }

  private static let transport = [
    "a=ice-ufrag:push", "a=ice-pwd:pushing0password0pushing", "a=fingerprint:sha-256 \(digest)", "a=setup:actpass",
    "a=sendonly", "a=rtcp-mux", "a=rtcp-rsize",
  ]

  @Test func `the offer is complete: tracks, feedback, retransmissions and all addresses`() throws {
    let expected =
      [
        "v=0", "o=- 42 1 IN IP4 0.0.0.0", "s=-", "t=0 0", "a=group:BUNDLE 0 1", "a=ice-options:ice2",
        "a=msid-semantic:WMS *",
        "m=video 9 UDP/TLS/RTP/SAVPF 96 97", "c=IN IP4 0.0.0.0", "a=mid:0",
      ] + Self.transport + [
        "a=extmap:1 urn:ietf:params:rtp-hdrext:sdes:mid",
        "a=extmap:2 http://www.ietf.org/id/draft-holmer-rmcat-transport-wide-cc-extensions-01",
        "a=rtpmap:96 H264/90000",
        "a=fmtp:96 level-asymmetry-allowed=1;packetization-mode=1;profile-level-id=42c01f", "a=rtcp-fb:96 nack",
        "a=rtcp-fb:96 nack pli", "a=rtcp-fb:96 ccm fir", "a=rtcp-fb:96 transport-cc", "a=rtcp-fb:96 goog-remb",
        "a=rtpmap:97 rtx/90000", "a=fmtp:97 apt=96", "a=msid:vidicon video", "a=ssrc-group:FID 11 12",
        "a=ssrc:11 cname:vidicon", "a=ssrc:12 cname:vidicon",
        "a=candidate:1 1 udp 2130706431 192.0.2.5 4000 typ host",
        "a=candidate:2 1 udp 2130706175 2001:db8::5 4001 typ host", "a=end-of-candidates",
        "m=audio 9 UDP/TLS/RTP/SAVPF 111", "c=IN IP4 0.0.0.0", "a=mid:1",
      ] + Self.transport + [
        "a=extmap:1 urn:ietf:params:rtp-hdrext:sdes:mid", "a=rtpmap:111 opus/48000/2",
        "a=fmtp:111 minptime=10;stereo=1;sprop-stereo=1", "a=msid:vidicon audio",
        "a=ssrc:13 cname:vidicon",
      ]
    #expect(Self.lines(try Self.offer()) == expected)
  }

  @Test func `a High stream is offered as it is first, and as Constrained Baseline of its level`() throws {
    let lines = Self.lines(try Self.offer("640028"))
    #expect(lines.contains("m=video 9 UDP/TLS/RTP/SAVPF 96 97 98 99"))
    #expect(lines.filter { $0.contains("profile-level-id") }.map { String($0.suffix(6)) } == ["640028", "42e028"])
    #expect(lines.contains("a=fmtp:97 apt=96") && lines.contains("a=fmtp:99 apt=98"))
  }

  @Test func `audio alone has the addresses`() throws {
    let lines = Self.lines(try Self.offer(nil))
    #expect(lines.contains("a=group:BUNDLE 1") && !lines.contains { $0.hasPrefix("m=video") })
    #expect(lines.count { $0.hasPrefix("a=candidate") } == 2)
  }

  // MARK: The answer

  /// An answer of a server that takes both tracks.
  private static let answer = [
    "v=0", "o=- 7 1 IN IP4 192.0.2.7", "s=-", "t=0 0", "a=group:BUNDLE 0 1", "a=ice-lite",
    "m=video 9 UDP/TLS/RTP/SAVPF 98 99 96 97", "a=mid:0", "a=ice-ufrag:serv", "a=ice-pwd:server0password0server",
    "a=fingerprint:sha-256 \(digest)", "a=setup:passive", "a=recvonly", "a=rtcp-mux",
    "a=extmap:2 http://www.ietf.org/id/draft-holmer-rmcat-transport-wide-cc-extensions-01",
    "a=rtpmap:96 H264/90000", "a=rtcp-fb:96 nack", "a=rtcp-fb:96 transport-cc", "a=rtpmap:97 rtx/90000",
    "a=rtpmap:98 H264/90000", "a=rtpmap:99 rtx/90000", "a=candidate:1 1 udp 2130706431 192.0.2.7 8189 typ host",
    "a=candidate:x", "m=audio 9 UDP/TLS/RTP/SAVPF 111", "a=mid:1", "a=ice-ufrag:serv",
    "a=ice-pwd:server0password0server", "a=fingerprint:sha-256 \(digest)", "a=setup:passive", "a=recvonly",
    "a=rtcp-mux", "a=rtpmap:111 OPUS/48000/2",
  ]

  private static func accept(
    _ lines: [String], profileLevel: String? = "640028", hasAudio: Bool = true
  ) throws -> WebRTCPushAnswer {
    let text = ByteBuffer(string: lines.joined(separator: "\r\n") + "\r\n")
    return try Self.offer(profileLevel, hasAudio: hasAudio).accept(WebRTCOffer(parsing: text))
  }

  private static func replacing(_ replacements: [String: String], in lines: [String] = answer) -> [String] {
    lines.map { replacements[$0] ?? $0 }
  }

  @Test func `the stream's own profile is preferred, with what was agreed on`() throws {
    let answer = try Self.accept(Self.answer)
    let video = try #require(answer.video)
    #expect(video.payloadType == 96 && video.retransmissionPayloadType == 97 && video.ssrc == 11)
    #expect(video.retransmissionSSRC == 12 && video.feedback == [.nack, .transportCC])
    #expect(video.extensionIDs == [WebRTCAnswer.ExtensionURI.transportWideCC: 2] && video.mid == "0")
    #expect(answer.audio?.payloadType == 111 && answer.audio?.ssrc == 13 && answer.audio?.feedback == [])
    #expect(answer.role == .client && answer.credentials.usernameFragment == "serv")
    #expect(answer.candidates.map(\.address) == [TransportAddress("192.0.2.7", port: 8189)])
  }

  @Test func `a server that knows Constrained Baseline only gets the stream with that payload type`() throws {
    let lines = Self.replacing(["m=video 9 UDP/TLS/RTP/SAVPF 98 99 96 97": "m=video 9 UDP/TLS/RTP/SAVPF 98"])
    let video = try #require(try Self.accept(lines).video)
    #expect(video.payloadType == 98 && video.retransmissionPayloadType == nil && video.feedback == [])
  }

  @Test func `the answer names our role in DTLS`() throws {
    #expect(try Self.accept(Self.replacing(["a=setup:passive": "a=setup:active"])).role == .server)
    #expect(try Self.accept(Self.replacing(["a=setup:passive": "a=setup:actpass"])).role == .client)
  }

  @Test func `audio may be refused, video not`() throws {
    let silent = Self.replacing(["m=audio 9 UDP/TLS/RTP/SAVPF 111": "m=audio 0 UDP/TLS/RTP/SAVPF 111"])
    let answer = try Self.accept(silent)
    #expect(answer.audio == nil && answer.video != nil)
    let blind = Self.replacing(["m=video 9 UDP/TLS/RTP/SAVPF 98 99 96 97": "m=video 0 UDP/TLS/RTP/SAVPF 96"])
    #expect(throws: WebRTCPushOffer.Refusal.nothingFits) { try Self.accept(blind) }
    #expect(throws: WebRTCPushOffer.Refusal.nothingFits) { try Self.accept(silent, profileLevel: nil) }
    #expect(throws: WebRTCPushOffer.Refusal.nothingFits) {
      try Self.accept(Self.replacing(["a=recvonly": "a=sendonly"]))
    }
    // A track that was not offered.
    #expect(try Self.accept(Self.answer, hasAudio: false).audio == nil)
  }

  @Test(arguments: ["a=ice-ufrag:serv", "a=ice-pwd:server0password0server", "a=fingerprint:sha-256 \(digest)"])
  func `an answer without a part of its transport is refused`(line: String) throws {
    #expect(throws: WebRTCPushOffer.Refusal.noTransport) { try Self.accept(Self.answer.filter { $0 != line }) }
  }
}
