import Authentication
import Media
import NIOCore
import TestSupport
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
    let dialogue = Dialogue(credentials: "user:pass")
    dialogue.client("DESCRIBE rtsp://h/live RTSP/1.0\nCSeq: 1")
    let client = DigestClient(challenge: dialogue.headers("WWW-Authenticate")[1], user: "user", password: "pass")
    dialogue.client("PLAY \(asked) RTSP/1.0\nCSeq: 2\nAuthorization: \(client.proof(of: "PLAY \(proven)"))")
    // Without SETUP.
    #expect(dialogue.statuses() == [isAccepted ? "455" : "401"])
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

  /// Requests that are answered without a look at the credentials must not cost a comparison with a hash.
  @Test(arguments: [
    ("DESCRIBE rtsp://h/live RTSP/1.0\nCSeq: 1", true), ("OPTIONS * RTSP/1.0\nCSeq: 1", false),
    ("REDIRECT rtsp://h/live RTSP/1.0\nCSeq: 1", false), ("DESCRIBE rtsp://h/live RTSP/1.0", false),
    ("SETUP rtsp://h/live RTSP/1.0\nCSeq: 1\nRequire: x", false), ("PLAY rtsp://h/live RTSP/1.0\nCSeq: x", false),
  ])
  func `credentials are verified where they decide`(head: String, isVerified: Bool) throws {
    var parser = RTSPMessageParser()
    parser.append(ByteBuffer(string: head.split(separator: "\n").joined(separator: "\r\n") + "\r\n\r\n"))
    guard case .request(let request) = parser.next() else {
      Issue.record("no request: \(head)")
      return
    }
    let access = AccessControl(settings: AccessSettings(), makeRandom: { 1 })
    let session = RTSPServerSession(
      configuration: RTSPServerConfiguration(serverName: "", access: access), now: .zero, makeRandom: { 1 })
    let isSeen = session.verifiesCredentials(of: request)
    #expect(isSeen == isVerified)
  }

  @Test(arguments: ["DESCRIBE", "SETUP", "PLAY", "PAUSE", "TEARDOWN", "GET_PARAMETER", "SET_PARAMETER"])
  func `every method except OPTIONS needs credentials`(method: String) {
    let dialogue = Dialogue(credentials: "user:pass")
    dialogue.client("\(method) rtsp://h/none RTSP/1.0\nCSeq: 1\nTransport: x\nSession: y")
    #expect(dialogue.statuses() == ["401"])
  }

  @Test func `after five wrong passwords a client is refused for a time, also with the right password`() {
    let dialogue = Dialogue(credentials: "user:pass")
    let describe = { (cSeq: Int, password: String) in
      dialogue.client("DESCRIBE rtsp://h/live RTSP/1.0\nCSeq: \(cSeq)\nAuthorization: Basic \(password)")
    }
    for cSeq in 1...5 { describe(cSeq, "dXNlcjpwYXN0") }
    #expect(dialogue.statuses() == ["401", "401", "401", "401", "401"])
    describe(6, "dXNlcjpwYXNz")
    #expect(dialogue.headers("Retry-After") == ["1"])
    dialogue.wait(seconds: 1)
    describe(7, "dXNlcjpwYXNz")
    #expect(dialogue.statuses() == ["200"])
  }

  @Test func `a token in the URL of DESCRIBE is valid for the connection`() {
    var settings = AccessSettings()
    settings.tokens = [AccessToken(parsing: "0123456789abcdef", role: .viewer)].compactMap(\.self)
    let dialogue = Dialogue(access: AccessControl(settings: settings, makeRandom: { 1 }))
    dialogue.client("DESCRIBE rtsp://h/live?token=0123456789abcdeg RTSP/1.0\nCSeq: 1")
    dialogue.client("DESCRIBE rtsp://h/live RTSP/1.0\nCSeq: 2")
    #expect(dialogue.statuses() == ["401", "401"])
    dialogue.client("DESCRIBE rtsp://h/live?x=y&token=0123456789abcdef RTSP/1.0\nCSeq: 3")
    dialogue.client("PLAY rtsp://h/live RTSP/1.0\nCSeq: 4")
    #expect(dialogue.statuses() == ["200", "455"])
  }

  @Test(arguments: ["rtsp://h/live/low?", "rtsp://h/live?rendition=low&", "rtsp://h/low?"])
  func `a rendition's encoder is opened with a token only, in any form of its address`(url: String) {
    var settings = AccessSettings()
    settings.tokens = [AccessToken(parsing: "0123456789abcdef", role: .viewer)].compactMap(\.self)
    let dialogue = Dialogue(access: AccessControl(settings: settings, makeRandom: { 1 }))
    dialogue.directory.unprepared = ["live/low", "low"]
    for query in [
      "", "token=", "token=0123456789abcdee", "ticket=0123456789abcdef", "token=0123456789abcdef/trackID=0",
    ] {
      dialogue.client("DESCRIBE \(url)\(query) RTSP/1.0\nCSeq: 1")
      #expect(dialogue.statuses() == ["401"], "\(query)")
    }
    dialogue.client("DESCRIBE \(url)token=0123456789abcdef RTSP/1.0\nCSeq: 2")
    #expect(dialogue.statuses().first?.hasPrefix("[prepare") == true)
  }

  @Test func `a publisher may not watch a stream that needs a password`() {
    var settings = AccessSettings()
    settings.users = [Credentials(user: "v", password: "p"), Credentials(user: "user", password: "pass")]
    settings.users[1].role = .publisher(stream: "live")
    let dialogue = Dialogue(access: AccessControl(settings: settings, makeRandom: { 1 }))
    dialogue.client("DESCRIBE rtsp://h/live RTSP/1.0\nCSeq: 1\nAuthorization: Basic dXNlcjpwYXNz")
    #expect(dialogue.statuses() == ["403"])
  }
}
