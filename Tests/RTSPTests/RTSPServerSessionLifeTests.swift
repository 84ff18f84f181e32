import Media
import RTSP
import Testing

@Suite("Life and end of an RTSP session")
struct RTSPServerSessionLifeTests {
  @Test(arguments: [
    "GET_PARAMETER rtsp://h/live RTSP/1.0\r\nCSeq: 2\r\nSession: 0123456789abcdef\r\n\r\n",
    "SET_PARAMETER rtsp://h/live RTSP/1.0\r\nCSeq: 2\r\n\r\n", "OPTIONS * RTSP/1.0\r\nCSeq: 2\r\n\r\n",
    "PLAY rtsp://h/live RTSP/1.0\r\nCSeq: 2\r\n\r\n", "RTSP/1.0 200 OK\r\nCSeq: 1\r\n\r\n",
    "$\u{1}\u{0}\u{4}rtcp", "$\u{2}\u{0}\u{0}",
  ])
  func `any request, response or packet of the session keeps it open for 60 seconds`(sign: String) {
    let dialogue = RTSPServerSessionTests.playing()
    for _ in 0..<3 {
      dialogue.wait(seconds: 59)
      dialogue.client(bytes: Array(sign.utf8))
      #expect(!dialogue.statuses().contains("[close]"))
    }
    dialogue.wait(seconds: 59)
    dialogue.serverIsSilent()
    dialogue.wait(seconds: 1)
    dialogue.server("[stop]\n[close]")
  }

  @Test(arguments: ["$\u{9}\u{0}\u{1}x", "OPTIONS * RTSP/1.0\r\nCSeq:", "\r\n"])
  func `bytes alone do not keep a session open`(bytes: String) {
    let dialogue = RTSPServerSessionTests.playing()
    dialogue.wait(seconds: 30)
    dialogue.client(bytes: Array(bytes.utf8))
    dialogue.wait(seconds: 30)
    dialogue.server("[stop]\n[close]")
  }

  @Test func `a silent connection without a session is closed after 10 seconds`() {
    let dialogue = Dialogue(openedAt: MediaTime(nanoseconds: 5_000_000_000))
    dialogue.wait(seconds: 5)
    dialogue.client(bytes: [0x24, 0, 0, 0])
    dialogue.client("RTSP/1.0 200 OK\nCSeq: 1")
    dialogue.wait(seconds: 4)
    dialogue.serverIsSilent()
    dialogue.wait(seconds: 1)
    dialogue.server("[close]")
  }

  @Test(arguments: [
    "OPTIONS * RTSP/1.0\nCSeq: 1", "DESCRIBE rtsp://h/live RTSP/1.0\nCSeq: 1",
    "SETUP rtsp://h/live/trackID=0 RTSP/1.0\nCSeq: 1\nTransport: RTP/AVP/TCP;unicast",
    "GET_PARAMETER rtsp://h/live RTSP/1.0\nCSeq: 1", "BREW * RTSP/1.0\nCSeq: 1",
    "OPTIONS * RTSP/1.0\nCSeq: 1\nnonsense",
  ])
  func `no request but a SETUP with a password keeps a connection open for more than 10 seconds`(request: String) {
    let dialogue = Dialogue(credentials: "user:pass")
    for _ in 0..<9 {
      dialogue.wait(seconds: 1)
      dialogue.client(request)
      #expect(!dialogue.statuses().contains("[close]"))
    }
    dialogue.wait(seconds: 1)
    #expect(dialogue.statuses() == ["[close]"])
  }

  @Test func `a SETUP in time, even a late one, gives the connection its 60 seconds`() {
    let dialogue = Dialogue()
    dialogue.wait(seconds: 9)
    dialogue.client("SETUP rtsp://h/live/trackID=0 RTSP/1.0\nCSeq: 1\nTransport: RTP/AVP/TCP;unicast")
    #expect(dialogue.statuses() == ["200"])
    dialogue.wait(seconds: 59)
    dialogue.serverIsSilent()
    dialogue.wait(seconds: 1)
    dialogue.server("[close]")
  }

  @Test func `after TEARDOWN a connection has 10 seconds for another SETUP`() {
    let dialogue = RTSPServerSessionTests.ready(tracks: 1)
    dialogue.wait(seconds: 40)
    dialogue.client("TEARDOWN rtsp://h/live RTSP/1.0\nCSeq: 2")
    #expect(dialogue.statuses() == ["200"])
    dialogue.wait(seconds: 9)
    dialogue.client("OPTIONS * RTSP/1.0\nCSeq: 3")
    #expect(dialogue.statuses() == ["200"])
    dialogue.wait(seconds: 1)
    dialogue.server("[close]")
  }

  @Test func `the end of a stream closes the connections that play it or have set it up, and no others`() {
    let playing = RTSPServerSessionTests.playing()
    playing.streamEnds()
    playing.server("[stop]\n[close]")
    let ready = RTSPServerSessionTests.ready()
    ready.streamEnds()
    ready.server("[close]")
    let starting = RTSPServerSessionTests.ready()
    starting.client("PLAY rtsp://h/live RTSP/1.0\nCSeq: 2")
    starting.streamEnds()
    #expect(
      starting.statuses() == ["[start live: 0 on channels 0-1, 1 on channels 2-3]", "503", "[stop]", "[close]"])
    let initial = Dialogue()
    initial.streamEnds()
    initial.serverIsSilent()
  }

  @Test func `the end of the server closes every connection once`() {
    let dialogue = Dialogue()
    dialogue.serverStops()
    dialogue.serverStops()
    dialogue.server("[close]")
  }

  @Test func `PLAY does not find a stream that was removed`() {
    let dialogue = RTSPServerSessionTests.ready()
    dialogue.directory.streams = []
    dialogue.client("PLAY rtsp://h/live RTSP/1.0\nCSeq: 2")
    dialogue.client("DESCRIBE rtsp://h RTSP/1.0\nCSeq: 3")
    #expect(dialogue.statuses() == ["404", "404"])
  }
}
