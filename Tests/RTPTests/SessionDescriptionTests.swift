import Media
import NIOCore
import Testing

@testable import RTP

@Suite("Session description, RFC 8866")
struct SessionDescriptionTests {
  static let video = H264Description(
    sequenceParameterSet: [
      0x67, 0x42, 0xC0, 0x1F, 0xD9, 0x00, 0x50, 0x05, 0xBB, 0xFF, 0x00, 0x03, 0x00, 0x04, 0x10, 0x00, 0x00, 0x03, 0x00,
      0x10, 0x00, 0x00, 0x03, 0x03, 0xC0, 0xF1, 0x83, 0x24, 0x80,
    ],
    pictureParameterSet: [0x68, 0xCB, 0x83, 0xCB, 0x20], width: 1280, height: 720, frameRate: FrameRate(30))
  static let audio = AACDescription(
    audioSpecificConfig: [0x11, 0x90], format: AudioFormat(sampleRate: 48_000, channelCount: 2))

  static let text = """
    v=0\r
    o=- 42 1 IN IP4 192.168.2.67\r
    s=live\r
    c=IN IP4 0.0.0.0\r
    t=0 0\r
    a=control:*\r
    a=range:npt=now-\r
    m=video 0 RTP/AVP 96\r
    b=AS:2301\r
    a=rtpmap:96 H264/90000\r
    a=fmtp:96 packetization-mode=1;profile-level-id=42C01F;\
    sprop-parameter-sets=Z0LAH9kAUAW7/wADAAQQAAADABAAAAMDwPGDJIA=,aMuDyyA=\r
    a=framerate:30\r
    a=control:trackID=0\r
    m=audio 0 RTP/AVP 97\r
    a=rtpmap:97 mpeg4-generic/48000/2\r
    a=fmtp:97 streamtype=5;profile-level-id=1;mode=AAC-hbr;sizelength=13;indexlength=3;indexdeltalength=3;config=1190\r
    a=control:trackID=1\r

    """

  static var session: SessionDescription {
    SessionDescription(
      live: "live", sessionID: 42, address: "192.168.2.67",
      media: [
        MediaDescription(.h264(Self.video), payloadType: 96, control: "trackID=0", bitrate: 2_300_001),
        MediaDescription(.aac(Self.audio), payloadType: 97, control: "trackID=1"),
      ])
  }

  @Test func `a live stream is described in full`() {
    #expect(Self.serialize(Self.session) == Self.text)
  }

  @Test func `the description survives a round trip, with both codecs`() throws {
    let parsed = try SessionDescription(parsing: ByteBuffer(string: Self.text))
    #expect(parsed == Self.session)
    #expect(try parsed.media.map { try $0.codecDescription() } == [.h264(Self.video), .aac(Self.audio)])
    #expect(parsed.media.map(\.control) == ["trackID=0", "trackID=1"])
    #expect(parsed.media.map(\.payloadType) == [96, 97])
    #expect(parsed.attributes.value(of: "range") == "npt=now-")
  }

  @Test func `every prefix parses or throws, and never traps`() {
    var parsed = 0
    for length in 0..<Self.text.utf8.count {
      let session = try? SessionDescription(parsing: ByteBuffer(bytes: Self.text.utf8.prefix(length)))
      for media in session?.media ?? [] { _ = try? media.codecDescription() }
      parsed += session == nil ? 0 : 1
    }
    // All but those that end before "v=0", or within a line "m=".
    #expect(parsed > Self.text.utf8.count - 60 && parsed < Self.text.utf8.count)
  }

  @Test(arguments: [
    ("LF alone", Self.text.replacing("\r\n", with: "\n")),
    ("empty lines", Self.text.replacing("\r\n", with: "\r\n\r\n")),
    ("blanks at the ends", Self.text.replacing("\r\n", with: " \t\r\n ")),
    ("unknown lines", Self.text.replacing("t=0 0\r\n", with: "u=http://x\r\nt=0 0\r\nz=0 0\r\nnonsense\r\nq\r\n")),
    ("a zero byte at the end", Self.text + "\0"),
  ])
  func `descriptions of cameras are parsed`(name: String, text: String) throws {
    #expect(try SessionDescription(parsing: ByteBuffer(string: text)) == Self.session)
  }

  @Test func `lines in any order, spaces and missing padding are accepted`() throws {
    // In the manner of cameras whose server is GStreamer's.
    let text = """
      v=0
      o=- 1188340656180883 1 IN IP4 192.168.1.90
      s=Session streamed with GStreamer
      i=rtsp-server
      t=0 0
      a=tool:GStreamer
      a=type:broadcast
      a=range:npt=now-
      a=control:rtsp://192.168.1.90/media?video=1
      m=video 0 RTP/AVP 96
      c=IN IP4 0.0.0.0
      b=AS:50000
      a=rtpmap:96 H264/90000
      a=fmtp:96 packetization-mode=1; profile-level-id=42c01f; sprop-parameter-sets=Z0LAH9kAUAW7/wADAAQQAAADABAAAAMDwPGDJIA,aMuDyyA=
      a=framerate:30.000000
      a=recvonly
      """
    let session = try SessionDescription(parsing: ByteBuffer(string: text))
    #expect(session.media.first?.attributes.direction == .receiveOnly)
    #expect(session.media.first?.connection == "IN IP4 0.0.0.0")
    #expect(session.media.first?.bandwidths == ["AS:50000"])
    #expect(try session.media.first?.codecDescription() == .h264(Self.video))
  }

