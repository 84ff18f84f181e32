import Authentication
import Media
import Testing

@testable import RTSP

@Suite("Authentication of RTSP requests")
struct RTSPAuthenticationTests {
  @Test(arguments: [
    ("rtsp://h/live", "rtsp://h/live/trackID=0", true), ("rtsp://h/live/", "rtsp://h/live", true),
    ("rtsp://other:1/live?x", "rtsp://h//live/", true), ("/live", "rtsp://h/live", true),
    ("rtsp://h/other", "rtsp://h/live", false), ("rtsp://h/live/trackID=0", "rtsp://h/live", false),
    ("rtsp://h/liv", "rtsp://h/live", false), ("nonsense", "rtsp://h/live", false),
  ])
  func `a proof covers its resource and the resources below`(proven: String, asked: String, isAccepted: Bool) {
    let authenticator = Self.authenticator
    let client = DigestClient(
      challenge: authenticator.challenges(stale: false, now: Self.now)[1], user: "user", password: "pass")
    let request = request("PLAY \(asked)", client.proof(of: "PLAY \(proven)"))
    #expect(
      authenticator.judge(request, enteredWith: nil, now: Self.now)
        == (isAccepted ? .accepted(nonce: client.nonce) : .rejected(stale: false)))
  }

  @Test func `a connection keeps its nonce after it expires, another connection may not use it`() {
    let dialogue = Dialogue(credentials: "user:pass")
    dialogue.client("DESCRIBE rtsp://h/live RTSP/1.0\nCSeq: 1")
    let client = DigestClient(challenge: dialogue.headers("WWW-Authenticate")[0], user: "user", password: "pass")
    let sha256 = { (line: String) in
      var client = client
      client.namesAlgorithm = true
      client.usesProtection = true
      return client.proof(of: line)
    }
    dialogue.client(
      "SETUP rtsp://h/live/trackID=0 RTSP/1.0\nCSeq: 1\nTransport: RTP/AVP/TCP;unicast\n"
        + "Authorization: \(sha256("SETUP rtsp://h/live/trackID=0"))")
    #expect(dialogue.statuses() == ["200"])
    for cSeq in 2..<10 {
      dialogue.client(
        "DESCRIBE rtsp://h/live RTSP/1.0\nCSeq: \(cSeq)\nAuthorization: \(sha256("DESCRIBE rtsp://h/live"))")
      #expect(dialogue.statuses() == ["200"])
      dialogue.wait(seconds: 59)
    }
    let other = Dialogue(credentials: "user:pass", openedAt: dialogue.now)
    other.client("DESCRIBE rtsp://h/live RTSP/1.0\nCSeq: 9\nAuthorization: \(sha256("DESCRIBE rtsp://h/live"))")
    #expect(other.headers("WWW-Authenticate").filter { $0.contains("stale=true") }.count == 2)
  }

  @Test(arguments: ["DESCRIBE", "SETUP", "PLAY", "PAUSE", "TEARDOWN", "GET_PARAMETER", "SET_PARAMETER"])
  func `every method except OPTIONS needs credentials`(method: String) {
    let dialogue = Dialogue(credentials: "user:pass")
    dialogue.client("\(method) rtsp://h/none RTSP/1.0\nCSeq: 1\nTransport: x\nSession: y")
    #expect(dialogue.statuses() == ["401"])
  }

  private static let now = MediaTime(nanoseconds: 1_000_000_000_000)
  private static let authenticator = Authenticator(
    credentials: Credentials(parsing: "user:pass").map { [$0] } ?? [], secret: [1, 2, 3])

  private func request(_ line: String, _ authorization: String) -> RTSPRequest {
    let parts = line.split(separator: " ")
    return RTSPRequest(
      method: RTSPMethod(rawValue: String(parts[0])), uri: String(parts[1]), headers: ["Authorization": authorization])
  }
}
