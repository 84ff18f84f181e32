import NIOCore
import RTP
import Testing
import WebRTC
import WebRTCPeers

@Suite("WebRTC answers to publishers, RFC 9725 §4.2")
struct WebRTCPublishAnswerTests {
  private static func answer(
    _ offer: WebRTCOffer, maximumVideoBitrate: Int? = nil
  ) throws -> WebRTCPublishAnswer {
    try WebRTCPublishAnswer(
      offer,
      WebRTCPublishAnswer.Configuration(
        sessionID: 42, credentials: PublisherDialogue.credentials,
        fingerprint: CertificateFingerprint(algorithm: .sha256, digest: [UInt8](repeating: 0xAB, count: 32)),
        candidates: [
          #require(TransportAddress("192.0.2.7", port: 8189)), #require(TransportAddress("192.0.2.7", port: 8189)),
          #require(TransportAddress("192.0.2.8", port: 8189)),
        ], maximumVideoBitrate: maximumVideoBitrate))
  }

  /// Lines of the answer, by track; those of the session first.
  private static func sections(_ answer: WebRTCPublishAnswer) -> [[String]] {
    var buffer = ByteBuffer()
    answer.description.serialize(into: &buffer)
    var sections: [[String]] = [[]]
    for line in String(buffer: buffer).split(separator: "\r\n").map(String.init) {
      if line.hasPrefix("m=") { sections.append([]) }
      sections[sections.count - 1].append(line)
    }
    return sections
  }

  private static func offer(_ lines: [String]) throws -> WebRTCOffer {
    try WebRTCOffer(parsing: ByteBuffer(string: lines.joined(separator: "\r\n") + "\r\n"))
  }

  /// Publisher; codec, payload type and RTX of video; payload type of audio; order.
  @Test(
    arguments: [
      ("chromium", .h264, 103, 104, 111, ["video", "audio"]),
      ("firefox", .vp8, 120, 124, 109, ["video", "audio"]),
      ("safari", .h264, 96, 97, 111, ["video", "audio"]),
      ("obs", .h264, 96, nil, 111, ["audio", "video"]),
      ("gstreamer", .h264, 96, 97, 111, ["video", "audio"]),
      ("ffmpeg", .h264, 106, nil, 111, ["audio", "video"]),
    ] as [(String, WebRTCPublishAnswer.Codec, UInt8, UInt8?, UInt8, [String])])
  func `each publisher's H.264, else its VP8, and its Opus are received`(
    name: String, codec: WebRTCPublishAnswer.Codec, video: UInt8, rtx: UInt8?, audio: UInt8, kinds: [String]
  ) throws {
    let answer = try Self.answer(PublishOffers.offer(name))
    #expect(answer.video?.codec == codec && answer.video?.payloadType == video)
    #expect(answer.video?.retransmissionPayloadType == rtx)
    #expect(answer.audio?.codec == .opus && answer.audio?.payloadType == audio)
    let sections = Self.sections(answer)
    #expect(Set(sections[0]).isSuperset(of: ["a=group:BUNDLE 0 1", "a=ice-lite", "a=ice-options:ice2"]))
    #expect(answer.description.media.map(\.media) == kinds)
    for section in sections.dropFirst() {
      for line in ["a=recvonly", "a=setup:\(answer.role.rawValue)", "a=rtcp-mux", "a=ice-ufrag:serv"] {
        #expect(section.contains(line), "\(line)")
      }
      // Frames arrive upright, and nothing is sent.
      #expect(!section.contains { $0.contains("video-orientation") || $0.contains("playout-delay") })
      #expect(!section.contains { $0.hasPrefix("a=ssrc") || $0.hasPrefix("a=msid:") })
    }
    // Candidates once, each address once.
    #expect(sections.joined().count { $0.hasPrefix("a=candidate:") } == 2)
  }

