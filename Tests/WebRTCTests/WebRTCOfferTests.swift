import Foundation
import Media
import NIOCore
import RTP
import Testing
import WebRTC
import WebRTCPeers

@Suite("WebRTC offers, RFC 8829")
struct WebRTCOfferTests {
  @Test(arguments: WebRTCOffers.names)
  func `real offers parse, with bundle, ICE and DTLS`(name: String) throws {
    let offer = try WebRTCOffers.offer(name)
    #expect(offer.media.prefix(2).map(\.kind) == ["video", "audio"])
    #expect(offer.bundledMids == offer.media.compactMap(\.mid))
    for media in offer.media {
      #expect(media.transport.credentials != nil && !media.isRejected)
      #expect(media.transport.setup == "actpass")
      #expect(media.transport.fingerprints.contains { $0.algorithm == .sha256 })
    }
    for media in offer.media.prefix(2) {
      #expect(media.hasRTCPMux && media.direction == .receiveOnly)
      #expect(media.formats.count >= 1 && media.transportProtocol == "UDP/TLS/RTP/SAVPF")
    }
  }

  @Test func `formats have their parameters and feedback`() throws {
    let video = try WebRTCOffers.offer("chromium").media[0]
    let h264 = video.formats.filter { $0.map.isEncoding("H264") }
    #expect(h264.count >= 6)
    #expect(h264.contains { $0.parameters["profile-level-id"] == "42e01f" })
    for format in h264 {
      #expect(format.feedback == [.nack, .nackPLI, .ccmFIR, .transportCC, .googREMB])
    }
    #expect(video.extensionID(WebRTCAnswer.ExtensionURI.playoutDelay) != nil)
    #expect(video.extensionID(WebRTCAnswer.ExtensionURI.transportWideCC) != nil)
    let firefox = try WebRTCOffers.offer("firefox").media[0]
    #expect(firefox.extensions.first { $0.uri == WebRTCAnswer.ExtensionURI.playoutDelay }?.direction == .receiveOnly)
    #expect(try WebRTCOffers.offer("chromium").media[1].formats.first?.map.isEncoding("opus") == true)
  }

  private static func parse(_ lines: String...) throws -> WebRTCOffer {
    try WebRTCOffer(parsing: ByteBuffer(string: (["v=0"] + lines).joined(separator: "\r\n")))
  }

  @Test func `attributes of the session apply to tracks without their own`() throws {
    let digest = Array(repeating: "AB", count: 32).joined(separator: ":")
    let offer = try Self.parse(
      "a=ice-ufrag:sess", "a=ice-pwd:0123456789012345678901", "a=fingerprint:sha-256 \(digest)", "a=setup:active",
      "a=recvonly", "a=extmap:3 urn:x", "m=video 9 UDP/TLS/RTP/SAVPF 96", "a=rtpmap:96 H264/90000", "a=rtcp-fb:* nack",
      "m=audio 9 UDP/TLS/RTP/SAVPF 97", "a=ice-ufrag:mine", "a=ice-pwd:abcdefghijklmnopqrstuv", "a=sendrecv",
      "a=extmap:3 urn:y")
    #expect(offer.media[0].transport.credentials?.usernameFragment == "sess")
    #expect(offer.media[1].transport.credentials?.usernameFragment == "mine")
    #expect(offer.media.map(\.direction) == [.receiveOnly, .sendReceive])
    #expect(offer.media.allSatisfy { $0.transport.setup == "active" && $0.transport.fingerprints.count == 1 })
    #expect(offer.media[0].formats.map(\.feedback) == [.nack])
    #expect(offer.media.map(\.extensions.first?.uri) == ["urn:x", "urn:x"])
    #expect(offer.bundledMids == nil)
  }

  @Test func `a viewer's audio that is bundled with video without H.264 has its transport`() throws {
    let digest = Array(repeating: "AB", count: 32).joined(separator: ":")
    let offer = try Self.parse(
      "a=group:BUNDLE v a", "m=video 9 UDP/TLS/RTP/SAVPF 96", "a=mid:v", "a=recvonly", "a=rtpmap:96 VP8/90000",
      "a=ice-ufrag:frst", "a=ice-pwd:0123456789012345678901", "a=fingerprint:sha-256 \(digest)", "a=setup:actpass",
      "a=rtcp-mux", "m=audio 0 UDP/TLS/RTP/SAVPF 111", "a=mid:a", "a=bundle-only", "a=recvonly",
      "a=rtpmap:111 opus/48000/2", "m=audio 0 UDP/TLS/RTP/SAVPF 111", "a=mid:other", "a=bundle-only")
    #expect(offer.media.map(\.hasRTCPMux) == [true, true, false] && offer.media.allSatisfy { !$0.hasReducedSizeRTCP })
    #expect(offer.media[2].transport.credentials == nil)
    let configuration = WebRTCAnswer.Configuration(
      sessionID: 1,
      credentials: try #require(ICECredentials(usernameFragment: "serv", password: "server0password0server")),
      fingerprint: CertificateFingerprint(algorithm: .sha256, digest: [UInt8](repeating: 1, count: 32)),
      candidates: [try #require(TransportAddress("192.0.2.7", port: 8189))], video: .constrainedBaseline,
      hasAudio: true, ssrcs: (1, 2, 3))
    let answer = try WebRTCAnswer(offer, configuration)
    #expect(answer.video == nil && answer.audio?.mid == "a")
    #expect(answer.clientTransport.credentials?.usernameFragment == "frst")
    #expect(answer.description.media.map(\.port) == [0, 8189, 0])
  }

  @Test(arguments: [
    ("no track", [], ParsingError(.missing, field: "m=")),
    ("mid with a space", ["m=audio 9 RTP/SAVPF 0", "a=mid:a b"], ParsingError(.invalid, field: "mid")),
    ("empty mid", ["m=audio 9 RTP/SAVPF 0", "a=mid:"], ParsingError(.invalid, field: "mid")),
    (
      "mid twice", ["m=audio 9 RTP/SAVPF 0", "a=mid:0", "m=video 9 RTP/SAVPF 96", "a=mid:0"],
      ParsingError(.invalid, field: "mid")
    ),
    ("no format", ["m=audio 9 RTP/SAVPF"], ParsingError(.invalid, field: "m=")),
    ("long kind", ["m=\(String(repeating: "x", count: 65)) 9 RTP/SAVPF 0"], ParsingError(.invalid, field: "m=")),
  ])
  func `offers that cannot be answered are refused`(name: String, lines: [String], error: ParsingError) {
    #expect(throws: error, "\(name)") {
      try WebRTCOffer(parsing: ByteBuffer(string: (["v=0"] + lines).joined(separator: "\n")))
    }
  }

