import Media
import NIOCore
import RTP
import RTSP
import Testing

@testable import Authentication

@Suite("Publishing over RTSP, RFC 2326 §10.3, §10.11")
struct RTSPPublishingTests {
  static let key = "0123456789abcdef"
  static let sets = "sprop-parameter-sets=Z2QAH6zZQFAFuwEQAAADABAAAAMDwPGDGWA=,aOvjyyLA"

  /// A session description as ffmpeg writes it.
  static func description(controls: [String] = ["streamid=0", "streamid=1"]) -> String {
    let video = [
      "m=video 0 RTP/AVP 96", "b=AS:2300", "a=rtpmap:96 H264/90000", "a=fmtp:96 packetization-mode=1; \(Self.sets)",
    ]
    let audio = [
      "m=audio 0 RTP/AVP 97", "a=rtpmap:97 MPEG4-GENERIC/48000/2",
      "a=fmtp:97 mode=AAC-hbr;sizelength=13;indexlength=3;indexdeltalength=3; config=1190",
    ]
    let session = ["v=0", "o=- 0 0 IN IP4 127.0.0.1", "s=No Name", "c=IN IP4 127.0.0.1", "t=0 0"]
    let media = zip([video, audio], controls).flatMap { $0 + ["a=control:\($1)"] }
    return (session + media).map { $0 + "\r\n" }.joined()
  }

  /// Access for a publisher of `live`, a publisher of another stream, and a viewer.
  private static func dialogue(udpPorts: RTSPTransport.Pair<UInt16>? = nil) throws -> Dialogue {
    var settings = AccessSettings()
    settings.tokens = [
      try #require(AccessToken(parsing: Self.key, role: .publisher(stream: "live"))),
      try #require(AccessToken(parsing: "other-0123456789", role: .publisher(stream: "cam/1"))),
      try #require(AccessToken(parsing: "viewer-0123456789", role: .viewer)),
    ]
    settings.users = [Credentials(user: "anna", password: "secret", role: .publisher(stream: "live"))]
    return Dialogue(access: AccessControl(settings: settings, makeRandom: { 1 }), udpPorts: udpPorts)
  }

  private static func announced(
    _ body: String = description(), uri: String = "rtsp://h/live?key=\(key)",
    udpPorts: RTSPTransport.Pair<UInt16>? = nil
  ) throws -> Dialogue {
    let dialogue = try Self.dialogue(udpPorts: udpPorts)
    dialogue.client("ANNOUNCE \(uri) RTSP/1.0\nCSeq: 1\nContent-Type: application/sdp", body: body)
    #expect(dialogue.statuses() == ["[begin live]", "200"])
    return dialogue
  }

  private static func setUp(_ dialogue: Dialogue, _ track: Int, transport: String = "RTP/AVP/TCP;unicast;mode=record") {
    dialogue.client("SETUP rtsp://h/live/streamid=\(track) RTSP/1.0\nCSeq: 2\nTransport: \(transport)")
  }

  private static func recording() throws -> Dialogue {
    let dialogue = try Self.announced()
    for track in 0...1 { Self.setUp(dialogue, track) }
    dialogue.client("RECORD rtsp://h/live RTSP/1.0\nCSeq: 4\nSession: 0123456789abcdef")
    #expect(dialogue.statuses() == ["200", "200", "[record live: 0 on channels 0-1, 1 on channels 2-3]", "200"])
    return dialogue
  }

