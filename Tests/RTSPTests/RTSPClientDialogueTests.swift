import RTSP
import TestSupport
import Testing

/// Requests captured from the programs, without dates.
@Suite("RTSP dialogues of real clients")
struct RTSPClientDialogueTests {
  @Test func `ffmpeg 5.1, and with it OBS and mpv, tries UDP, is refused and plays over TCP`() {
    let dialogue = Dialogue()
    dialogue.client(
      """
      OPTIONS rtsp://127.0.0.1:9001/live RTSP/1.0
      CSeq: 1
      User-Agent: Lavf59.27.100
      """)
    dialogue.server(
      """
      RTSP/1.0 200 OK
      CSeq: 1
      Public: OPTIONS, DESCRIBE, ANNOUNCE, SETUP, PLAY, RECORD, PAUSE, TEARDOWN, GET_PARAMETER, SET_PARAMETER
      """)
    dialogue.client(
      """
      DESCRIBE rtsp://127.0.0.1:9001/live RTSP/1.0
      Accept: application/sdp
      CSeq: 2
      User-Agent: Lavf59.27.100
      """)
    dialogue.server(
      """
      RTSP/1.0 200 OK
      CSeq: 2
      Content-Base: rtsp://127.0.0.1:9001/live/
      Content-Type: application/sdp
      Cache-Control: no-cache
      Content-Length: 5
      v=0
      """)
    dialogue.client(
      """
      SETUP rtsp://127.0.0.1:9001/live/trackID=0 RTSP/1.0
      Transport: RTP/AVP/UDP;unicast;client_port=33614-33615
      CSeq: 3
      User-Agent: Lavf59.27.100
      """)
    dialogue.server("RTSP/1.0 461 Unsupported Transport\nCSeq: 3")
    dialogue.client(
      """
      SETUP rtsp://127.0.0.1:9001/live/trackID=0 RTSP/1.0
      Transport: RTP/AVP/TCP;unicast;interleaved=0-1
      CSeq: 4
      User-Agent: Lavf59.27.100
      """)
    dialogue.server(
      """
      RTSP/1.0 200 OK
      CSeq: 4
      Session: 0123456789abcdef;timeout=60
      Transport: RTP/AVP/TCP;unicast;interleaved=0-1;ssrc=000000a0
      Cache-Control: no-cache
      """)
    dialogue.client(
      """
      SETUP rtsp://127.0.0.1:9001/live/trackID=1 RTSP/1.0
      Transport: RTP/AVP/TCP;unicast;interleaved=2-3
      CSeq: 5
      User-Agent: Lavf59.27.100
      Session: 0123456789abcdef
      """)
    dialogue.server(
      """
      RTSP/1.0 200 OK
      CSeq: 5
      Session: 0123456789abcdef;timeout=60
      Transport: RTP/AVP/TCP;unicast;interleaved=2-3;ssrc=000000a1
      Cache-Control: no-cache
      """)
    dialogue.client(
      """
      PLAY rtsp://127.0.0.1:9001/live/ RTSP/1.0
      Range: npt=0.000-
      CSeq: 6
      User-Agent: Lavf59.27.100
      Session: 0123456789abcdef
      """)
    dialogue.server("[start live: 0 on channels 0-1, 1 on channels 2-3]")
    dialogue.media((0, 65_535, 4_294_967_295), (1, 7, 0))
    dialogue.server(
      """
      RTSP/1.0 200 OK
      CSeq: 6
      Session: 0123456789abcdef;timeout=60
      Range: npt=now-
      RTP-Info: url=rtsp://127.0.0.1:9001/live/trackID=0;seq=65535;rtptime=4294967295,\
      url=rtsp://127.0.0.1:9001/live/trackID=1;seq=7;rtptime=0
      """)
    for cSeq in 7..<10 {
      dialogue.wait(seconds: 30)
      dialogue.client(
        """
        GET_PARAMETER rtsp://127.0.0.1:9001/live/ RTSP/1.0
        CSeq: \(cSeq)
        User-Agent: Lavf59.27.100
        Session: 0123456789abcdef
        """)
      dialogue.server("RTSP/1.0 200 OK\nCSeq: \(cSeq)\nSession: 0123456789abcdef;timeout=60")
    }
    dialogue.client(
      """
      TEARDOWN rtsp://127.0.0.1:9001/live/ RTSP/1.0
      CSeq: 10
      User-Agent: Lavf59.27.100
      Session: 0123456789abcdef
      """)
    dialogue.server("[stop]\nRTSP/1.0 200 OK\nCSeq: 10")
  }

