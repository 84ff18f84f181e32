import Media
import NIOCore
import RTP
import Testing

@testable import RTSP

@Suite("RTSP client sessions")
struct RTSPClientSessionTests {
  /// A dialogue with a server that is played by the test.
  private final class Dialogue {
    var session: RTSPClientSession
    var now = MediaTime.zero
    /// The last message or action of the session, as text.
    private(set) var output = ""
    private var cSeq = ""

    init(
      url: String = "rtsp://cam/live", credentials: RTSPClientSession.Credentials? = nil,
      delivery: RTSPClientSession.Delivery = .interleaved, leavesOutOtherCodecs: Bool = false
    ) {
      self.session = RTSPClientSession(
        url: url, credentials: credentials, clientNonce: "c0", delivery: delivery,
        leavesOutOtherCodecs: leavesOutOtherCodecs)
      self.take(self.session.begin())
    }

    private func take(_ actions: [RTSPClientSession.Action]) {
      self.output = actions.map { action in
        switch action {
        case .send(let request):
          self.cSeq = request.headers["CSeq"] ?? ""
          var text = "\(request.method) \(request.uri)"
          for name in ["Session", "Transport", "Range", "Accept"] {
            if let value = request.headers[name] { text += " \(name)=\(value)" }
          }
          return text
        case .respond(let response): return "\(response.status.code) CSeq=\(response.headers["CSeq"] ?? "")"
        case .play: return "play"
        case .fail(let failure): return "\(failure)"
        }
      }.joined(separator: "; ")
    }

    func answer(_ code: Int, _ headers: RTSPHeaders = [:], body: String = "", cSeq: String? = nil) -> String {
      var headers = headers
      headers["CSeq"] = cSeq ?? self.cSeq
      let response = RTSPResponse(status: RTSPStatus(code: code), headers: headers, body: ByteBuffer(string: body))
      self.take(self.session.handle(response, now: self.now))
      return self.output
    }

    func pass(_ seconds: Int64) -> String {
      self.now = self.now + .seconds(seconds)
      self.take(self.session.handleTime(self.now))
      return self.output
    }

    func requestSign() -> String {
      self.take(self.session.requestSign(now: self.now))
      return self.output
    }

    func request(_ method: RTSPMethod) -> String {
      self.take(self.session.handle(RTSPRequest(method: method, uri: "*", headers: ["CSeq": "77"])))
      return self.output
    }
  }

  private static let video = "m=video 0 RTP/AVP 96\r\na=rtpmap:96 H264/90000\r\na=control:trackID=0\r\n"
  private static let audio =
    "m=audio 0 RTP/AVP 97\r\na=rtpmap:97 mpeg4-generic/48000/2\r\n"
    + "a=fmtp:97 mode=AAC-hbr;sizelength=13;indexlength=3;indexdeltalength=3;config=1190\r\na=control:trackID=1\r\n"
  private static let head = "v=0\r\no=- 0 0 IN IP4 127.0.0.1\r\ns=x\r\nt=0 0\r\n"

