import Media
import NIOCore
import Testing

@testable import RTP

@Suite("Session descriptions of the standards")
struct SessionDescriptionExamplesTests {
  @Test func `the example of RFC 8866 §5 is parsed line by line`() throws {
    let text = """
      v=0
      o=jdoe 3724394400 3724394405 IN IP4 198.51.100.1
      s=Call to John Smith
      i=SDP Offer #1
      u=http://www.jdoe.example.com/home.html
      e=Jane Doe <jane@jdoe.example.com>
      p=+1 617 555-6011
      c=IN IP4 198.51.100.1
      t=0 0
      m=audio 49170 RTP/AVP 0
      m=audio 49180 RTP/AVP 0
      m=video 51372 RTP/AVP 99
      c=IN IP6 2001:db8::2
      a=rtpmap:99 h263-1998/90000
      """
    let session = try SessionDescription(parsing: ByteBuffer(string: text))
    #expect(session.origin == "jdoe 3724394400 3724394405 IN IP4 198.51.100.1")
    #expect(session.name == "Call to John Smith" && session.information == "SDP Offer #1")
    #expect(session.connection == "IN IP4 198.51.100.1")
    #expect(session.media.map(\.media) == ["audio", "audio", "video"])
    #expect(session.media.map(\.port) == [49_170, 49_180, 51_372])
    #expect(session.media.map(\.payloadType) == [0, 0, 99])
    #expect(session.media.map(\.connection) == [nil, nil, "IN IP6 2001:db8::2"])
    #expect(session.media[2].rtpMap(payloadType: 99) == RTPMap(encoding: "h263-1998", clockRate: 90_000))
    // A static payload type has no rtpmap: it is not one of the codecs here.
    #expect(throws: ParsingError(.missing, field: "rtpmap")) { try session.media[0].codecDescription() }
    #expect(throws: ParsingError(.unsupported, field: "rtpmap")) { try session.media[2].codecDescription() }
  }

  /// The second has a start code before each.
  @Test(arguments: ["Z0IACpZTBYmI,aMljiA==", "AAAAAWdCAAqWUwWJiA==,AAABaMljiA=="])
  func `the parameter sets of RFC 6184's examples are those of QCIF in Baseline`(sets: String) throws {
    let text = """
      v=0
      m=video 49170 RTP/AVP 98
      a=rtpmap:98 H264/90000
      a=fmtp:98 profile-level-id=42A01E; packetization-mode=1; sprop-parameter-sets=\(sets)
      """
    let media = try #require(try SessionDescription(parsing: ByteBuffer(string: text)).media.first)
    let expected = H264Description(
      sequenceParameterSet: [0x67, 0x42, 0x00, 0x0A, 0x96, 0x53, 0x05, 0x89, 0x88],
      pictureParameterSet: [0x68, 0xC9, 0x63, 0x88], width: 176, height: 144, frameRate: 25)
    #expect(try media.codecDescription() == .h264(expected))
  }

  @Test(
    arguments: [
      // §3.3.5, low bitrate; §3.3.6, high bitrate: "config" is AudioSpecificConfig.
      (
        "mpeg4-generic/22050/1", "mode=AAC-lbr; config=1388; sizeLength=6; indexLength=2; indexDeltaLength=2",
        [0x13, 0x88], 22_050, 1
      ),
      (
        "mpeg4-generic/48000/6", "mode=AAC-hbr; config=11B0; sizeLength=13; indexLength=3; indexDeltaLength=3",
        [0x11, 0xB0], 48_000, 6
      ),
    ] as [(String, String, [UInt8], Int, Int)])
  func `the examples of RFC 3640 are AAC`(
    map: String, parameters: String, config: [UInt8], sampleRate: Int, channelCount: Int
  ) throws {
    let text = """
      v=0
      m=audio 49230 RTP/AVP 96
      a=rtpmap:96 \(map)
      a=fmtp:96 streamtype=5; profile-level-id=16; \(parameters); constantDuration=1024
      """
    let media = try #require(try SessionDescription(parsing: ByteBuffer(string: text)).media.first)
    let format = AudioFormat(sampleRate: sampleRate, channelCount: channelCount)
    #expect(try media.codecDescription() == .aac(AACDescription(audioSpecificConfig: config, format: format)))
    _ = try AACDepacketizer(parameters: media.formatParameters(payloadType: 96))
  }

  @Test(
    arguments: [
      ("L16/44100/2", RTPMap(encoding: "L16", clockRate: 44_100, channelCount: 2)),
      ("opus/48000/2", RTPMap(encoding: "opus", clockRate: 48_000, channelCount: 2)),
      ("H264/90000", RTPMap(encoding: "H264", clockRate: 90_000)),
      (" H264 / 90000 ", RTPMap(encoding: "H264", clockRate: 90_000)),
      ("PCMU/8000/1/x", RTPMap(encoding: "PCMU", clockRate: 8000)),
      ("H264", nil), ("H264/", nil), ("H264/x", nil), ("H264/-1", nil), ("H264/0", nil), ("H264/2147483648", nil),
      ("L16/44100/0", nil), ("L16/44100/", nil), ("L16/44100/256", nil), ("", nil),
    ] as [(String, RTPMap?)])
  func `an encoding has a clock rate, and one channel unless it says more`(text: String, map: RTPMap?) {
    #expect(RTPMap(parsing: text) == map)
  }