  @Test func `ffmpeg plays the first stream by a URL without a path`() {
    let dialogue = Dialogue()
    dialogue.client("DESCRIBE rtsp://127.0.0.1:9005 RTSP/1.0\nAccept: application/sdp\nCSeq: 2")
    #expect(dialogue.headers("Content-Base") == ["rtsp://127.0.0.1:9005/"])
    dialogue.client(
      "SETUP rtsp://127.0.0.1:9005/trackID=1 RTSP/1.0\nTransport: RTP/AVP/TCP;unicast;interleaved=0-1\nCSeq: 3")
    #expect(dialogue.statuses() == ["200"])
    dialogue.client("PLAY rtsp://127.0.0.1:9005/ RTSP/1.0\nRange: npt=0.000-\nCSeq: 4\nSession: 0123456789abcdef")
    dialogue.server("[start live: 1 on channels 0-1]")
  }

  @Test func `GStreamer 1.22 authenticates, tries UDP and multicast, and plays over TCP`() {
    let dialogue = Dialogue(credentials: "user:pass")
    dialogue.client(
      "OPTIONS rtsp://127.0.0.1:9003/live RTSP/1.0\nCSeq: 1\nUser-Agent: GStreamer/1.22.0")
    #expect(dialogue.statuses() == ["200"])
    dialogue.client(
      "DESCRIBE rtsp://127.0.0.1:9003/live RTSP/1.0\nCSeq: 2\nUser-Agent: GStreamer/1.22.0\nAccept: application/sdp")
    let challenges = dialogue.headers("WWW-Authenticate")
    #expect(challenges.count == 3)
    let client = DigestClient(challenge: challenges[1], user: "user", password: "pass")
    for (cSeq, request, status) in [
      (3, "DESCRIBE rtsp://127.0.0.1:9003/live", "200"),
      (4, "SETUP rtsp://127.0.0.1:9003/live/trackID=0|RTP/AVP;unicast;client_port=59790-59791", "461"),
      (5, "SETUP rtsp://127.0.0.1:9003/live/trackID=0|RTP/AVP;multicast", "461"),
      (6, "SETUP rtsp://127.0.0.1:9003/live/trackID=0|RTP/AVP/TCP;unicast;interleaved=0-1", "200"),
      (7, "SETUP rtsp://127.0.0.1:9003/live/trackID=1|RTP/AVP/TCP;unicast;interleaved=2-3", "200"),
      (8, "PLAY rtsp://127.0.0.1:9003/live/", "[start live: 0 on channels 0-1, 1 on channels 2-3]"),
    ] {
      let parts = request.split(separator: "|")
      dialogue.client(
        """
        \(parts[0]) RTSP/1.0
        CSeq: \(cSeq)
        User-Agent: GStreamer/1.22.0\(parts.count > 1 ? "\nTransport: \(parts[1])" : "")
        Authorization: \(client.proof(of: String(parts[0])))\(cSeq > 6 ? "\nSession: 0123456789abcdef" : "")
        """)
      #expect(dialogue.statuses() == [status])
    }
  }