  @Test(arguments: [
    ("v=0\nm=video 0\n", ParsingError(.invalid, field: "m=", offset: 4)),
    ("v=0\nm=video 65536 RTP/AVP 96\n", ParsingError(.invalid, field: "m=", offset: 4)),
    ("v=0\nm=video -1 RTP/AVP 96\n", ParsingError(.invalid, field: "m=", offset: 4)),
    ("o=- 1 1 IN IP4 0.0.0.0\n", ParsingError(.missing, field: "v=", offset: 0)),
    ("", ParsingError(.missing, field: "v=")),
    ("v=0\n" + String(repeating: "m=a 0 b 0\n", count: 65), ParsingError(.tooLarge, field: "m=", offset: 4 + 640)),
    ("v=0\n" + String(repeating: "a", count: 65_533), ParsingError(.tooLarge, field: "SDP")),
  ])
  func `malformed descriptions are refused`(text: String, error: ParsingError) {
    #expect(throws: error) { try SessionDescription(parsing: ByteBuffer(string: text)) }
  }

  @Test(arguments: [
    ("m=video 0 RTP/AVP 96", ParsingError(.missing, field: "rtpmap")),
    ("m=video 0 RTP/AVP x\na=rtpmap:96 H264/90000", ParsingError(.missing, field: "rtpmap")),
    ("m=video 0 RTP/AVP 96\na=rtpmap:96 H264/0", ParsingError(.missing, field: "rtpmap")),
    ("m=video 0 RTP/AVP 96\na=rtpmap:96 H265/90000", ParsingError(.unsupported, field: "rtpmap")),
    ("m=video 0 RTP/AVP 96\na=rtpmap:96 H264/90000", ParsingError(.missing, field: "sprop-parameter-sets")),
    (
      "m=video 0 RTP/AVP 96\na=rtpmap:96 H264/90000\na=fmtp:96 packetization-mode=2",
      ParsingError(.unsupported, field: "packetization-mode")
    ),
    (
      "m=video 0 RTP/AVP 96\na=rtpmap:96 H264/90000\na=fmtp:96 sprop-parameter-sets=Z0LA*,aMuDyyA=",
      ParsingError(.invalid, field: "sprop-parameter-sets")
    ),
    (
      "m=video 0 RTP/AVP 96\na=rtpmap:96 H264/90000\na=fmtp:96 sprop-parameter-sets=Z0LA,aMuDyyA=",
      ParsingError(.invalid, field: "sprop-parameter-sets")
    ),
    ("m=audio 0 RTP/AVP 97\na=rtpmap:97 MPEG4-GENERIC/48000/2", ParsingError(.missing, field: "config")),
    (
      "m=audio 0 RTP/AVP 97\na=rtpmap:97 MPEG4-GENERIC/48000/2\na=fmtp:97 config=119",
      ParsingError(.invalid, field: "config")
    ),
    (
      "m=audio 0 RTP/AVP 97\na=rtpmap:97 MPEG4-GENERIC/48000/2\na=fmtp:97 config=F948000000",
      ParsingError(.unsupported, field: "config")
    ),
  ])
  func `the error of a track without a usable codec names the missing field`(text: String, error: ParsingError) throws {
    let media = try #require(try SessionDescription(parsing: ByteBuffer(string: "v=0\n" + text)).media.first)
    #expect(throws: error) { try media.codecDescription() }
  }

  @Test func `a name cannot start a new line`() throws {
    var session = Self.session
    session.name = "x\r\nm=video 0 RTP/AVP 0\u{0}"
    let parsed = try SessionDescription(parsing: ByteBuffer(string: Self.serialize(session)))
    #expect(parsed.name == "x  m=video 0 RTP/AVP 0")
    #expect(parsed.media.count == 2)
  }

  @Test func `an IPv6 address has the address type IP6`() {
    let session = SessionDescription(name: "", sessionID: 1, address: "fe80::1")
    #expect(Self.serialize(session) == "v=0\r\no=- 1 1 IN IP6 fe80::1\r\ns=-\r\nc=IN IP6 ::\r\nt=0 0\r\n")
  }

  @Test(
    arguments: [
      ("", []), ("Zg==", [0x66]), ("Zm8=", [0x66, 0x6F]), ("Zm9v", [0x66, 0x6F, 0x6F]),
      ("Zm9vYmFy", [0x66, 0x6F, 0x6F, 0x62, 0x61, 0x72]), ("+/+/", [0xFB, 0xFF, 0xBF]),
    ] as [(String, [UInt8])])
  func `Base64 decodes the examples of RFC 4648, with optional padding`(text: String, bytes: [UInt8]) {
    #expect(Base64.encode(bytes) == text)
    #expect(Base64.decode(text) == bytes)
    #expect(Base64.decode(text.replacing("=", with: "")) == bytes)
  }

  @Test(arguments: ["Z", "Zg=a", "Z m8", "Zm9vY", "Zm9-"])
  func `malformed Base64 is refused`(text: String) {
    #expect(Base64.decode(text) == nil)
  }

  private static func serialize(_ session: SessionDescription) -> String {
    var buffer = ByteBuffer()
    session.serialize(into: &buffer)
    return String(buffer: buffer)
  }
}
