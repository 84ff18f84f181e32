internal import Authentication
import Media
import NIOCore
import RTSP
import Testing

@Suite("RTSP server session, RFC 2326 appendix A.2")
struct RTSPServerSessionTests {
  /// A client that has set up tracks of `live` over TCP, with all responses read.
  static func ready(tracks: Int = 2, udpPorts: RTSPTransport.Pair<UInt16>? = nil) -> Dialogue {
    let dialogue = Dialogue(udpPorts: udpPorts)
    for track in 0..<tracks {
      dialogue.client(
        "SETUP rtsp://h/live/trackID=\(track) RTSP/1.0\nCSeq: \(track)\nTransport: RTP/AVP/TCP;unicast")
    }
    #expect(dialogue.statuses() == [String](repeating: "200", count: tracks))
    return dialogue
  }

  /// A client that plays the tracks.
  static func playing(tracks: Int = 2) -> Dialogue {
    let dialogue = Self.ready(tracks: tracks)
    dialogue.client("PLAY rtsp://h/live RTSP/1.0\nCSeq: 9")
    dialogue.media()
    #expect(dialogue.statuses().last == "200")
    return dialogue
  }

  @Test func `every form of the stream's URL is accepted`() {
    for (uri, status) in [
      ("rtsp://h/live", "200"), ("rtsp://h:8554/live/", "200"), ("rtsp://h//live//", "200"), ("/live", "200"),
      ("rtsp://h/live?a=b", "200"), ("rtsp://h/cam/1", "200"), ("rtsp://h/cam%2F1/", "200"), ("rtsp://h", "200"),
      ("rtsps://u:p@[::1]:322/", "200"), ("rtsp://h/none", "404"), ("rtsp://h/cam", "404"), ("rtsp://h/Live", "404"),
      ("rtsp://h/live/trackID=0", "404"), ("rtsp://h/%ff", "404"), ("rtsp://h/../live", "404"),
      ("http://h/live", "400"), ("live", "400"),
    ] {
      let dialogue = Dialogue()
      dialogue.client("DESCRIBE \(uri) RTSP/1.0\nCSeq: 1")
      #expect(dialogue.statuses() == [status], "\(uri)")
    }
  }

  @Test(arguments: [
    ("application/sdp", "200"), ("application/rtsl, application/sdp;level=-2", "200"), ("*/*", "200"),
    ("Application/*", "200"), ("application/mheg", "406"), ("", "406"),
  ])
  func `a description is sent as SDP only`(accept: String, status: String) {
    let dialogue = Dialogue()
    dialogue.client("DESCRIBE rtsp://h/live RTSP/1.0\nCSeq: 1\nAccept: \(accept)")
    #expect(dialogue.statuses() == [status])
  }

  @Test(arguments: ["rtsp://h/live/low", "rtsp://h/live?rendition=low"])
  func `the description of a rendition is prepared by its first viewer, and its tracks are found`(url: String) {
    let dialogue = Dialogue()
    dialogue.directory.unprepared = ["live/low"]
    dialogue.prepared = [
      RTSPStreamDescription(name: "live/low", sessionDescription: "v=0\r\n", tracks: Dialogue.live.tracks)
    ]
    dialogue.client("DESCRIBE \(url) RTSP/1.0\nCSeq: 1")
    #expect(dialogue.statuses() == ["[prepare live/low]", "200"])
    dialogue.client("DESCRIBE \(url) RTSP/1.0\nCSeq: 2")
    #expect(dialogue.headers("Content-Base") == ["rtsp://h/live/low/"])
    for track in ["rtsp://h/live/low/trackID=0", "rtsp://h/live?rendition=low/trackID=1"] {
      dialogue.client("SETUP \(track) RTSP/1.0\nCSeq: 3\nTransport: RTP/AVP/TCP;unicast")
      #expect(dialogue.statuses() == ["200"])
    }
    dialogue.client("PLAY \(url) RTSP/1.0\nCSeq: 5")
    #expect(dialogue.statuses().first?.hasPrefix("[start live/low") == true)
  }

  @Test func `a rendition that cannot be prepared is not found, and a client without access starts nothing`() {
    let dialogue = Dialogue()
    dialogue.directory.unprepared = ["live/low"]
    dialogue.client("DESCRIBE rtsp://h/live/low RTSP/1.0\nCSeq: 1")
    #expect(dialogue.statuses() == ["[prepare live/low]", "404"])
    let stranger = Dialogue(credentials: "user:password")
    stranger.directory.unprepared = ["live/low"]
    stranger.client("DESCRIBE rtsp://h/live/low RTSP/1.0\nCSeq: 1")
    #expect(stranger.statuses() == ["401"])
  }