  @Test func `GStreamer finds its tracks with a query, since the base has none`() {
    let dialogue = Dialogue()
    dialogue.client("DESCRIBE rtsp://h/cam/1?key=1 RTSP/1.0\nCSeq: 1\nAccept: application/sdp")
    #expect(dialogue.headers("Content-Base") == ["rtsp://h/cam/1/"])
    dialogue.client("SETUP rtsp://h/cam/1/trackID=0 RTSP/1.0\nCSeq: 2\nTransport: RTP/AVP/TCP;unicast;interleaved=0-1")
    #expect(dialogue.statuses() == ["200"])
    dialogue.client("PLAY rtsp://h/cam/1?key=1/ RTSP/1.0\nCSeq: 3\nRange: npt=0-\nSession: 0123456789abcdef")
    #expect(dialogue.statuses() == ["[start cam/1: 0 on channels 0-1]"])
  }

  /// Requests as live555's RTSPClient writes them: the proof is of the stream's URL even for a track, `RTP/AVP` stands
  /// for UDP, GET_PARAMETER has no body, TEARDOWN comes at the end.
  @Test func `VLC plays with a password over UDP`() {
    let dialogue = Dialogue(credentials: "user:pass", udpPorts: RTSPTransport.Pair(rtp: 6970, rtcp: 6971))
    dialogue.client(
      """
      OPTIONS rtsp://192.168.2.67:8554/live RTSP/1.0
      CSeq: 2
      User-Agent: LibVLC/3.0.18 (LIVE555 Streaming Media v2016.11.28)
      """)
    dialogue.client(
      """
      DESCRIBE rtsp://192.168.2.67:8554/live RTSP/1.0
      CSeq: 3
      User-Agent: LibVLC/3.0.18 (LIVE555 Streaming Media v2016.11.28)
      Accept: application/sdp
      """)
    let client = DigestClient(challenge: dialogue.headers("WWW-Authenticate")[1], user: "user", password: "pass")
    let base = "rtsp://192.168.2.67:8554/live/"
    dialogue.client(
      "DESCRIBE \(base.dropLast()) RTSP/1.0\nCSeq: 4\nAuthorization: \(client.proof(of: "DESCRIBE \(base)"))")
    #expect(dialogue.statuses() == ["200"])
    dialogue.client(
      """
      SETUP \(base)trackID=0 RTSP/1.0
      CSeq: 5
      Authorization: \(client.proof(of: "SETUP \(base)"))
      User-Agent: LibVLC/3.0.18 (LIVE555 Streaming Media v2016.11.28)
      Transport: RTP/AVP;unicast;client_port=58264-58265
      """)
    dialogue.server(
      """
      RTSP/1.0 200 OK
      CSeq: 5
      Session: 0123456789abcdef;timeout=60
      Transport: RTP/AVP;unicast;client_port=58264-58265;server_port=6970-6971;ssrc=000000a0
      Cache-Control: no-cache
      """)
    dialogue.client(
      "PLAY \(base) RTSP/1.0\nCSeq: 6\nAuthorization: \(client.proof(of: "PLAY \(base)"))\n"
        + "Session: 0123456789abcdef\nRange: npt=0.000-")
    dialogue.server("[start live: 0 to ports 58264-58265]")
    dialogue.media((0, 1, 2))
    dialogue.server(
      """
      RTSP/1.0 200 OK
      CSeq: 6
      Session: 0123456789abcdef;timeout=60
      Range: npt=now-
      RTP-Info: url=rtsp://192.168.2.67:8554/live/trackID=0;seq=1;rtptime=2
      """)
    for cSeq in 7..<30 {
      dialogue.wait(seconds: 58)
      dialogue.client(
        "GET_PARAMETER \(base) RTSP/1.0\nCSeq: \(cSeq)\nAuthorization: \(client.proof(of: "GET_PARAMETER \(base)"))\n"
          + "Session: 0123456789abcdef")
      #expect(dialogue.statuses() == ["200"])
    }
    dialogue.client(
      "TEARDOWN \(base) RTSP/1.0\nCSeq: 30\nAuthorization: \(client.proof(of: "TEARDOWN \(base)"))\n"
        + "Session: 0123456789abcdef")
    dialogue.server("[stop]\nRTSP/1.0 200 OK\nCSeq: 30")
  }
}