  @Test func `ffmpeg publishes over TCP`() throws {
    let dialogue = try Self.dialogue()
    let url = "rtsp://h:8554/live?key=\(Self.key)"
    dialogue.client("OPTIONS \(url) RTSP/1.0\nCSeq: 1\nUser-Agent: Lavf")
    dialogue.client("ANNOUNCE \(url) RTSP/1.0\nContent-Type: application/sdp\nCSeq: 2", body: Self.description())
    for track in 0...1 {
      dialogue.client(
        "SETUP \(url)/streamid=\(track) RTSP/1.0\nCSeq: \(3 + track)\n"
          + "Transport: RTP/AVP/TCP;unicast;interleaved=\(2 * track)-\(2 * track + 1);mode=record")
    }
    dialogue.client("RECORD \(url) RTSP/1.0\nRange: npt=0.000-\nCSeq: 5\nSession: 0123456789abcdef")
    dialogue.client("TEARDOWN \(url) RTSP/1.0\nCSeq: 6\nSession: 0123456789abcdef")
    dialogue.server(
      """
      RTSP/1.0 200 OK
      CSeq: 1
      Public: OPTIONS, DESCRIBE, ANNOUNCE, SETUP, PLAY, RECORD, PAUSE, TEARDOWN, GET_PARAMETER, SET_PARAMETER
      [begin live]
      RTSP/1.0 200 OK
      CSeq: 2
      RTSP/1.0 200 OK
      CSeq: 3
      Session: 0123456789abcdef;timeout=60
      Transport: RTP/AVP/TCP;unicast;interleaved=0-1;mode="RECORD"
      Cache-Control: no-cache
      RTSP/1.0 200 OK
      CSeq: 4
      Session: 0123456789abcdef;timeout=60
      Transport: RTP/AVP/TCP;unicast;interleaved=2-3;mode="RECORD"
      Cache-Control: no-cache
      [record live: 0 on channels 0-1, 1 on channels 2-3]
      RTSP/1.0 200 OK
      CSeq: 5
      Session: 0123456789abcdef;timeout=60
      [end]
      RTSP/1.0 200 OK
      CSeq: 6
      """)
  }