  @Test func `the base has no user, and is absent for a path`() {
    let dialogue = Dialogue()
    dialogue.client("DESCRIBE rtsp://user:pass@h/live RTSP/1.0\nCSeq: 1")
    #expect(dialogue.headers("Content-Base") == ["rtsp://h/live/"])
    dialogue.client("DESCRIBE /live RTSP/1.0\nCSeq: 2")
    #expect(dialogue.headers("Content-Base") == [])
  }

  @Test(arguments: [
    ("rtsp://h/live/trackID=1", "200"), ("rtsp://h/live//trackID=1/", "200"), ("rtsp://h/trackID=1", "200"),
    ("/live/trackID=1", "200"), ("rtsp://h/live?key=a/trackID=1", "200"), ("rtsp://h/cam/1/trackID=0", "200"),
    ("rtsp://h/cam/1", "200"), ("rtsp://h/live", "459"), ("rtsp://h/", "459"), ("rtsp://h/live/trackID=2", "404"),
    ("rtsp://h/none/trackID=0", "404"), ("*", "459"),
  ])
  func `a track's URL is the stream's URL with the control value`(uri: String, status: String) {
    let dialogue = Dialogue()
    dialogue.client("SETUP \(uri) RTSP/1.0\nCSeq: 1\nTransport: RTP/AVP/TCP;unicast")
    #expect(dialogue.statuses() == [status])
  }

  @Test(
    arguments: [
      (nil, ["400"]), ("", ["400"]), ("RTP/AVP/TCP;interleaved=x", ["400"]), ("RTP/SAVP;unicast", ["461"]),
      ("RTP/AVP;multicast", ["461"]), ("RTP/AVP/TCP;mode=record", ["461"]),
      ("RTP/AVP;unicast;client_port=5-6", ["461"]),
      ("RTP/AVP;unicast;client_port=5-6,RTP/AVP/TCP", ["200"]),
    ] as [(String?, [String])])
  func `an unsupported transport is refused and the session is unchanged`(
    transport: String?, statuses: [String]
  ) {
    let dialogue = Dialogue()
    let line = transport.map { "\nTransport: \($0)" } ?? ""
    dialogue.client("SETUP rtsp://h/live/trackID=0 RTSP/1.0\nCSeq: 1\(line)")
    #expect(dialogue.statuses() == statuses)
    dialogue.client("PLAY rtsp://h/live RTSP/1.0\nCSeq: 2")
    #expect(dialogue.statuses() == [statuses == ["200"] ? "[start live: 0 on channels 0-1]" : "455"])
  }

