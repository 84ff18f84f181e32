import Authentication
import Media
import NIOCore
import Testing

@testable import WebRTC

@Suite("WHIP client, RFC 9725 §4")
struct WHIPClientTests {
  private static let offer = ByteBuffer(string: "v=0\r\n")
  private static let answer = ByteBuffer(string: "v=0\r\no=answer\r\n")
  private static let token = Secret("t0ken")

  private static func client(_ url: String = "whip+https://example.org/live/whip") throws -> WHIPClient {
    WHIPClient(endpoint: try WHIPURL(parsing: url), token: self.token)
  }

  private static func url(_ text: String) throws -> WHIPURL { try WHIPURL(http: text) }

  @Test func `an offer is posted with the token, its answer opens a session, and DELETE ends it`() throws {
    var client = try Self.client()
    let request = client.post(Self.offer)
    #expect(
      request
        == WHIPRequest(
          method: .post, url: try Self.url("https://example.org/live/whip"), token: Self.token, offer: Self.offer))
    #expect(client.end() == nil)
    _ = client.post(Self.offer)
    let result = client.handle(WHIPResponse(status: 201, location: "/session/7", body: Self.answer))
    #expect(result == .answered(Self.answer))
    let end = client.end()
    #expect(
      end
        == WHIPRequest(
          method: .delete, url: try Self.url("https://example.org/session/7"), token: Self.token, offer: nil))
    #expect(client.end() == nil)
  }

  @Test(arguments: [307, 308])
  func `a redirect repeats the request, with the token only over HTTPS or to the same origin`(status: Int) throws {
    var client = try Self.client("whip+http://example.org/whip")
    _ = client.post(Self.offer)
    #expect(
      client.handle(WHIPResponse(status: status, location: "/other"))
        == .send(
          WHIPRequest(
            method: .post, url: try Self.url("http://example.org/other"), token: Self.token, offer: Self.offer)))
    // Another host without encryption.
    #expect(
      client.handle(WHIPResponse(status: status, location: "http://edge.example.net/whip"))
        == .send(
          WHIPRequest(
            method: .post, url: try Self.url("http://edge.example.net/whip"), token: nil, offer: Self.offer)))
    #expect(
      client.handle(WHIPResponse(status: status, location: "https://edge.example.net/whip"))
        == .send(
          WHIPRequest(
            method: .post, url: try Self.url("https://edge.example.net/whip"), token: Self.token, offer: Self.offer)))
    // The session is at the place of the redirect.
    #expect(client.handle(WHIPResponse(status: 201, location: "s", body: Self.answer)) == .answered(Self.answer))
    #expect(client.end()?.url == (try Self.url("https://edge.example.net/s")))
  }

  @Test(arguments: [nil, "http://example.org/whip", "ftp://example.org", "/a\r\nAuthorization: x"])
  func `redirects without a usable address are not followed, nor those from HTTPS to HTTP`(location: String?) throws {
    var client = try Self.client()
    _ = client.post(Self.offer)
    #expect(
      client.handle(WHIPResponse(status: 307, location: location)) == .failed(WHIPClient.Failure(cause: .redirect)))
    #expect(client.end() == nil)
  }

  @Test func `redirects in a circle end`() throws {
    var client = try Self.client()
    _ = client.post(Self.offer)
    var count = 0
    while case .send = client.handle(WHIPResponse(status: 308, location: "/whip")) {
      count += 1
      try #require(count <= WHIPClient.maximumRedirectCount)
    }
    #expect(count == WHIPClient.maximumRedirectCount)
    // Redirects of the next attempt count from zero.
    _ = client.post(Self.offer)
    guard case .send = client.handle(WHIPResponse(status: 308, location: "/whip")) else {
      Issue.record("not followed")
      return
    }
  }

  @Test(
    arguments: [
      (401, "the token is refused (401)"), (403, "the token is refused (403)"),
      (404, "no WHIP endpoint there (404)"), (405, "no WHIP endpoint there (405)"),
      (406, "the server does not accept the offer (406)"), (400, "the server does not accept the offer (400)"),
      (409, "another publisher is live (409)"), (429, "the server is busy (429)"), (503, "the server is busy (503)"),
      (500, "the server has failed (500)"), (302, "the server redirects in a way that WHIP does not have (302)"),
      (200, "no WHIP server there (200)"),
    ])
  func `a refusal says why, without the server's words`(status: Int, text: String) throws {
    var client = try Self.client()
    _ = client.post(Self.offer)
    let result = client.handle(WHIPResponse(status: status, location: "/x", body: ByteBuffer(string: "t0ken")))
    guard case .failed(let failure) = result else {
      Issue.record("\(result)")
      return
    }
    #expect(failure.description == text && failure.retryAfter == nil)
    #expect(client.end() == nil)
  }

  @Test(
    arguments: [
      ("7", .seconds(7)), ("0", .zero), ("100000", WHIPClient.maximumRetryDelay), ("-1", nil), ("", nil), ("7 ", nil),
      ("Fri, 31 Dec 1999 23:59:59 GMT", nil), ("99999999999999999999", nil), (nil, nil),
    ] as [(String?, MediaDuration?)])
  func `Retry-After is followed within a bound`(value: String?, delay: MediaDuration?) throws {
    var client = try Self.client()
    _ = client.post(Self.offer)
    #expect(
      client.handle(WHIPResponse(status: 503, retryAfter: value))
        == .failed(WHIPClient.Failure(cause: .status(503), retryAfter: delay)))
  }

  @Test func `a session without an address is none`() throws {
    for location in [nil, "ftp://example.org/x", "http://example.org/downgrade"] as [String?] {
      var client = try Self.client()
      _ = client.post(Self.offer)
      #expect(
        client.handle(WHIPResponse(status: 201, location: location, body: Self.answer))
          == .failed(WHIPClient.Failure(cause: .noSession)))
      #expect(client.end() == nil)
    }
  }

  @Test func `a session at another host without encryption is ended without the token`() throws {
    var client = try Self.client("whip+http://example.org/whip")
    _ = client.post(Self.offer)
    _ = client.handle(WHIPResponse(status: 201, location: "http://media.example.net/s", body: Self.answer))
    let request = client.end()
    let end = try #require(request)
    #expect(end.url.host == "media.example.net" && end.token == nil)
  }

  @Test func `a response without a request is ignored`() throws {
    var client = try Self.client()
    #expect(
      client.handle(WHIPResponse(status: 201, location: "/s", body: Self.answer))
        == .failed(WHIPClient.Failure(cause: .noSession)))
    #expect(client.end() == nil)
  }
}
