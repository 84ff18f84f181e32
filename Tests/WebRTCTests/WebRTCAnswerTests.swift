import Media
import NIOCore
import RTP
import Testing
import WebRTC
import WebRTCPeers

@Suite("WebRTC answers, RFC 8829 §5.3")
struct WebRTCAnswerTests {
  private static func configuration(
    video: String? = "42c01f", hasAudio: Bool = true, candidates: [(String, UInt16)] = [("192.0.2.7", 8189)]
  ) throws -> WebRTCAnswer.Configuration {
    WebRTCAnswer.Configuration(
      sessionID: 42,
      credentials: try #require(ICECredentials(usernameFragment: "serv", password: "server0password0server")),
      fingerprint: CertificateFingerprint(algorithm: .sha256, digest: [UInt8](repeating: 0xAB, count: 32)),
      candidates: try candidates.map { try #require(TransportAddress($0.0, port: $0.1)) },
      video: try video.map(H264ProfileLevel.init(parsing:)), hasAudio: hasAudio, ssrcs: (1001, 1002, 1003))
  }

  private static func lines(_ answer: WebRTCAnswer) -> [String] {
    var buffer = ByteBuffer()
    answer.description.serialize(into: &buffer)
    return String(buffer: buffer).split(separator: "\r\n").map(String.init)
  }

  /// Lines of the track at an index.
  private static func lines(_ answer: WebRTCAnswer, track: Int) -> [String] {
    let all = Self.lines(answer)
    let starts = all.indices.filter { all[$0].hasPrefix("m=") } + [all.count]
    return Array(all[starts[track]..<starts[track + 1]])
  }

  private static func parse(_ lines: [String]) throws -> WebRTCOffer {
    try WebRTCOffer(parsing: ByteBuffer(string: (["v=0"] + lines).joined(separator: "\r\n")))
  }

  /// Lines of a client's transport.
  private static let transport = [
    "a=ice-ufrag:clnt", "a=ice-pwd:client0password0client", "a=setup:actpass",
    "a=fingerprint:sha-256 " + Array(repeating: "CD", count: 32).joined(separator: ":"),
  ]

  private static func video(_ mid: String = "0", profile: String = "42e01f", more: [String] = []) -> [String] {
    [
      "m=video 9 UDP/TLS/RTP/SAVPF 96 97", "a=mid:\(mid)", "a=recvonly", "a=rtcp-mux", "a=rtpmap:96 H264/90000",
      "a=fmtp:96 level-asymmetry-allowed=1;packetization-mode=1;profile-level-id=\(profile)", "a=rtpmap:97 rtx/90000",
      "a=fmtp:97 apt=96", "a=rtcp-fb:96 nack",
    ] + more
  }

  private static func audio(_ mid: String = "1") -> [String] {
    [
      "m=audio 9 UDP/TLS/RTP/SAVPF 111", "a=mid:\(mid)", "a=recvonly", "a=rtcp-mux", "a=rtpmap:111 opus/48000/2",
    ]
  }

  @Test func `Chromium may measure its round trip by XR, which clients that do not offer it are not asked for`() throws
  {
    let chromium = try WebRTCAnswer(WebRTCOffers.offer("chromium"), Self.configuration())
    #expect(Self.lines(chromium, track: 0).filter { $0.hasPrefix("a=rtcp-xr") } == ["a=rtcp-xr:rcvr-rtt=all"])
    #expect(!Self.lines(chromium, track: 1).contains { $0.hasPrefix("a=rtcp-xr") })
    for (line, isAnswered) in [
      ("a=rtcp-xr:pkt-loss-rle rcvr-rtt=all:10", true), ("a=rtcp-xr:rcvr-rtt=sender", false), ("a=rtcp-xr", false),
    ] {
      let offer = try Self.parse(Self.transport + Self.video(more: [line]))
      let lines = Self.lines(try WebRTCAnswer(offer, Self.configuration()))
      #expect(lines.contains("a=rtcp-xr:rcvr-rtt=all") == isAnswered, "\(line)")
    }
    let gstreamer = try WebRTCAnswer(WebRTCOffers.offer("gstreamer"), Self.configuration())
    #expect(!Self.lines(gstreamer).contains { $0.hasPrefix("a=rtcp-xr") })
  }

  @Test func `Chromium gets Constrained Baseline by its number, with retransmission and extensions of the offer`()
    throws
  {
    let offer = try WebRTCOffers.offer("chromium")
    let answer = try WebRTCAnswer(offer, Self.configuration())
    let video = try #require(answer.video)
    let format = try #require(offer.media[0].formats.first { $0.payloadType == video.payloadType })
    #expect(format.parameters["profile-level-id"] == "42e01f" && format.parameters["packetization-mode"] == "1")
    let retransmission = try #require(
      offer.media[0].formats.first { $0.payloadType == video.retransmissionPayloadType })
    #expect(retransmission.parameters["apt"] == "\(video.payloadType)")
    #expect(
      Set(video.extensionIDs.keys) == [
        WebRTCAnswer.ExtensionURI.mid, WebRTCAnswer.ExtensionURI.playoutDelay,
        WebRTCAnswer.ExtensionURI.transportWideCC,
      ])
    for (uri, id) in video.extensionIDs { #expect(offer.media[0].extensionID(uri) == id) }
    #expect(answer.audio?.payloadType == 111 && answer.audio?.extensionIDs.count == 1)
    let lines = Self.lines(answer)
    #expect(Set(lines).isSuperset(of: ["a=group:BUNDLE 0 1", "a=ice-lite", "a=ice-options:ice2"]))
    #expect(lines.contains("a=ssrc-group:FID 1001 1002"))
    // No forward error correction: the encoder has none.
    #expect(lines.contains("a=fmtp:111 minptime=10;stereo=1;sprop-stereo=1"))
    #expect(
      lines.contains(
        "a=fmtp:\(video.payloadType) level-asymmetry-allowed=1;packetization-mode=1;profile-level-id=42e01f"))
    #expect(lines.count { $0 == "a=sendonly" } == 2 && lines.count { $0 == "a=setup:passive" } == 2)
    #expect(lines.contains("m=video 8189 UDP/TLS/RTP/SAVPF \(video.payloadType) \(retransmission.payloadType)"))
    #expect(lines.count { $0.hasPrefix("a=candidate:") } == 1)
    #expect(lines.contains("a=candidate:1 1 udp 2130706431 192.0.2.7 8189 typ host"))
  }

  @Test func `a data channel is rejected alone`() throws {
    let answer = try WebRTCAnswer(WebRTCOffers.offer("chromium-data"), Self.configuration())
    #expect(answer.video != nil && answer.audio != nil)
    #expect(Self.lines(answer).contains("a=group:BUNDLE 0 1"))
    #expect(
      Self.lines(answer, track: 2) == [
        "m=application 0 UDP/DTLS/SCTP webrtc-datachannel", "c=IN IP4 0.0.0.0", "a=mid:2", "a=inactive",
      ])
  }

  @Test func `Firefox without H_264 gets audio, and a rejected video track`() throws {
    let answer = try WebRTCAnswer(WebRTCOffers.offer("firefox"), Self.configuration())
    #expect(answer.video == nil && answer.audio?.mid == "1")
    #expect(Self.lines(answer, track: 0)[0].hasPrefix("m=video 0 "))
    #expect(Self.lines(answer).contains("a=group:BUNDLE 1"))
    // The first accepted track has the candidates.
    #expect(Self.lines(answer, track: 1).contains("a=end-of-candidates"))
  }

  @Test(arguments: ["aiortc", "gstreamer"])
  func `other clients get both tracks`(name: String) throws {
    let answer = try WebRTCAnswer(WebRTCOffers.offer(name), Self.configuration())
    #expect(answer.video != nil && answer.audio != nil)
    #expect(answer.clientTransport.credentials != nil)
  }

  @Test func `aiortc without transport-cc gets send times for its own estimate`() throws {
    let answer = try WebRTCAnswer(WebRTCOffers.offer("aiortc"), Self.configuration())
    #expect(answer.video?.extensionIDs[WebRTCAnswer.ExtensionURI.absoluteSendTime] == 3)
    #expect(answer.video?.feedback == [.nack, .nackPLI, .googREMB])
  }

  @Test func `an offer of one track is answered with that one, whichever it is`() throws {
    for (kind, lines) in [("video", Self.video()), ("audio", Self.audio("0"))] {
      let offer = try Self.parse(["a=group:BUNDLE 0"] + Self.transport + lines)
      let answer = try WebRTCAnswer(offer, Self.configuration())
      #expect((answer.video != nil) == (kind == "video") && (answer.audio != nil) == (kind == "audio"))
      let text = Self.lines(answer)
      #expect(text.filter { $0.hasPrefix("m=") }.count == 1 && text.contains("a=group:BUNDLE 0"))
      #expect(text.contains { $0.hasPrefix("m=\(kind) 8189 ") } && text.contains("a=sendonly"))
      #expect(text.contains("a=end-of-candidates"))
    }
  }

  @Test func `a stream without audio answers the track as inactive`() throws {
    let offer = try WebRTCOffers.offer("chromium")
    let answer = try WebRTCAnswer(offer, Self.configuration(hasAudio: false))
    #expect(answer.audio == nil && answer.video != nil)
    let audio = Self.lines(answer, track: 1)
    #expect(audio[0].hasPrefix("m=audio 8189") && audio.contains("a=inactive"))
    #expect(!audio.contains { $0.hasPrefix("a=ssrc") || $0.hasPrefix("a=msid") })
    #expect(throws: WebRTCAnswer.Refusal.nothingFits) {
      try WebRTCAnswer(offer, Self.configuration(video: nil, hasAudio: false))
    }
  }

  @Test(arguments: [
    ("42c01f", "42e01f", "42e01f"), ("42c028", "42e01f", "42e028"), ("640028", "64001f", "640028"),
    ("640c1f", "640c1f", "640c1f"), ("4d0028", "64001f", "640028"),
  ])
  func `video is answered when the client decodes its profile`(stream: String, offered: String, answered: String)
    throws
  {
    let offer = try Self.parse(["a=group:BUNDLE 0 1"] + Self.transport + Self.video(profile: offered) + Self.audio())
    let answer = try WebRTCAnswer(offer, Self.configuration(video: stream))
    #expect(answer.video != nil && answer.audio != nil)
    let parameters = Self.lines(answer).first { $0.hasPrefix("a=fmtp:96") }
    #expect(
      parameters == "a=fmtp:96 level-asymmetry-allowed=1;packetization-mode=1;profile-level-id=\(answered)")
  }

  @Test func `without level asymmetry a stream above the level is refused`() throws {
    let lines = Self.video().map { $0.replacing("level-asymmetry-allowed=1;", with: "") }
    let offer = try Self.parse(["a=group:BUNDLE 0 1"] + Self.transport + lines + Self.audio())
    #expect(try WebRTCAnswer(offer, Self.configuration(video: "42c01f")).video != nil)
    #expect(throws: WebRTCAnswer.Refusal.level) { try WebRTCAnswer(offer, Self.configuration(video: "42c028")) }
  }

  /// The `fmtp` of an offer, the mode of the stream, and the refusal; nil where it is answered.
  @Test(
    arguments: [
      ("packetization-mode=0;profile-level-id=42e01f", .nonInterleaved, .packetizationMode),
      ("profile-level-id=42e01f", .nonInterleaved, .packetizationMode), ("", .nonInterleaved, .packetizationMode),
      ("packetization-mode=2;profile-level-id=42e01f", .nonInterleaved, .packetizationMode),
      ("packetization-mode=2;profile-level-id=42e01f", .singleNALUnit, .packetizationMode),
      ("packetization-mode=one;profile-level-id=42e01f", .singleNALUnit, .packetizationMode),
      ("packetization-mode=0;profile-level-id=42e01f", .singleNALUnit, nil), ("", .singleNALUnit, nil),
      ("packetization-mode=1;profile-level-id=42e01f", .singleNALUnit, nil),
      ("packetization-mode=1", .nonInterleaved, nil),
      ("packetization-mode=1;profile-level-id=f4001f", .nonInterleaved, .profile),
      ("packetization-mode=1;profile-level-id=42", .nonInterleaved, .profile),
      ("profile-level-id=f4001f", .singleNALUnit, .profile), ("profile-level-id=42e00a", .singleNALUnit, .level),
      ("packetization-mode=1;profile-level-id=42e01e", .nonInterleaved, .level),
    ] as [(String, H264PacketizationMode, WebRTCAnswer.Refusal?)])
  func `an offer whose H_264 does not decode the stream is refused with the cause, whatever the audio is`(
    parameters: String, mode: H264PacketizationMode, refusal: WebRTCAnswer.Refusal?
  ) throws {
    let lines =
      Self.video().filter { !$0.hasPrefix("a=fmtp:96") }
      + (parameters.isEmpty ? [] : ["a=fmtp:96 \(parameters)"])
    let offer = try Self.parse(["a=group:BUNDLE 0 1"] + Self.transport + lines + Self.audio())
    var configuration = try Self.configuration()
    configuration.packetizationMode = mode
    if let refusal {
      #expect(throws: refusal) { try WebRTCAnswer(offer, configuration) }
      // A track that does not receive is no reason.
      let other = try Self.parse(
        ["a=group:BUNDLE 0 1"] + Self.transport + lines.map { $0 == "a=recvonly" ? "a=sendonly" : $0 } + Self.audio())
      #expect(try WebRTCAnswer(other, configuration).audio != nil)
    } else {
      let answer = try WebRTCAnswer(offer, configuration)
      #expect(answer.video?.payloadType == 96 && answer.audio != nil)
    }
  }

  /// Lines of the codecs as GStreamer, embedded clients and old browsers write them, and what is answered for H.264.
  @Test(
    arguments: [
      (["a=rtpmap:96 H264/90000"], "level-asymmetry-allowed=1;packetization-mode=0;profile-level-id=42001f"),
      (
        ["a=rtpmap:96 h264/90000", "a=fmtp:96 profile-level-id=42E01F"],
        "level-asymmetry-allowed=1;packetization-mode=0;profile-level-id=42e01f"
      ),
      (
        ["a=rtpmap:96 h264/90000", "a=fmtp:96 Packetization-Mode = 1; Profile-Level-Id=42E01F;"],
        "level-asymmetry-allowed=1;packetization-mode=1;profile-level-id=42e01f"
      ),
      (
        ["a=rtpmap:96 H264/90000", "a=fmtp:96 packetization-mode=1", "a=fmtp:96 profile-level-id=42e01f"],
        "level-asymmetry-allowed=1;packetization-mode=1;profile-level-id=42e01f"
      ),
      (
        ["a=fmtp:96 packetization-mode=1", "a=rtpmap:96 H264/90000/1"],
        "level-asymmetry-allowed=1;packetization-mode=1;profile-level-id=42001f"
      ),
    ])
  func `H_264 is found however its parameters are written, and left out`(lines: [String], answered: String) throws {
    let video = Self.video().filter { $0.hasPrefix("m=") || !$0.contains(":96") && !$0.contains("97") } + lines
    for opus in ["opus/48000/2", "OPUS/48000", "Opus/48000/1"] {
      let audio = Self.audio().map { $0.replacing("opus/48000/2", with: opus) }
      let offer = try Self.parse(["a=group:BUNDLE 0 1"] + Self.transport + video + audio)
      var configuration = try Self.configuration()
      configuration.packetizationMode = .singleNALUnit
      let answer = try WebRTCAnswer(offer, configuration)
      #expect(answer.video?.payloadType == 96 && answer.audio?.payloadType == 111, "\(opus)")
      #expect(Self.lines(answer).contains("a=fmtp:96 \(answered)"))
      // In the client's own words, without channels where it has none.
      #expect(Self.lines(answer).contains("a=rtpmap:111 \(opus.replacing("/1", with: ""))"))
    }
  }

  @Test func `of formats in both modes the one with fragments is answered`() throws {
    let lines = [
      "m=video 9 UDP/TLS/RTP/SAVPF 96 98", "a=mid:0", "a=recvonly", "a=rtcp-mux", "a=rtpmap:96 H264/90000",
      "a=rtpmap:98 H264/90000", "a=fmtp:96 packetization-mode=0;profile-level-id=42e01f",
      "a=fmtp:98 packetization-mode=1;profile-level-id=42e01f",
    ]
    let offer = try Self.parse(["a=group:BUNDLE 0"] + Self.transport + lines)
    #expect(try WebRTCAnswer(offer, Self.configuration()).video?.payloadType == 98)
    #expect(WebRTCAnswer.hasDecoder(of: .constrainedBaseline, in: offer))
    let single = try Self.parse(["a=group:BUNDLE 0"] + Self.transport + Self.video().filter { !$0.contains("fmtp:96") })
    #expect(!WebRTCAnswer.hasDecoder(of: .constrainedBaseline, in: single))
    #expect(WebRTCAnswer.hasDecoder(of: .constrainedBaseline, .singleNALUnit, in: single))
  }

  @Test func `without a bundle only the first track is accepted`() throws {
    let offer = try Self.parse(Self.transport + Self.video() + Self.audio())
    let answer = try WebRTCAnswer(offer, Self.configuration())
    #expect(answer.video != nil && answer.audio == nil)
    #expect(!Self.lines(answer).contains { $0.hasPrefix("a=group") })
    #expect(Self.lines(answer, track: 1)[0].hasPrefix("m=audio 0 "))
  }

  @Test func `tracks outside the bundle, without rtcp-mux, rejected, or the second of a kind are rejected`() throws {
    let second = Self.video("2")
    let withoutMux = Self.audio("3").filter { $0 != "a=rtcp-mux" }
    let rejected = Self.audio("4").map { $0.replacing("audio 9", with: "audio 0") }
    let offer = try Self.parse(
      ["a=group:BUNDLE 0 2 3 4"] + Self.transport + Self.video() + Self.audio("1") + second + withoutMux + rejected)
    let answer = try WebRTCAnswer(offer, Self.configuration())
    #expect(answer.video?.mid == "0" && answer.audio == nil)
    #expect((1...4).allSatisfy { Self.lines(answer, track: $0)[0].contains(" 0 UDP") })
    #expect(Self.lines(answer).contains("a=group:BUNDLE 0"))
  }

  @Test func `without a bundle video is sent, whatever its place, and audio where no video fits`() throws {
    let orders = [Self.audio() + Self.video(), Self.video() + Self.audio()]
    for lines in orders {
      let answer = try WebRTCAnswer(Self.parse(Self.transport + lines), Self.configuration())
      #expect(answer.video != nil && answer.audio == nil)
      #expect(answer.description.media.filter { $0.port != 0 }.map(\.media) == ["video"])
    }
    let answer = try WebRTCAnswer(Self.parse(Self.transport + Self.audio()), Self.configuration())
    #expect(answer.video == nil && answer.audio != nil)
  }

  @Test func `a client that sends gets an inactive track, one that does both is sent to`() throws {
    let sending = Self.audio().map { $0.replacing("recvonly", with: "sendonly") }
    let both = Self.video().map { $0.replacing("recvonly", with: "sendrecv") }
    let offer = try Self.parse(["a=group:BUNDLE 0 1"] + Self.transport + both + sending)
    let answer = try WebRTCAnswer(offer, Self.configuration())
    #expect(answer.video != nil && answer.audio == nil)
    #expect(Self.lines(answer, track: 1).contains("a=inactive"))
  }

  @Test(arguments: ["a=sendonly", "a=inactive"])
  func `an offer that receives nothing of the stream is refused with that cause`(direction: String) throws {
    let (video, audio) = (Self.video(), Self.audio())
    func refusal(_ lines: [String], hasAudio: Bool = true) throws -> WebRTCAnswer.Refusal? {
      let offer = try Self.parse(
        ["a=group:BUNDLE 0 1"] + Self.transport + lines.map { $0.replacing("a=recvonly", with: direction) })
      let configuration = try Self.configuration(hasAudio: hasAudio)
      return #expect(throws: WebRTCAnswer.Refusal.self) { try WebRTCAnswer(offer, configuration) }
    }
    for lines in [video + audio, video, audio] { #expect(try refusal(lines) == .receivesNothing) }
    // The stream has no audio, whichever direction that has.
    #expect(try refusal(audio, hasAudio: false) == .nothingFits)
  }

  @Test(arguments: [
    ("42e00a", WebRTCAnswer.Refusal.level), ("42e01f", .profile), ("f4001f", .profile), ("4d000a", .level),
  ])
  func `a level that is too low for Constrained Baseline is the cause, although the stream has another profile`(
    offered: String, refusal: WebRTCAnswer.Refusal
  ) throws {
    let lines = Self.video(profile: offered).map { $0.replacing("level-asymmetry-allowed=1;", with: "") }
    let offer = try Self.parse(["a=group:BUNDLE 0"] + Self.transport + lines)
    #expect(throws: refusal) { try WebRTCAnswer(offer, Self.configuration(video: "640028")) }
    // Beside a format that can have Constrained Baseline, the profile is what is missing.
    var both = lines
    both[0] += " 98"
    both += ["a=rtpmap:98 H264/90000", "a=fmtp:98 packetization-mode=1;profile-level-id=42e01f"]
    let other = try Self.parse(["a=group:BUNDLE 0"] + Self.transport + both)
    #expect(throws: WebRTCAnswer.Refusal.profile) { try WebRTCAnswer(other, Self.configuration(video: "640028")) }
  }

  @Test(arguments: [
    ("a=setup:actpass", "a=setup:holdconn", WebRTCAnswer.Refusal.holdsConnection),
    ("a=ice-ufrag:clnt", "a=x", .noTransport),
    ("a=ice-pwd:client0password0client", "a=ice-pwd:short", .noTransport),
    ("a=fingerprint:sha-256", "a=fingerprint:sha-1", .noTransport),
  ])
  func `an offer without a usable transport is refused`(old: String, new: String, refusal: WebRTCAnswer.Refusal) throws
  {
    let transport = Self.transport.map { $0.replacing(old, with: new) }
    let offer = try Self.parse(["a=group:BUNDLE 0"] + transport + Self.video())
    #expect(throws: refusal) { try WebRTCAnswer(offer, Self.configuration()) }
  }

  @Test(arguments: [
    ("a=setup:actpass", "a=setup:passive", DTLSRole.server), ("a=setup:active", "a=setup:passive", .server),
    ("a=setup:passive", "a=setup:active", .client), ("a=x", "a=setup:passive", .server),
  ])
  func `the server of DTLS is who the client wants it to be`(offered: String, answered: String, role: DTLSRole) throws {
    let transport = Self.transport.map { $0.replacing("a=setup:actpass", with: offered) }
    let offer = try Self.parse(["a=group:BUNDLE 0 1"] + transport + Self.video() + Self.audio())
    let answer = try WebRTCAnswer(offer, Self.configuration())
    #expect(answer.role == role)
    for track in 0..<2 { #expect(Self.lines(answer, track: track).filter { $0.hasPrefix("a=setup") } == [answered]) }
  }

  @Test func `a client may be active, and restricts extensions`() throws {
    let extmap = "a=extmap:6/recvonly \(WebRTCAnswer.ExtensionURI.playoutDelay)"
    let transport = Self.transport.map { $0.replacing("actpass", with: "active") }
    let offer = try Self.parse(
      ["a=group:BUNDLE 0"] + transport
        + Self.video(more: [extmap, "a=extmap:7/sendonly \(WebRTCAnswer.ExtensionURI.mid)"]))
    let answer = try WebRTCAnswer(offer, Self.configuration())
    #expect(answer.video?.extensionIDs == [WebRTCAnswer.ExtensionURI.playoutDelay: 6])
    #expect(Self.lines(answer).contains("a=extmap:6/sendonly \(WebRTCAnswer.ExtensionURI.playoutDelay)"))
  }

  @Test func `candidates are listed once, in order, IPv6 too`() throws {
    let answer = try WebRTCAnswer(
      WebRTCOffers.offer("chromium"),
      Self.configuration(candidates: [("2001:db8::7", 1), ("192.0.2.7", 1), ("2001:db8::7", 1)]))
    let lines = Self.lines(answer)
    #expect(
      lines.filter { $0.hasPrefix("a=candidate") } == [
        "a=candidate:1 1 udp 2130706431 2001:db8::7 1 typ host", "a=candidate:2 1 udp 2130706175 192.0.2.7 1 typ host",
      ])
    #expect(lines.contains("c=IN IP6 2001:db8::7"))
  }

  @Test(arguments: WebRTCOffers.names)
  func `an answer is itself a session description with the tracks of its offer`(name: String) throws {
    let offer = try WebRTCOffers.offer(name)
    let answer = try WebRTCAnswer(offer, Self.configuration())
    var buffer = ByteBuffer()
    answer.description.serialize(into: &buffer)
    let parsed = try WebRTCOffer(parsing: buffer)
    #expect(parsed.media.map(\.mid) == offer.media.map(\.mid) && parsed.media.map(\.kind) == offer.media.map(\.kind))
    for media in parsed.media where !media.isRejected {
      #expect(media.transport.credentials?.usernameFragment == "serv" && media.transport.fingerprints.count == 1)
    }
  }

  @Test func `candidates of TCP are passive, and below all of UDP`() throws {
    var configuration = try Self.configuration(candidates: [("192.0.2.7", 8189), ("2001:db8::7", 8189)])
    configuration.candidates += configuration.candidates.map { TransportAddress(ip: $0.ip, port: $0.port, isTCP: true) }
    let answer = try WebRTCAnswer(try WebRTCOffers.offer("chromium"), configuration)
    let lines = Self.lines(answer).filter { $0.hasPrefix("a=candidate:") }
    #expect(lines.count == 4)
    #expect(lines[2].hasSuffix(" 192.0.2.7 8189 typ host tcptype passive") && lines[2].contains(" 1 tcp "))
    #expect(lines[3].hasSuffix(" 2001:db8::7 8189 typ host tcptype passive"))
    let candidates = try lines.map { try ICECandidate(parsing: $0.dropFirst("a=candidate:".count)) }
    #expect(candidates.map(\.address) == configuration.candidates)
    #expect(zip(candidates, candidates.dropFirst()).allSatisfy { $0.priority > $1.priority })
    // Type preference 90; direction preference 4 of passive ones in the local preference, RFC 6544 §4.2.
    #expect(candidates[2].priority == UInt32(0x5A9F_FDFF))
  }

  @Test(
    arguments: [
      ("chromium", "42e01f", true), ("chromium", "42c02a", true), ("chromium", "4d001f", true),
      ("chromium", "64001f", false), ("firefox", "42e01f", false), ("aiortc", "42e01f", true),
      ("aiortc", "640028", false), ("aiortc", "4d001f", false),
    ])
  func `a stream whose profile a client does not decode is known before the answer`(
    client: String, profile: String, isDecoded: Bool
  ) throws {
    let offer = try WebRTCOffers.offer(client)
    #expect(WebRTCAnswer.hasDecoder(of: try H264ProfileLevel(parsing: profile), in: offer) == isDecoded)
  }

  @Test func `a client with High decodes it, a track that it refuses does not count`() throws {
    let high = try H264ProfileLevel(parsing: "640028")
    let offer = try Self.parse(["a=group:BUNDLE 0"] + Self.transport + Self.video(profile: "640c1f"))
    // Safari's Constrained High has no field coding; High may have.
    #expect(!WebRTCAnswer.hasDecoder(of: high, in: offer))
    #expect(WebRTCAnswer.hasDecoder(of: try H264ProfileLevel(parsing: "640c28"), in: offer))
    #expect(WebRTCAnswer.hasDecoder(of: .constrainedBaseline, in: offer))
    let refused = try Self.parse(
      ["a=group:BUNDLE 0"] + Self.transport + Self.video().map { $0.replacing("m=video 9", with: "m=video 0") })
    #expect(!WebRTCAnswer.hasDecoder(of: .constrainedBaseline, in: refused))
  }
}