  @Test func `a session describes, sets up each track, plays, and keeps alive`() {
    let dialogue = Dialogue()
    #expect(dialogue.output == "OPTIONS rtsp://cam/live")
    #expect(
      dialogue.answer(200, ["Public": "OPTIONS, DESCRIBE, GET_PARAMETER"])
        == "DESCRIBE rtsp://cam/live Accept=application/sdp")
    let sdp = Self.head + "a=control:*\r\n" + Self.video + Self.audio
    #expect(
      dialogue.answer(200, ["Content-Base": "rtsp://cam/live/"], body: sdp)
        == "SETUP rtsp://cam/live/trackID=0 Transport=RTP/AVP/TCP;unicast;interleaved=0-1")
    #expect(
      dialogue.answer(200, ["Session": "12345678;timeout=20", "Transport": "RTP/AVP/TCP;unicast;interleaved=0-1"])
        == "SETUP rtsp://cam/live/trackID=1 Session=12345678 Transport=RTP/AVP/TCP;unicast;interleaved=2-3")
    // The server chooses other channels.
    #expect(
      dialogue.answer(200, ["Session": "12345678", "Transport": "RTP/AVP/TCP;interleaved=6-7"])
        == "PLAY rtsp://cam/live/ Session=12345678 Range=npt=0.000-")
    #expect(dialogue.answer(200, ["Session": "12345678"]) == "play")
    #expect(dialogue.session.tracks.map(\.format.kind) == [.video, .audio])
    #expect(dialogue.session.track(forChannel: 6)?.index == 1)
    #expect(dialogue.session.track(forChannel: 1)?.isRTCP == true)
    #expect(dialogue.session.track(forChannel: 2) == nil)
    #expect(dialogue.pass(9) == "")
    #expect(dialogue.pass(1) == "GET_PARAMETER rtsp://cam/live/ Session=12345678")
    #expect(dialogue.answer(451) == "")
    #expect(dialogue.pass(10).hasPrefix("GET_PARAMETER"))
    #expect(dialogue.answer(454) == "refused(454 Session Not Found)")
    #expect(dialogue.session.end()?.method == .teardown)
  }

  @Test(arguments: [404, 451, 461, 500])
  func `audio that the server announces and refuses is left out, video is not`(status: Int) {
    let dialogue = Dialogue()
    _ = dialogue.answer(200)
    _ = dialogue.answer(200, body: Self.head + Self.video + Self.audio)
    _ = dialogue.answer(200, ["Session": "s"])
    #expect(dialogue.output.hasPrefix("SETUP rtsp://cam/live/trackID=1"))
    #expect(dialogue.answer(status) == "PLAY rtsp://cam/live Session=s Range=npt=0.000-")
    #expect(dialogue.answer(200) == "play")
    #expect(dialogue.session.tracks.map(\.format.kind) == [.video])
    let other = Dialogue()
    _ = other.answer(200)
    _ = other.answer(200, body: Self.head + Self.video + Self.audio)
    #expect(other.answer(404) == "refused(404 Not Found)")
  }

  @Test func `other media are left out, and addresses of tracks resolved`() {
    let dialogue = Dialogue(url: "rtsp://cam/a?x=1")
    _ = dialogue.answer(501)
    let metadata = "m=application 0 RTP/AVP 107\r\na=rtpmap:107 vnd.onvif.metadata/90000\r\na=control:meta\r\n"
    let absolute = Self.video.replacing("trackID=0", with: "rtsp://cam:8554/other/0")
    #expect(
      dialogue.answer(200, body: Self.head + metadata + absolute)
        == "SETUP rtsp://cam:8554/other/0 Transport=RTP/AVP/TCP;unicast;interleaved=0-1")
    #expect(dialogue.answer(200, ["Session": "s"]) == "PLAY rtsp://cam/a?x=1 Session=s Range=npt=0.000-")
    #expect(dialogue.answer(200) == "play")
    // Without GET_PARAMETER, OPTIONS keeps the session alive: every 30 s of the default timeout of 60.
    #expect(dialogue.pass(29) == "")
    #expect(dialogue.pass(1) == "OPTIONS rtsp://cam/a?x=1 Session=s")
    // One before its time delays the next one.
    #expect(dialogue.pass(5) == "" && dialogue.requestSign() == "OPTIONS rtsp://cam/a?x=1 Session=s")
    #expect(dialogue.answer(200) == "")
    #expect(dialogue.pass(29) == "" && dialogue.pass(1).hasPrefix("OPTIONS"))
    #expect(dialogue.answer(454) == "refused(454 Session Not Found)" && dialogue.requestSign() == "")
    #expect(Dialogue().requestSign() == "", "before PLAY")
  }

  /// ONVIF Streaming Specification §5.3: what the client may send.
  private static let talkBack = "m=audio 0 RTP/AVP 0\r\na=rtpmap:0 PCMU/8000\r\na=sendonly\r\na=control:back\r\n"

  @Test(
    arguments: [
      [talkBack, video + "a=recvonly\r\n", audio + "a=recvonly\r\n"], [video, talkBack, audio],
      [video, audio, talkBack], [video + "a=sendrecv\r\n", talkBack + talkBack, audio],
    ] as [[String]])
  func `audio that a camera receives is neither set up nor played`(media: [String]) {
    let dialogue = Dialogue()
    _ = dialogue.answer(200)
    #expect(dialogue.answer(200, body: Self.head + media.joined()).contains("trackID=0 "))
    #expect(dialogue.answer(200, ["Session": "s"]).contains("trackID=1 "))
    #expect(dialogue.answer(200, ["Session": "s"]).hasPrefix("PLAY"))
    #expect(dialogue.session.tracks.map(\.format.kind) == [.video, .audio])
    #expect(!dialogue.session.backChannels.indices.isEmpty && !dialogue.session.backChannels.areAllAudio)
  }

  @Test func `video beside nothing but audio that a camera receives is played alone`() {
    let dialogue = Dialogue()
    _ = dialogue.answer(200)
    _ = dialogue.answer(200, body: Self.head + Self.talkBack + Self.video)
    #expect(dialogue.answer(200, ["Session": "s"]).hasPrefix("PLAY"))
    #expect(dialogue.session.tracks.map(\.format.kind) == [.video])
    #expect(dialogue.session.backChannels.indices == [0] && dialogue.session.backChannels.areAllAudio)
  }

  @Test func `a server that describes all that it sends as sendonly is played`() {
    let sending = "a=sendonly\r\n"
    for text in [Self.video + sending + Self.audio + sending, sending + Self.video + Self.audio, Self.audio + sending] {
      let dialogue = Dialogue()
      _ = dialogue.answer(200)
      _ = dialogue.answer(200, body: Self.head + text)
      while dialogue.output.hasPrefix("SETUP") { _ = dialogue.answer(200, ["Session": "s"]) }
      #expect(dialogue.output.hasPrefix("PLAY") && dialogue.session.tracks.last?.format.kind == .audio)
      #expect(dialogue.session.backChannels == RTSPBackChannels())
    }
  }

  @Test func `a challenge is answered once, and wrong credentials end the session`() throws {
    let challenge = #"Digest realm="r", nonce="n", algorithm=MD5"#
    var dialogue = Dialogue(credentials: .init(user: "u", password: "p"))
    #expect(dialogue.answer(401, ["WWW-Authenticate": challenge]) == "OPTIONS rtsp://cam/live")
    #expect(dialogue.answer(200).hasPrefix("DESCRIBE"))
    #expect(dialogue.answer(401, ["WWW-Authenticate": challenge + ", stale=true"]).hasPrefix("DESCRIBE"))
    #expect(dialogue.answer(401, ["WWW-Authenticate": challenge]) == "refused(401 Unauthorized)")
    // Endless renewals end too.
    dialogue = Dialogue(credentials: .init(user: "u", password: "p"))
    var count = 0
    while dialogue.answer(401, ["WWW-Authenticate": challenge + ", stale=true"]) != "refused(401 Unauthorized)" {
      count += 1
      try #require(count < 10)
    }
    dialogue = Dialogue()
    #expect(dialogue.answer(401, ["WWW-Authenticate": challenge]) == "refused(401 Unauthorized)")
  }

  @Test func `a challenge of unknown kind is left to others`() {
    let dialogue = Dialogue(credentials: .init(user: "u", password: "p"))
    #expect(dialogue.answer(401, ["WWW-Authenticate": "Negotiate"]) == "unsupported")
  }

  @Test(arguments: [
    "m=video 0 RTP/AVP 96\r\na=rtpmap:96 H265/90000\r\na=control:0\r\n",
    video + "m=audio 0 RTP/AVP 8\r\na=control:1\r\n",
    "m=application 0 RTP/AVP 107\r\na=rtpmap:107 vnd.onvif.metadata/90000\r\n",
  ])
  func `streams of other codecs are unsupported`(media: String) {
    let dialogue = Dialogue()
    _ = dialogue.answer(200)
    #expect(dialogue.answer(200, body: Self.head + media) == "unsupported")
  }

  @Test func `tracks of other codecs are left out where that is asked for, and none at all is unsupported`() {
    let law = "m=audio 0 RTP/AVP 8\r\na=control:1\r\n"
    let dialogue = Dialogue(leavesOutOtherCodecs: true)
    _ = dialogue.answer(200)
    #expect(dialogue.answer(200, body: Self.head + Self.video + law).hasPrefix("SETUP rtsp://cam/live/trackID=0"))
    #expect(dialogue.answer(200, ["Session": "s"]).hasPrefix("PLAY"))
    #expect(dialogue.session.tracks.map(\.format.kind) == [.video])
    let other = Dialogue(leavesOutOtherCodecs: true)
    _ = other.answer(200)
    #expect(other.answer(200, body: Self.head + law) == "unsupported")
  }

  @Test func `datagrams are requested for the first track, at the ports of the client`() {
    var serverPorts: RTSPTransport.Pair<UInt16>?
    func setUp(_ code: Int, _ headers: RTSPHeaders) -> String {
      let dialogue = Dialogue(delivery: .datagrams(.init(rtp: 5000, rtcp: 5001)))
      defer { serverPorts = dialogue.session.tracks.first?.serverPorts }
      _ = dialogue.answer(200)
      #expect(
        dialogue.answer(200, body: Self.head + Self.video + Self.audio)
          == "SETUP rtsp://cam/live/trackID=0 Transport=RTP/AVP;unicast;client_port=5000-5001")
      return dialogue.answer(code, headers)
    }
    let transport = "RTP/AVP/UDP;unicast;client_port=5000-5001;server_port=6000-6001"
    #expect(setUp(200, ["Session": "s", "Transport": transport]).hasPrefix("PLAY rtsp://cam/live Session=s"))
    #expect(serverPorts == .init(rtp: 6000, rtcp: 6001))
    #expect(setUp(200, ["Session": "s", "Transport": "RTP/AVP/TCP;interleaved=0-1"]) == "unsupported")
    #expect(setUp(461, [:]) == "unsupported")
  }

  @Test func `servers that do not interleave, redirect or refuse end the session`() {
    func setUp(_ code: Int, _ headers: RTSPHeaders) -> String {
      let dialogue = Dialogue()
      _ = dialogue.answer(200)
      _ = dialogue.answer(200, body: Self.head + Self.video)
      return dialogue.answer(code, headers)
    }
    #expect(setUp(461, [:]) == "unsupported")
    #expect(setUp(200, ["Session": "s", "Transport": "RTP/AVP;unicast;client_port=5000-5001"]) == "unsupported")
    #expect(setUp(200, [:]) == "invalid")
    #expect(setUp(453, [:]).hasPrefix("refused(453"))
    var dialogue = Dialogue()
    _ = dialogue.answer(200)
    #expect(dialogue.answer(302, ["Location": "rtsp://other/"]) == "unsupported")
    dialogue = Dialogue()
    _ = dialogue.answer(200)
    #expect(dialogue.answer(404) == "refused(404 Not Found)")
  }

  @Test func `late and provisional responses are ignored, and requests of the server answered`() {
    let dialogue = Dialogue()
    #expect(dialogue.answer(200, cSeq: "99") == "")
    var session = Dialogue().session
    let actions = session.handle(RTSPResponse(status: .unauthorized), now: .zero)
    #expect(actions == [.fail(.refused(.unauthorized))])
    #expect(dialogue.answer(100) == "")
    #expect(dialogue.request(.options) == "200 CSeq=77")
    #expect(dialogue.request(.redirect) == "501 CSeq=77")
  }
}