  @Test func `Chromium gets the feedback and extensions of its offer`() throws {
    let video = Self.sections(try Self.answer(PublishOffers.offer("chromium"), maximumVideoBitrate: 2_300_000))[1]
    #expect(
      video == [
        "m=video 8189 UDP/TLS/RTP/SAVPF 103 104", "c=IN IP4 192.0.2.7", "b=AS:2300", "b=TIAS:2300000", "a=mid:0",
        "a=ice-ufrag:serv", "a=ice-pwd:server0password0server",
        "a=fingerprint:sha-256 " + Array(repeating: "AB", count: 32).joined(separator: ":"), "a=setup:passive",
        "a=recvonly", "a=rtcp-mux", "a=rtcp-rsize",
        "a=extmap:4 http://www.ietf.org/id/draft-holmer-rmcat-transport-wide-cc-extensions-01",
        "a=extmap:9 urn:ietf:params:rtp-hdrext:sdes:mid", "a=rtpmap:103 H264/90000",
        "a=fmtp:103 level-asymmetry-allowed=1;packetization-mode=1;profile-level-id=42002a", "a=rtcp-fb:103 nack",
        "a=rtcp-fb:103 nack pli", "a=rtcp-fb:103 ccm fir", "a=rtcp-fb:103 transport-cc", "a=rtcp-fb:103 goog-remb",
        "a=rtpmap:104 rtx/90000", "a=fmtp:104 apt=103", "a=candidate:1 1 udp 2130706431 192.0.2.7 8189 typ host",
        "a=candidate:2 1 udp 2130706175 192.0.2.8 8189 typ host", "a=end-of-candidates",
      ])
  }

  /// Browsers encode two channels where the answer asks for them, and offer nothing of it themselves.
  @Test(
    arguments: [
      ("chromium", 111), ("firefox", 109), ("safari", 111), ("obs", 111), ("gstreamer", 111), ("ffmpeg", 111),
    ])
  func `every publisher is asked for both channels`(name: String, payloadType: Int) throws {
    let answer = try Self.answer(PublishOffers.offer(name))
    let audio = try #require(Self.sections(answer).first { $0[0].hasPrefix("m=audio") })
    #expect(audio.contains("a=fmtp:\(payloadType) minptime=10;stereo=1"))
  }

  @Test func `GStreamer keeps its level, FFmpeg has no feedback`() throws {
    let gstreamer = Self.sections(try Self.answer(PublishOffers.offer("gstreamer")))
    #expect(gstreamer[1].contains("a=fmtp:96 packetization-mode=1;profile-level-id=42c01f"))
    let ffmpeg = try Self.answer(PublishOffers.offer("ffmpeg"))
    #expect(ffmpeg.video?.feedback == [] && ffmpeg.clientTransport.setup == "passive")
  }

  /// Offer of GStreamer 1.22 on Debian 12, from caps without a profile: the second line has the port 0, which is no rejection beside
  /// "bundle-only", RFC 8843 §6.
  @Test func `webrtcbin publishes both tracks by an offer without a profile, whose second line has no port yet`() throws
  {
    let lines = PublishOffers.lines("gstreamer").compactMap { line -> String? in
      switch line {
      case "m=audio 9 UDP/TLS/RTP/SAVPF 111": "m=audio 0 UDP/TLS/RTP/SAVPF 111"
      case "m=video 9 UDP/TLS/RTP/SAVPF 96 97": "m=video 9 UDP/TLS/RTP/SAVPF 96"
      case let line where line.hasPrefix("a=fmtp:96"):
        "a=fmtp:96 packetization-mode=1;sprop-parameter-sets=Z0LAHoyNQFAX/LAPCIRq,aM48gA=="
      case "a=rtcp-fb:96 nack", "a=rtpmap:97 rtx/90000", "a=fmtp:97 apt=96": nil
      default: line
      }
    }
    let answer = try Self.answer(Self.offer(lines))
    #expect(answer.video?.codec == .h264 && answer.video?.payloadType == 96)
    #expect(answer.video?.retransmissionPayloadType == nil && answer.audio?.payloadType == 111)
    let sections = Self.sections(answer)
    #expect(sections[1].contains("a=fmtp:96 packetization-mode=1") && sections[1].contains("a=rtcp-fb:96 nack pli"))
    #expect(sections[2].contains("m=audio 8189 UDP/TLS/RTP/SAVPF 111") && sections[2].contains("a=recvonly"))
  }

  /// A line with "bundle-only" has no transport of its own, RFC 8829 §5.2.1; that of the first line counts, RFC 9143 §7.2.
  @Test(arguments: [true, false])
  func `audio that is bundled with video of an unknown codec has its transport`(isBundled: Bool) throws {
    let lines = [
      "v=0", "o=- 1 1 IN IP4 127.0.0.1", "s=-", "t=0 0", isBundled ? "a=group:BUNDLE 0 1" : "a=group:BUNDLE 1 0",
      "m=video 9 UDP/TLS/RTP/SAVPF 98", "c=IN IP4 0.0.0.0", "a=ice-ufrag:clnt", "a=ice-pwd:\(PublishOffers.password)",
      PublishOffers.fingerprint, "a=setup:active", "a=rtcp-mux", "a=rtcp-rsize", "a=mid:0", "a=sendonly",
      "a=rtpmap:98 VP9/90000", "m=audio 0 UDP/TLS/RTP/SAVPF 111", "c=IN IP4 0.0.0.0", "a=bundle-only", "a=mid:1",
      "a=sendonly", "a=rtpmap:111 opus/48000/2",
    ]
    guard isBundled else {
      // Bundled with nothing that has one.
      #expect(throws: WebRTCAnswer.Refusal.nothingFits) { try Self.answer(Self.offer(lines)) }
      return
    }
    let answer = try Self.answer(Self.offer(lines))
    #expect(answer.video == nil && answer.audio?.payloadType == 111)
    #expect(answer.clientTransport.credentials?.usernameFragment == "clnt" && answer.role == .server)
    #expect(answer.clientTransport.fingerprints.count == 1)
    let sections = Self.sections(answer)
    #expect(sections[0].contains("a=group:BUNDLE 1") && sections[1][0].hasPrefix("m=video 0 "))
    #expect(sections[2].contains("a=rtcp-mux") && sections[2].contains("a=rtcp-rsize"))
    #expect(sections[2].contains { $0.hasPrefix("a=candidate:") })
  }

  @Test func `unknown lines and second tracks are rejected alone`() throws {
    var lines = PublishOffers.lines("obs")
    lines[4] = "a=group:BUNDLE 0 1 2 3"
    lines += [
      "m=application 9 UDP/DTLS/SCTP webrtc-datachannel", "c=IN IP4 0.0.0.0", "a=mid:2", "a=sctp-port:5000",
      "m=video 9 UDP/TLS/RTP/SAVPF 102", "c=IN IP4 0.0.0.0", "a=mid:3", "a=sendonly", "a=rtcp-mux",
      "a=rtpmap:102 H264/90000", "a=fmtp:102 packetization-mode=1",
    ]
    let answer = try Self.answer(Self.offer(lines))
    #expect(answer.description.media.map(\.port) == [8189, 8189, 0, 0])
    let sections = Self.sections(answer)
    #expect(sections[0].contains("a=group:BUNDLE 0 1"))
    #expect(sections[3].contains("a=inactive") && answer.video?.payloadType == 96)
  }

  @Test func `simulcast is answered by one encoding`() throws {
    var lines = PublishOffers.lines("chromium")
    let index = try #require(lines.firstIndex(of: "a=sendonly"))
    lines.insert(contentsOf: ["a=rid:h send", "a=rid:l send", "a=simulcast:send h;l"], at: index + 1)
    let sections = Self.sections(try Self.answer(Self.offer(lines)))
    #expect(sections[1].contains("a=recvonly"))
    #expect(!sections.joined().contains { $0.contains("simulcast") || $0.contains("rid") || $0.contains("stream-id") })
  }

  @Test func `mode 0 is taken where mode 1 is not offered`() throws {
    let lines = PublishOffers.lines("obs").map {
      $0.replacing(";packetization-mode=1", with: "").replacing("level-asymmetry-allowed=1", with: "x=1")
    }
    let answer = try Self.answer(Self.offer(lines))
    #expect(answer.video?.codec == .h264)
    #expect(Self.sections(answer)[2].contains("a=fmtp:96 profile-level-id=42e01f"))
  }

  @Test func `Opus is found in capitals and without its channels`() throws {
    let lines = PublishOffers.lines("obs").map { $0.replacing("opus/48000/2", with: "OPUS/48000") }
    #expect(lines != PublishOffers.lines("obs"))
    let answer = try Self.answer(Self.offer(lines))
    #expect(answer.audio?.codec == .opus && answer.video != nil)
  }

  @Test func `a publisher of audio alone is received, one that only receives is not`() throws {
    let inactive = PublishOffers.lines("chromium")
    var audio = inactive
    audio[try #require(audio.firstIndex(of: "a=sendonly"))] = "a=inactive"
    let answer = try Self.answer(Self.offer(audio))
    #expect(answer.video == nil && answer.audio != nil)
    #expect(Self.sections(answer)[1].contains("a=inactive"))
    #expect(throws: WebRTCAnswer.Refusal.nothingFits) {
      try Self.answer(Self.offer(inactive.map { $0 == "a=sendonly" ? "a=recvonly" : $0 }))
    }
  }

  @Test func `payload types that two tracks share reject the second one`() throws {
    let lines = PublishOffers.lines("obs").map {
      $0.replacing("SAVPF 96", with: "SAVPF 111").replacing(":96 ", with: ":111 ")
    }
    let answer = try Self.answer(Self.offer(lines))
    #expect(answer.audio != nil && answer.video == nil)
    #expect(answer.description.media.map(\.port) == [8189, 0])
  }

  @Test func `a publisher that wants to be the server of DTLS, as FFmpeg does, is`() throws {
    let answer = try Self.answer(Self.offer(PublishOffers.lines("ffmpeg")))
    #expect(answer.role == .client && answer.video != nil && answer.audio != nil)
    for section in Self.sections(answer).dropFirst() {
      #expect(section.filter { $0.hasPrefix("a=setup") } == ["a=setup:active"])
    }
    #expect(try Self.answer(Self.offer(PublishOffers.lines("obs"))).role == .server)
  }

  /// Lines that are replaced in OBS's offer, and the refusal.
  @Test(
    arguments: [
      ("a=setup:actpass", "a=setup:holdconn", .holdsConnection), (PublishOffers.fingerprint, "a=x", .noTransport),
      ("a=ice-ufrag:clnt", "a=x", .noTransport), ("a=rtcp-mux", "a=x", .nothingFits),
    ] as [(String, String, WebRTCAnswer.Refusal)])
  func `an offer without a transport is refused`(line: String, replacement: String, refusal: WebRTCAnswer.Refusal)
    throws
  {
    let lines = PublishOffers.lines("obs").map { $0 == line ? replacement : $0 }
    let offer = try Self.offer(lines)
    #expect(throws: refusal) { try Self.answer(offer) }
  }
}