  @Test func `tracks never share a channel`() {
    let dialogue = Dialogue()
    for (cSeq, track, wanted) in [(1, 0, "interleaved=2-3"), (2, 1, "interleaved=3-4"), (3, 0, "interleaved=7-7")] {
      dialogue.client(
        "SETUP rtsp://h/live/trackID=\(track) RTSP/1.0\nCSeq: \(cSeq)\nTransport: RTP/AVP/TCP;unicast;\(wanted)")
    }
    #expect(
      dialogue.headers("Transport") == [
        "RTP/AVP/TCP;unicast;interleaved=2-3;ssrc=000000a0", "RTP/AVP/TCP;unicast;interleaved=0-1;ssrc=000000a1",
        "RTP/AVP/TCP;unicast;interleaved=2-3;ssrc=000000a0",
      ])
  }

  @Test func `one track may use UDP and the other TCP, sent to the client's address only`() {
    let dialogue = Dialogue(udpPorts: RTSPTransport.Pair(rtp: 6000, rtcp: 6001))
    dialogue.client(
      "SETUP rtsp://h/live/trackID=1 RTSP/1.0\nCSeq: 1\n"
        + "Transport: RTP/AVP/UDP;unicast;destination=10.9.8.7;client_port=9-10")
    #expect(
      dialogue.headers("Transport") == [
        "RTP/AVP/UDP;unicast;client_port=9-10;server_port=6000-6001;ssrc=000000a1"
      ])
    dialogue.client("SETUP rtsp://h/live/trackID=0 RTSP/1.0\nCSeq: 2\nTransport: RTP/AVP/TCP;interleaved=4-5")
    #expect(dialogue.statuses() == ["200"])
    dialogue.client("PLAY rtsp://h/live RTSP/1.0\nCSeq: 3")
    dialogue.server("[start live: 0 on channels 4-5, 1 to ports 9-10]")
  }

  @Test func `a second SETUP of a track changes its transport before PLAY and is refused during it`() {
    let dialogue = Self.ready(tracks: 1)
    let again = "SETUP rtsp://h/live/trackID=0 RTSP/1.0\nCSeq: 2\nTransport: RTP/AVP/TCP;interleaved=8-9"
    dialogue.client(again)
    #expect(dialogue.statuses() == ["200"])
    dialogue.client("PLAY rtsp://h/live RTSP/1.0\nCSeq: 3")
    dialogue.media()
    #expect(dialogue.statuses() == ["[start live: 0 on channels 8-9]", "200"])
    dialogue.client(again)
    dialogue.server(
      """
      RTSP/1.0 455 Method Not Valid in This State
      CSeq: 2
      Allow: OPTIONS, DESCRIBE, PLAY, PAUSE, TEARDOWN, GET_PARAMETER, SET_PARAMETER
      """)
  }

  @Test func `a track of another stream does not join the session`() {
    let dialogue = Self.ready(tracks: 1)
    dialogue.client("SETUP rtsp://h/cam/1/trackID=0 RTSP/1.0\nCSeq: 2\nTransport: RTP/AVP/TCP")
    dialogue.client("PLAY rtsp://h/cam/1 RTSP/1.0\nCSeq: 3")
    dialogue.client("PLAY rtsp://h/none RTSP/1.0\nCSeq: 4")
    dialogue.client("PLAY rtsp://h/live/trackID=1 RTSP/1.0\nCSeq: 5")
    #expect(dialogue.statuses() == ["455", "455", "404", "455"])
  }

  @Test(arguments: ["npt=0.000-", "npt=now-", "npt=30-60", "clock=20261121T000000Z-", "smpte=0-", "nonsense"])
  func `every range means now`(range: String) {
    let dialogue = Self.ready()
    dialogue.client("PLAY rtsp://h/live RTSP/1.0\nCSeq: 2\nRange: \(range)")
    dialogue.media()
    #expect(dialogue.headers("Range") == ["npt=now-"])
  }

  @Test func `tracks played one by one start together, and PLAY during play is keep-alive`() {
    let dialogue = Self.ready()
    dialogue.client("PLAY rtsp://h/live/trackID=0 RTSP/1.0\nCSeq: 2")
    dialogue.media((1, 5, 6))
    dialogue.server(
      """
      [start live: 0 on channels 0-1, 1 on channels 2-3]
      RTSP/1.0 200 OK
      CSeq: 2
      Session: 0123456789abcdef;timeout=60
      Range: npt=now-
      RTP-Info: url=rtsp://h/live/trackID=1;seq=5;rtptime=6
      """)
    dialogue.client("PLAY rtsp://h/live/trackID=1 RTSP/1.0\nCSeq: 3")
    dialogue.server("RTSP/1.0 200 OK\nCSeq: 3\nSession: 0123456789abcdef;timeout=60\nRange: npt=now-")
  }

  @Test func `requests that arrive while PLAY waits are answered after it`() {
    let dialogue = Self.ready()
    dialogue.client("PLAY rtsp://h/live RTSP/1.0\nCSeq: 2\n\nOPTIONS * RTSP/1.0\nCSeq: 3")
    dialogue.client("TEARDOWN rtsp://h/live RTSP/1.0\nCSeq: 4")
    #expect(dialogue.statuses() == ["[start live: 0 on channels 0-1, 1 on channels 2-3]"])
    dialogue.media()
    #expect(dialogue.headers("CSeq") == ["2", "3", "4"])
  }

  @Test func `a request passed while PLAY waits is refused with 455, and PLAY has one response`() {
    var session = RTSPServerSession(
      configuration: RTSPServerConfiguration(
        serverName: "", access: AccessControl(settings: AccessSettings(), makeRandom: { 1 })), now: .zero,
      makeRandom: { 0 })
    let directory = Dialogue.Directory(streams: [Dialogue.live])
    func request(_ method: RTSPMethod, _ uri: String, _ cSeq: Int) -> RTSPRequest {
      RTSPRequest(method: method, uri: uri, headers: ["CSeq": "\(cSeq)", "Transport": "RTP/AVP/TCP"])
    }
    _ = session.handle(request(.setup, "/live/trackID=0", 1), directory: directory, now: .zero)
    _ = session.handle(request(.play, "/live", 2), directory: directory, now: .zero)
    let isStarting = session.isStarting
    #expect(isStarting)
    for case .respond(let response) in session.handle(request(.teardown, "/live", 3), directory: directory, now: .zero)
    {
      #expect(response.status == .methodNotValidInThisState)
    }
    let answers = [
      session.playingStarted(at: [], now: .zero), session.playingStarted(at: [], now: .zero),
      session.playingFailed(now: .zero),
    ]
    #expect(answers.map(\.count) == [1, 0, 0])
    let tracks = (0..<3).map { channel in
      session.track(forChannel: UInt8(channel)).map { "\($0.index) \($0.isRTCP ? "RTCP" : "RTP")" }
    }
    #expect(tracks == ["0 RTP", "0 RTCP", nil])
    let name = session.streamName
    #expect(name == "live")
  }

  @Test func `PLAY without media is refused with 503 and can be repeated`() {
    let dialogue = Self.ready()
    dialogue.client("PLAY rtsp://h/live RTSP/1.0\nCSeq: 2")
    dialogue.mediaFails()
    dialogue.client("PLAY rtsp://h/live RTSP/1.0\nCSeq: 3")
    dialogue.wait(seconds: 9)
    let start = "[start live: 0 on channels 0-1, 1 on channels 2-3]"
    #expect(dialogue.statuses() == [start, "[stop]", "503", start])
    dialogue.wait(seconds: 1)
    #expect(dialogue.statuses() == ["[stop]", "503"])
  }

  @Test func `PAUSE stops the packets and PLAY resumes them`() {
    let dialogue = Self.playing()
    dialogue.client("PAUSE rtsp://h/live/trackID=0 RTSP/1.0\nCSeq: 2")
    dialogue.client("PAUSE rtsp://h/live RTSP/1.0\nCSeq: 3")
    dialogue.client("PAUSE rtsp://h/live RTSP/1.0\nCSeq: 4")
    dialogue.client("PLAY rtsp://h/live RTSP/1.0\nCSeq: 5")
    #expect(
      dialogue.statuses() == ["460", "[stop]", "200", "200", "[start live: 0 on channels 0-1, 1 on channels 2-3]"])
  }

  @Test func `TEARDOWN of one track keeps the other, and of the last track ends the session`() {
    let dialogue = Self.playing()
    dialogue.client("TEARDOWN rtsp://h/live/trackID=0 RTSP/1.0\nCSeq: 2")
    dialogue.client("PAUSE rtsp://h/live RTSP/1.0\nCSeq: 3")
    dialogue.client("TEARDOWN rtsp://h/live/trackID=0 RTSP/1.0\nCSeq: 4")
    dialogue.client("TEARDOWN rtsp://h/live/trackID=0 RTSP/1.0\nCSeq: 5")
    dialogue.client("PLAY rtsp://h/live RTSP/1.0\nCSeq: 6")
    dialogue.media()
    dialogue.client("TEARDOWN rtsp://h/live/trackID=1 RTSP/1.0\nCSeq: 7")
    dialogue.client("TEARDOWN rtsp://h/live RTSP/1.0\nCSeq: 8")
    #expect(
      dialogue.statuses()
        == ["460", "[stop]", "200", "200", "455", "[start live: 1 on channels 2-3]", "200", "[stop]", "200", "454"])
  }

  @Test func `after TEARDOWN the connection can start again, as ffmpeg does when UDP receives nothing`() {
    let dialogue = Self.playing()
    dialogue.client("TEARDOWN rtsp://h/live RTSP/1.0\nCSeq: 2\nSession: 0123456789abcdef")
    dialogue.client("SETUP rtsp://h/live/trackID=0 RTSP/1.0\nCSeq: 3\nTransport: RTP/AVP/TCP")
    #expect(dialogue.statuses() == ["[stop]", "200", "200"])
  }

  @Test func `methods out of order are refused`() {
    let dialogue = Dialogue()
    for (cSeq, method) in ["PLAY", "PAUSE"].enumerated() {
      dialogue.client("\(method) rtsp://h/live RTSP/1.0\nCSeq: \(cSeq)")
    }
    dialogue.client("TEARDOWN rtsp://h/live RTSP/1.0\nCSeq: 3")
    dialogue.client("PLAY rtsp://h/live RTSP/1.0\nCSeq: 4\nSession: 0123456789abcdef")
    #expect(dialogue.statuses() == ["455", "455", "454", "454"])
  }

  @Test(arguments: ["SETUP", "PLAY", "PAUSE", "TEARDOWN", "GET_PARAMETER", "SET_PARAMETER"])
  func `a wrong session identifier is refused`(method: String) {
    let dialogue = Self.playing()
    for session in ["0123456789abcdee", "", "0123456789abcdef0", "0123456789ABCDEF"] {
      dialogue.client("\(method) rtsp://h/live RTSP/1.0\nCSeq: 1\nSession: \(session)")
    }
    #expect(dialogue.statuses() == ["454", "454", "454", "454"])
    dialogue.client("\(method) rtsp://h/live RTSP/1.0\nCSeq: 1\nSession: 0123456789abcdef ;timeout=60")
    #expect(!dialogue.statuses().contains("454"))
  }

  @Test(arguments: ["REDIRECT", "FLY", "options"])
  func `an unsupported method is refused with 501 and the list of supported methods`(method: String) {
    let dialogue = Dialogue()
    dialogue.client("\(method) rtsp://h/live RTSP/1.0\nCSeq: 1")
    dialogue.server(
      """
      RTSP/1.0 501 Not Implemented
      CSeq: 1
      Public: OPTIONS, DESCRIBE, ANNOUNCE, SETUP, PLAY, RECORD, PAUSE, TEARDOWN, GET_PARAMETER, SET_PARAMETER
      """)
  }

  @Test func `a required option is refused by name`() {
    let dialogue = Dialogue()
    dialogue.client(
      "DESCRIBE rtsp://h/live RTSP/1.0\nCSeq: 1\nRequire: www.onvif.org/ver20/backchannel\nRequire: x")
    dialogue.server(
      """
      RTSP/1.0 551 Option Not Supported
      CSeq: 1
      Unsupported: www.onvif.org/ver20/backchannel, x
      """)
  }

  @Test func `parameter requests without a name are keep-alive, others are refused`() {
    let dialogue = Dialogue()
    dialogue.client("GET_PARAMETER * RTSP/1.0\nCSeq: 1")
    dialogue.client("GET_PARAMETER * RTSP/1.0\nCSeq: 2", body: "\r\n")
    dialogue.client("SET_PARAMETER * RTSP/1.0\nCSeq: 3")
    dialogue.client("SET_PARAMETER * RTSP/1.0\nCSeq: 4", body: "barparam: barstuff\r\n")
    dialogue.client("GET_PARAMETER * RTSP/1.0\nCSeq: 5", body: "jitter\r\n")
    #expect(dialogue.statuses() == ["200", "200", "200", "451", "451"])
  }

  @Test func `CSeq is returned in any order, and a request without CSeq is refused with 400`() {
    let dialogue = Dialogue()
    for cSeq in ["9", "3", "3", "0", "4294967296"] { dialogue.client("OPTIONS * RTSP/1.0\nCSeq: \(cSeq)") }
    #expect(dialogue.headers("CSeq") == ["9", "3", "3", "0", "4294967296"])
    dialogue.client("OPTIONS * RTSP/1.0")
    dialogue.client("OPTIONS * RTSP/1.0\nCSeq: one")
    dialogue.client("OPTIONS * RTSP/1.0\nCSeq: -1")
    dialogue.client("OPTIONS * RTSP/1.0\nCSeq: 1")
    #expect(dialogue.statuses() == ["400", "400", "400", "200"])
  }

  @Test func `a malformed message is answered, and ends the connection only when the framing is lost`() {
    let dialogue = Self.playing()
    dialogue.client("OPTIONS * RTSP/1.0\nCSeq: 2\nnonsense")
    dialogue.client("OPTIONS * RTSP/2.0\nCSeq: 3")
    dialogue.server("RTSP/1.0 400 Bad Request\nCSeq: 2\nRTSP/1.0 505 RTSP Version Not Supported\nCSeq: 3")
    dialogue.client("SET_PARAMETER * RTSP/1.0\nCSeq: 4\nContent-Length: 131073")
    dialogue.server("RTSP/1.0 413 Request Entity Too Large\nCSeq: 4\n[stop]\n[close]")
    dialogue.client("OPTIONS * RTSP/1.0\nCSeq: 5")
    dialogue.streamEnds()
    dialogue.serverStops()
    dialogue.wait(seconds: 1000)
    dialogue.serverIsSilent()
  }

  @Test func `packets on channels that are not set up are ignored`() {
    let dialogue = Self.playing()
    dialogue.wait(seconds: 59)
    dialogue.client(bytes: [0x24, 77, 0, 1, 0, 0x24, 255, 0, 0])
    dialogue.client("OPTIONS * RTSP/1.0\nCSeq: 2")
    #expect(dialogue.statuses() == ["200"])
  }
}