  @Test func `encoding names are compared case-insensitively`() {
    let map = RTPMap(encoding: "MPEG4-Generic", clockRate: 48_000)
    #expect(map.isEncoding("mpeg4-generic") && map.isEncoding("MPEG4-GENERIC"))
    #expect(!map.isEncoding("mpeg4") && !map.isEncoding("mpeg4-generic2"))
  }

  @Test(
    arguments: [
      ("a=b;c=d", [("a", "b"), ("c", "d")]), (" a = b ; c\t=\td ", [("a", "b"), ("c", "d")]),
      ("sets=Zg==,Zm8=", [("sets", "Zg==,Zm8=")]), ("flag", [("flag", "")]), ("a=", [("a", "")]),
      (";;a=b;;", [("a", "b")]),
      ("=b", []), ("", []),
    ] as [(String, [(String, String)])])
  func `format parameters are pairs between semicolons`(text: String, pairs: [(String, String)]) {
    let parameters = SDPFormatParameters(parsing: text)
    #expect(parameters == SDPFormatParameters(pairs.map { .init($0.0, $0.1) }))
    // Their text is parsed to the same.
    #expect(SDPFormatParameters(parsing: parameters.text) == parameters)
  }

  @Test func `the first of repeated parameters counts, in any case of letters`() {
    let parameters = SDPFormatParameters(parsing: "sizeLength=13;SIZELENGTH=6")
    #expect(parameters["sizelength"] == "13" && parameters["SizeLength"] == "13" && parameters["size"] == nil)
  }

  @Test(
    arguments: [
      ("sendonly", .sendOnly), ("recvonly", .receiveOnly), ("sendrecv", .sendReceive), ("inactive", .inactive),
      ("sendOnly", nil), ("control:sendonly", nil),
    ] as [(String, SDPDirection?)])
  func `a direction is an attribute without a value`(attribute: String, direction: SDPDirection?) throws {
    let text = "v=0\nm=video 0 RTP/AVP 96\na=framerate:25\na=\(attribute)"
    let media = try #require(try SessionDescription(parsing: ByteBuffer(string: text)).media.first)
    #expect(media.attributes.direction == direction)
  }

  @Test func `lines before the first track belong to the session, later ones to the last track`() throws {
    let text =
      "v=0\nb=AS:1\na=x:session\nm=video 0 RTP/AVP 96\ni=left\nb=AS:2\na=x: first \nm=audio 0 RTP/AVP 97\na=x\n"
    let session = try SessionDescription(parsing: ByteBuffer(string: text))
    #expect(session.attributes.value(of: "x") == "session" && session.bandwidths == ["AS:1"])
    #expect(session.media.map { $0.attributes.value(of: "x") } == ["first", nil])
    #expect(session.media.map(\.information) == ["left", nil] && session.media.map(\.bandwidths) == [["AS:2"], []])
    #expect(session.media[1].attributes == [SDPAttribute("x")])
  }

  @Test(
    arguments: [
      ("video 49170/2 RTP/AVP 31", 49_170, [31]), ("audio 0 RTP/AVP 97 0 8", 0, [97]),
      ("video 65535 RTP/AVPF 127", 65_535, [127]), ("application 9 UDP/DTLS/SCTP webrtc-datachannel", 9, [nil]),
      ("video 0 RTP/AVP 128", 0, [nil]), ("video 0 RTP/AVP", 0, [nil]),
    ] as [(String, UInt16, [UInt8?])])
  func `a media line has a port, a transport and formats`(line: String, port: UInt16, payloadTypes: [UInt8?]) throws {
    let media = try #require(try SessionDescription(parsing: ByteBuffer(string: "v=0\nm=\(line)\n")).media.first)
    #expect(media.port == port && [media.payloadType] == payloadTypes)
    #expect(media.transport == String(line.split(separator: " ")[2]))
  }

  @Test(
    arguments: [
      ("30", 30), ("29.97", FrameRate(2997, over: 100)), ("0.5", FrameRate(1, over: 2)),
      ("1000000", FrameRate(1_000_000)),
      // Absent or out of range: 25.
      ("", 25), ("0", 25), ("-5", 25), ("nan", 25), ("inf", 25), ("1000001", 25), ("fast", 25),
    ] as [(String, FrameRate)])
  func `without timing in the parameter sets the frame rate is the attribute's, or 25`(
    text: String, rate: FrameRate
  ) throws {
    let text = """
      v=0
      m=video 0 RTP/AVP 98
      a=rtpmap:98 H264/90000
      a=fmtp:98 sprop-parameter-sets=Z0IACpZTBYmI,aMljiA==
      a=framerate:\(text)
      """
    let media = try #require(try SessionDescription(parsing: ByteBuffer(string: text)).media.first)
    guard case .h264(let description) = try media.codecDescription() else {
      Issue.record("no H.264")
      return
    }
    #expect(description.frameRate == rate)
  }

  @Test(arguments: [(1, "AS:1"), (1000, "AS:1"), (1001, "AS:2"), (2_300_000, "AS:2300")])
  func `a bitrate is announced in kilobits, rounded up`(bitrate: Int, line: String) {
    let media = MediaDescription(
      .aac(SessionDescriptionTests.audio), payloadType: 97, control: "x", bitrate: bitrate)
    #expect(media.bandwidths == [line])
  }

  @Test(arguments: [nil, 0, -1] as [Int?])
  func `an unknown bitrate is not announced`(bitrate: Int?) {
    let media = MediaDescription(.aac(SessionDescriptionTests.audio), payloadType: 97, control: "x", bitrate: bitrate)
    #expect(media.bandwidths == [])
  }
}