  @Test func `UDP is served where the server has ports, otherwise 461 and TCP`() throws {
    let transport = "RTP/AVP/UDP;unicast;client_port=6000-6001;mode=record"
    let dialogue = try Self.announced(udpPorts: .init(rtp: 8000, rtcp: 8001))
    Self.setUp(dialogue, 0, transport: transport)
    #expect(
      dialogue.headers("Transport") == [
        "RTP/AVP/UDP;unicast;client_port=6000-6001;server_port=8000-8001;mode=\"RECORD\""
      ])
    dialogue.client("RECORD rtsp://h/live RTSP/1.0\nCSeq: 4")
    #expect(dialogue.statuses() == ["[record live: 0 to ports 6000-6001]", "200"])
    let other = try Self.announced()
    Self.setUp(other, 0, transport: transport)
    Self.setUp(other, 0)
    #expect(other.statuses() == ["461", "200"])
  }

  @Test(arguments: [
    ("RTP/AVP/TCP;unicast", "200"), ("RTP/AVP/TCP;unicast;mode=\"RECORD\"", "200"), ("RTP/AVP/TCP;mode=receive", "200"),
    ("RTP/AVP/TCP;mode=play", "461"), ("RTP/AVP;multicast;mode=record", "461"), ("RTP/SAVP/TCP;mode=record", "461"),
    ("RTP/AVP/TCP;interleaved=x;mode=record", "400"),
  ])
  func `the transport of a publisher is its own direction`(transport: String, status: String) throws {
    let dialogue = try Self.announced()
    Self.setUp(dialogue, 0, transport: transport)
    #expect(dialogue.statuses() == [status])
  }

  @Test(arguments: [
    ("rtsp://h/live/streamid=0", "streamid=0"), ("rtsp://h/live?key=\(key)/streamid=0", "streamid=0"),
    ("rtsp://h/live/stream=0?key=\(key)", "stream=0"), ("rtsp://h:1/live/a/b", "a/b"),
    ("rtsp://h/streamid=0", "streamid=0"),
    ("rtsp://elsewhere/x", "rtsp://elsewhere/x"), ("rtsp://h/live", ""), ("rtsp://h/live/", ""), ("rtsp://h", ""),
  ])
  func `a track is found by its control value, relative or absolute, before or behind the query`(
    uri: String, control: String
  ) throws {
    let dialogue = try Self.announced(Self.description(controls: [control]))
    dialogue.client("SETUP \(uri) RTSP/1.0\nCSeq: 2\nTransport: RTP/AVP/TCP;unicast;mode=record")
    #expect(dialogue.statuses() == ["200"])
  }

  @Test(arguments: [
    ("rtsp://h/live/streamid=2", "404"), ("rtsp://h/live/trackID=0", "404"), ("rtsp://h/cam/1/streamid=0", "404"),
    ("rtsp://h/live", "459"), ("rtsp://h/none", "404"),
  ])
  func `another track is not found, and the whole stream is not set up at once`(uri: String, status: String) throws {
    let dialogue = try Self.announced()
    dialogue.client("SETUP \(uri) RTSP/1.0\nCSeq: 2\nTransport: RTP/AVP/TCP;unicast;mode=record")
    #expect(dialogue.statuses() == [status])
  }

  @Test(arguments: [
    ("rtsp://h/live?key=\(key)", "200"), ("rtsp://h/live?token=\(key)", "200"), ("rtsp://h?key=\(key)", "200"),
    ("rtsp://h/live?key=0123456789abcdee", "401"), ("rtsp://h/live", "401"),
    ("rtsp://h/live?key=viewer-0123456789", "403"),
    ("rtsp://h/live?key=other-0123456789", "403"), ("rtsp://h/none?key=\(key)", "403"), ("rtsp://h/none", "401"),
  ])
  func `a publisher needs the key of its stream`(uri: String, status: String) throws {
    let dialogue = try Self.dialogue()
    dialogue.client("ANNOUNCE \(uri) RTSP/1.0\nCSeq: 1", body: Self.description())
    #expect(dialogue.statuses() == (status == "200" ? ["[begin live]", status] : [status]))
  }

  @Test func `a publisher's password serves too, and a viewer's connection publishes nothing`() throws {
    let dialogue = try Self.dialogue()
    let basic = "Authorization: Basic YW5uYTpzZWNyZXQ="
    dialogue.client("ANNOUNCE rtsp://h/live RTSP/1.0\nCSeq: 1\n\(basic)", body: Self.description())
    #expect(dialogue.statuses() == ["[begin live]", "200"])
    let viewer = try Self.dialogue()
    viewer.client("DESCRIBE rtsp://h/live?token=viewer-0123456789 RTSP/1.0\nCSeq: 1")
    viewer.client("ANNOUNCE rtsp://h/live RTSP/1.0\nCSeq: 2", body: Self.description())
    #expect(viewer.statuses() == ["200", "403"])
  }

  @Test func `a key in the address of a viewer means nothing`() throws {
    let dialogue = Dialogue()
    dialogue.client("DESCRIBE rtsp://h/live?key=x RTSP/1.0\nCSeq: 1")
    dialogue.client("SETUP rtsp://h/live?key=x/trackID=0 RTSP/1.0\nCSeq: 2\nTransport: RTP/AVP/TCP")
    #expect(dialogue.statuses() == ["200", "200"] && dialogue.refusals[.failedLogin] == 0)
  }

  @Test(arguments: [
    ("", "400"), ("v=0\r\n", "400"), ("m=video 0 RTP/AVP 96\r\n", "400"), ("v=0\r\nm=video\r\n", "400"),
    ("v=0\r\nm=video 0 RTP/AVP 96\r\na=rtpmap:96 H265/90000\r\n", "415"),
    ("v=0\r\nm=audio 0 RTP/AVP 0\r\n", "415"),
    ("v=0\r\nm=video 0 RTP/SAVP 96\r\na=rtpmap:96 H264/90000\r\n", "415"),
    ("v=0\r\nm=video 0 RTP/AVP 96\r\na=rtpmap:96 H264/90000\r\na=fmtp:96 packetization-mode=2\r\n", "415"),
    ("v=0\r\nm=audio 0 RTP/AVP 97\r\na=rtpmap:97 mpeg4-generic/48000/2\r\n", "400"),
  ])
  func `what cannot be received is refused when it is announced`(body: String, status: String) throws {
    let dialogue = try Self.dialogue()
    dialogue.client("ANNOUNCE rtsp://h/live?key=\(Self.key) RTSP/1.0\nCSeq: 1", body: body)
    #expect(dialogue.statuses() == [status])
    // The connection is as it was.
    dialogue.client("ANNOUNCE rtsp://h/live RTSP/1.0\nCSeq: 2", body: Self.description())
    #expect(dialogue.statuses() == ["[begin live]", "200"])
  }

  @Test(arguments: [
    ("audio 0 RTP/AVP 0", "", "payload type 0"), ("audio 0 RTP/AVP 98", "opus/48000/2", "opus"),
    ("audio 0 RTP/AVP 98", "mpeg4-generic/48000/6", "mpeg4-generic"), ("video 0 RTP/SAVP 98", "H264/90000", nil),
    ("video 0 RTP/AVP 98", "H265/90000", nil), ("application 0 RTP/AVP 98", "vnd.onvif.metadata/90000", nil),
  ])
  func `a track that cannot be received takes nothing from the others, and is set up`(
    line: String, map: String, codec: String?
  ) throws {
    let video = "m=video 0 RTP/AVP 96\r\na=rtpmap:96 H264/90000\r\na=control:streamid=0\r\n"
    let other = "m=\(line)\r\n" + (map.isEmpty ? "" : "a=rtpmap:98 \(map)\r\n") + "a=control:streamid=1\r\n"
    for tracks in [video + other, other + video] {
      let announcement = try RTSPAnnouncement(streamName: "live", parsing: ByteBuffer(string: "v=0\r\n\(tracks)"))
      for track in announcement.tracks { #expect((track.format != nil) == (track.control == "streamid=0")) }
      #expect(announcement.unsupportedCodecs == codec.map { [.audio: $0] } ?? [:])
      let dialogue = try Self.announced("v=0\r\n\(tracks)")
      for track in 0...1 { Self.setUp(dialogue, track) }
      #expect(dialogue.statuses() == ["200", "200"])
    }
  }

  @Test func `of two tracks of a kind the first one that can be received is taken`() throws {
    let twice = Self.description() + "m=video 0 RTP/AVP 98\r\na=rtpmap:98 H264/90000\r\n"
    let announcement = try RTSPAnnouncement(streamName: "live", parsing: ByteBuffer(string: twice))
    #expect(announcement.tracks.map { $0.format?.kind } == [.video, .audio, nil])
  }

  @Test func `nine tracks, another type of description, and a long one are refused`() throws {
    let dialogue = try Self.dialogue()
    let head = "ANNOUNCE rtsp://h/live?key=\(Self.key) RTSP/1.0\nCSeq: 1"
    dialogue.client(head, body: Self.description() + String(repeating: "m=audio 0 RTP/AVP 0\r\n", count: 8))
    dialogue.client("\(head)\nContent-Type: text/plain", body: Self.description())
    #expect(dialogue.statuses() == ["415", "415"])
    dialogue.client("\(head)\nContent-Length: 131073")
    #expect(dialogue.statuses() == ["413", "[close]"])
  }

  @Test func `H.264 whose parameter sets come in the stream is accepted`() throws {
    _ = try Self.announced("v=0\r\nm=video 0 RTP/AVP 96\r\na=rtpmap:96 H264/90000\r\n")
  }

  @Test(arguments: [(RTSPPublicationRefusal.otherSource, "403"), (.alreadyPublished, "503")])
  func `a refused publication leaves the connection as it was`(refusal: RTSPPublicationRefusal, status: String) throws {
    let dialogue = try Self.dialogue()
    dialogue.publicationRefusal = refusal
    let announce = "ANNOUNCE rtsp://h/live?key=\(Self.key) RTSP/1.0\nCSeq: 1"
    dialogue.client(announce, body: Self.description())
    dialogue.client("RECORD rtsp://h/live RTSP/1.0\nCSeq: 2")
    #expect(dialogue.statuses() == ["[begin live]", status, "455"])
    dialogue.publicationRefusal = nil
    dialogue.client(announce, body: Self.description())
    #expect(dialogue.statuses() == ["[begin live]", "200"])
  }

  @Test func `methods in the wrong state are refused with those that are valid`() throws {
    let viewer = RTSPServerSessionTests.ready()
    viewer.client("RECORD rtsp://h/live RTSP/1.0\nCSeq: 1")
    #expect(viewer.statuses() == ["455"])
    let dialogue = try Self.announced()
    dialogue.client("PLAY rtsp://h/live RTSP/1.0\nCSeq: 2")
    #expect(
      dialogue.headers("Allow") == ["OPTIONS, DESCRIBE, SETUP, RECORD, PAUSE, TEARDOWN, GET_PARAMETER, SET_PARAMETER"])
    dialogue.client("RECORD rtsp://h/live RTSP/1.0\nCSeq: 3")
    dialogue.client("ANNOUNCE rtsp://h/live RTSP/1.0\nCSeq: 4", body: Self.description())
    #expect(dialogue.statuses() == ["455", "455"])
    let recording = try Self.recording()
    for method in ["SETUP", "PLAY", "ANNOUNCE"] {
      recording.client("\(method) rtsp://h/live/streamid=0 RTSP/1.0\nCSeq: 5\nTransport: RTP/AVP/TCP;mode=record")
    }
    #expect(recording.statuses() == ["455", "455", "403"])
    let fresh = try Self.dialogue()
    fresh.client("RECORD rtsp://h/live?token=viewer-0123456789 RTSP/1.0\nCSeq: 1")
    #expect(
      fresh.headers("Allow") == ["OPTIONS, DESCRIBE, ANNOUNCE, SETUP, GET_PARAMETER, SET_PARAMETER"])
  }

  @Test func `a publication pauses, goes on, and ends with its session`() throws {
    let dialogue = try Self.recording()
    dialogue.client("RECORD rtsp://h/live RTSP/1.0\nCSeq: 5")
    dialogue.client("PAUSE rtsp://h/live/streamid=0 RTSP/1.0\nCSeq: 6")
    dialogue.client("PAUSE rtsp://h/live RTSP/1.0\nCSeq: 7")
    dialogue.client("GET_PARAMETER rtsp://h/live RTSP/1.0\nCSeq: 8")
    #expect(dialogue.statuses() == ["200", "460", "200", "200"])
    dialogue.client("RECORD rtsp://h/live RTSP/1.0\nCSeq: 9")
    #expect(dialogue.statuses() == ["[record live: 0 on channels 0-1, 1 on channels 2-3]", "200"])
    dialogue.client("TEARDOWN rtsp://h/live/streamid=0 RTSP/1.0\nCSeq: 10")
    #expect(dialogue.statuses() == ["[end]", "200"])
    dialogue.client("TEARDOWN rtsp://h/live/streamid=1 RTSP/1.0\nCSeq: 11\nSession: 0123456789abcdef")
    #expect(dialogue.statuses() == ["454"])
    dialogue.wait(seconds: 10)
    #expect(dialogue.statuses() == ["[close]"])
  }

  @Test func `a publisher that sends nothing is closed, and one whose stream ends or is lost`() throws {
    let silent = try Self.recording()
    silent.wait(seconds: 59)
    silent.serverIsSilent()
    silent.wait(seconds: 1)
    #expect(silent.statuses() == ["[end]", "[close]"])
    let announced = try Self.announced()
    announced.wait(seconds: 60)
    #expect(announced.statuses() == ["[end]", "[close]"])
    for end in [{ $0.streamEnds() }, { $0.serverStops() }, { $0.publicationIsLost() }] as [(Dialogue) -> Void] {
      let dialogue = try Self.recording()
      end(dialogue)
      #expect(dialogue.statuses() == ["[end]", "[close]"])
    }
  }

  @Test func `packets of a publisher keep its connection`() throws {
    let dialogue = try Self.recording()
    dialogue.wait(seconds: 50)
    dialogue.client(bytes: [0x24, 0, 0, 1, 0])
    dialogue.wait(seconds: 50)
    dialogue.serverIsSilent()
  }
}
