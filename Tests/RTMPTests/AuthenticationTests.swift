import Authentication
import Testing

@testable import RTMP

@Suite("Users and passwords within RTMP")
struct AuthenticationTests {
  private static let password = "s3same!"

  private static func url(_ query: String = "", application: String = "live", login: Bool = true) throws -> RTMPURL {
    let url = try RTMPURL(parsing: "rtmp://\(login ? "anna:\(password)@" : "")h/\(application)/k3y")
    return query.isEmpty ? url : url.authenticated(with: Secret(query))
  }

  /// Responses were computed with Python's hashlib, by the rules of FFmpeg's `do_adobe_auth` and `do_llnw_auth`.
  @Test(arguments: [
    (
      "adobe", "live", "salt=c2FsdA==&challenge=Y2hhbGxlbmdl&opaque=b3BhcXVl",
      "authmod=adobe&user=anna&challenge=01020304&response=EkgH6zl2tc8U97ihsuW6hg==&opaque=b3BhcXVl"
    ),
    (
      "adobe", "live", "salt=c2FsdA==&challenge=Y2hhbGxlbmdl",
      "authmod=adobe&user=anna&challenge=01020304&response=Kr4BkyBO9m+RNV5Ed3EMCA=="
    ),
    (
      "llnw", "live", "nonce=n0nce",
      "authmod=llnw&user=anna&nonce=n0nce&cnonce=01020304&nc=00000001&response=18520309a60cc6469e101938a74313a6"
    ),
    (
      "llnw", "live/inst", "nonce=n0nce",
      "authmod=llnw&user=anna&nonce=n0nce&cnonce=01020304&nc=00000001&response=e95bc6f94d1e247ae9150c461dfab946"
    ),
  ])
  func `a server gets the user, and then the response to its challenge`(
    method: String, application: String, challenge: String, response: String
  ) throws {
    func answer(_ description: String, _ query: String = "") throws -> RTMPAuthentication? {
      RTMPAuthentication(
        to: description, url: try Self.url(query, application: application), clientNonce: 0x0102_0304)
    }
    let first = try answer("[ AccessManager.Reject ] : [ code=403 need auth; authmod=\(method) ] : ")
    #expect(first == .query("authmod=\(method)&user=anna"))
    let text = "[ AccessManager.Reject ] : [ authmod=\(method) ] : ?reason=needauth&user=anna&\(challenge)"
    #expect(try answer(text, "authmod=\(method)&user=anna") == .query(response))
    // A server that sends its challenge at once.
    #expect(try answer(text) == .query(response))
    for reason in ["authfailed", "nosuchuser"] {
      let refused = try answer("[ authmod=\(method) ] : ?reason=\(reason)&opaque=x", response)
      #expect(refused == .refused("the user or password is wrong"))
    }
    #expect(try answer(text, response) == .refused("the user or password is wrong"), "no second challenge is answered")
  }

  @Test func `what cannot be answered is refused with a sentence`() throws {
    let needed = "[ AccessManager.Reject ] : [ code=403 need auth; authmod=adobe ] : "
    let without = RTMPAuthentication(to: needed, url: try Self.url(login: false), clientNonce: 1)
    #expect(without == .refused("the server wants a user and password: give rtmp://USER:PASSWORD@HOST/…"))
    let again = RTMPAuthentication(to: needed, url: try Self.url("authmod=adobe&user=anna"), clientNonce: 1)
    #expect(again == .refused("the server's challenge is not understood"))
    let other = RTMPAuthentication(to: "[ authmod=other ]", url: try Self.url(), clientNonce: 1)
    #expect(other == .refused("the server wants a user and password in a way that is not supported"))
    #expect(RTMPAuthentication(to: "no such application", url: try Self.url(), clientNonce: 1) == nil)
    // A challenge without values: the answer has only the client's own nonce.
    let empty = RTMPAuthentication(to: "[ authmod=adobe ] : ?reason=needauth", url: try Self.url(), clientNonce: 1)
    guard case .query(let query)? = empty else {
      Issue.record("\(String(describing: empty))")
      return
    }
    #expect(query.hasPrefix("authmod=adobe&user=anna&challenge=00000001&response="))
  }

  @Test func `a session asks for another connection with the answer, and repeats no password`() throws {
    var server = ScriptedServer(try Self.url())
    try server.answer(until: .connect)
    func failure(_ description: String) throws -> RTMPClientFailure {
      let status = RTMPStatus(level: "error", code: "NetConnection.Connect.Rejected", description: description)
      return try server.failure(
        of: RTMPCommand("_error", transactionID: 1, arguments: [status.value]).message())
    }
    let needed = try failure("[ AccessManager.Reject ] : [ code=403 need auth; authmod=adobe ] : ")
    #expect(needed.authentication == Secret("authmod=adobe&user=anna") && needed.step == .connect)

    var other = ScriptedServer(try Self.url())
    try other.answer(until: .connect)
    let status = RTMPStatus(level: "error", code: "x", description: "wrong: \(Self.password)")
    let echoed = try other.failure(of: RTMPCommand("_error", transactionID: 1, arguments: [status.value]).message())
    #expect(echoed.authentication == nil && echoed.description == "wrong: <redacted>")
  }
}