  @Test func `what cannot be used is left out`() throws {
    let offer = try Self.parse(
      "m=video 9 RTP/SAVPF 96 96 128 300 x 97", "a=rtpmap:96 H264/90000", "a=rtpmap:300 H264/90000",
      "a=rtpmap:97 H264/0", "a=fmtp:96", "a=fmtp:x packetization-mode=1", "a=extmap:0 urn:a", "a=extmap:15 urn:b",
      "a=extmap:14 urn:c", "a=extmap:14 urn:d", "a=extmap:1", "a=ice-ufrag:ab", "a=ice-pwd:short",
      "a=fingerprint:sha-1 00", "a=fingerprint:sha-256 00")
    let media = offer.media[0]
    #expect(media.formats.map(\.payloadType) == [96])
    #expect(media.extensions.map(\.uri) == ["urn:c"])
    #expect(media.transport.credentials == nil && media.transport.fingerprints == [])
  }

  @Test func `the largest texts are bounded, and refused beyond`() throws {
    let track = "m=video 9 RTP/SAVPF 96\n"
    for (count, isAccepted) in [(64, true), (65, false), (1000, false)] {
      let text = "v=0\n" + String(repeating: track, count: count)
      #expect((try? WebRTCOffer(parsing: ByteBuffer(string: text)))?.media.count == (isAccepted ? count : nil))
    }
    let candidates = (0..<500).map { "a=candidate:\($0) 1 udp 1 192.0.2.1 \($0) typ host\n" }.joined()
    #expect(try WebRTCOffer(parsing: ByteBuffer(string: "v=0\n" + track + candidates)).media.count == 1)
    #expect(throws: ParsingError(.tooLarge, field: "SDP")) {
      try WebRTCOffer(parsing: ByteBuffer(string: "v=0\n" + track + String(repeating: "a=x\n", count: 1 << 18)))
    }
    // Payload types and attributes up to the limit of the text.
    let numbers = (0..<6000).map { "\($0 % 128)" }.joined(separator: " ")
    let maps = (0..<2000).map { "a=rtpmap:\($0 % 128) H264/90000\n" }.joined()
    let offer = try WebRTCOffer(parsing: ByteBuffer(string: "v=0\nm=video 9 RTP/SAVPF \(numbers)\n\(maps)"))
    #expect(offer.media[0].formats.count == 128)
  }
}

@Suite("H.264 profiles in session descriptions, RFC 6184 §8.1")
struct H264ProfileLevelTests {
  @Test(
    arguments: [
      ("42e01f", .constrainedBaseline), ("42C00A", .constrainedBaseline), ("42001f", .baseline),
      ("4de01f", .constrainedBaseline), ("4d001f", .main), ("4d401f", .main), ("58c01f", .constrainedBaseline),
      ("58801f", .baseline), ("58001f", .extended), ("640c1f", .constrainedHigh), ("64001f", .high), ("64081f", .high),
      ("f4001f", nil), ("000000", nil),
    ] as [(String, H264ProfileLevel.Profile?)])
  func `a profile has one meaning, however it is written`(text: String, profile: H264ProfileLevel.Profile?) throws {
    let parsed = try H264ProfileLevel(parsing: text)
    #expect(parsed.profile == profile)
    #expect(parsed.text == text.lowercased())
  }

  @Test(arguments: ["", "42e01", "42e01ff", "+2e01f", "42e01g", "é2e0f"])
  func `other texts are refused`(text: String) {
    #expect(throws: ParsingError(.invalid, field: "profile-level-id")) { try H264ProfileLevel(parsing: text) }
  }

  @Test func `a decoder suits streams of its profile best, and those below it`() throws {
    func rank(_ decoder: String, _ stream: String) throws -> Int? {
      try H264ProfileLevel(parsing: decoder).rank(for: H264ProfileLevel(parsing: stream))
    }
    #expect(try rank("42e01f", "42c01f") == 0)
    #expect(try rank("42001f", "42c01f") == 1)
    #expect(try rank("64001f", "42c01f") == 4)
    #expect(try rank("42e01f", "640028") == nil)
    #expect(try rank("64001f", "640028") == 0)
    #expect(try rank("64001f", "640c1f") == 1)
    #expect(try rank("f4001f", "f4001f") == nil)
  }
}
