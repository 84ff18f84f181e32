import Authentication
import Capture
import Media
import Pushing
import Serving
import Streaming
import TestSupport
import Testing
import WebRTCServer

@Suite("Pushes over WHIP: requests over loopback", .timeLimit(.minutes(5)))
struct WHIPPushTests {
  /// Pushes a running stream to a server, and ends with `body`.
  private static func withPush(
    _ responses: [String], _ body: (TestWHIPServer, StreamPushes) async throws -> Void
  ) async throws {
    let server = try await TestWHIPServer(responses)
    let stream = LiveStream("test", video: VideoSettings(bitrate: 300_000))
    stream.attachVideo(PlasmaCapturer(width: 64, height: 48, frameRate: 30))
    stream.attachAudio(ToneCapturer())
    try await stream.start()
    // No busy machine needs as long for a request.
    let service = PushService(stepTimeout: .seconds(300)) { destination, connector, report in
      guard case .whip(let url, let token) = destination else { preconditionFailure("all pushes are over WHIP here") }
      return connector.whipLink(to: url, token: token, report: report)
    }
    let pushes = StreamPushes(stream, service: service, allowsLinkLocal: false)
    do {
      let url = "whip+http://127.0.0.1:\(server.port)/live/SECRET-1?key=SECRET-2"
      try pushes.add([PushTarget(url: url, token: Secret("SECRET-3"))])
      try await body(server, pushes)
    } catch {
      Issue.record(error)
    }
    await pushes.stop()
    await stream.stop()
    await service.stop()
    await server.stop()
  }

  private static func response(_ status: String, _ fields: [String] = [], body: String = "") -> String {
    (["HTTP/1.1 \(status)"] + fields + ["Content-Length: \(body.utf8.count)", "", body]).joined(separator: "\r\n")
  }

  @Test func `the offer is posted with the token, also where the server redirects, and a refusal is reported`()
    async throws
  {
    let responses = [
      Self.response("307 Temporary Redirect", ["Location: /edge/whip"]), Self.response("401 Unauthorized"),
    ]
    try await Self.withPush(responses) { server, pushes in
      try await eventually { pushes.reports.first?.status.lastFailure != nil }
      let report = try #require(pushes.reports.first)
      #expect(report.status.lastFailure == "the token is refused (401)")
      #expect(report.address == "whip+http://127.0.0.1:\(server.port)" && !"\(report)".contains("SECRET"))
      let requests = server.requests
      try #require(requests.count >= 2)
      #expect(requests[0].hasPrefix("POST /live/SECRET-1?key=SECRET-2 HTTP/1.1\r\n"))
      #expect(requests[1].hasPrefix("POST /edge/whip HTTP/1.1\r\n"))
      for request in requests.prefix(2) {
        #expect(request.contains("\r\nAuthorization: Bearer SECRET-3\r\n"))
        #expect(request.contains("\r\nContent-Type: application/sdp\r\n"))
        #expect(request.contains("\r\nHost: 127.0.0.1:\(server.port)\r\n"))
        for line in ["m=video ", "m=audio ", "a=setup:actpass", "a=candidate:1 1 udp ", "a=end-of-candidates"] {
          #expect(request.contains("\r\n\(line)"), "\(line)")
        }
      }
      // Tried again, by itself.
      try await eventually { server.requests.count > 2 }
    }
  }

  @Test func `a busy server is not asked again before the time that it names`() async throws {
    try await Self.withPush([Self.response("503 Service Unavailable", ["Retry-After: 120"])]) { server, pushes in
      try await eventually { pushes.reports.first?.status.lastFailure != nil }
      let report = try #require(pushes.reports.first)
      #expect(report.status.lastFailure == "the server is busy (503)" && server.requests.count == 1)
      #expect(try #require(report.nextAttempt) > .seconds(60))
    }
  }

  @Test func `a session whose answer cannot be used is ended`() async throws {
    let responses = [Self.response("201 Created", ["Location: /session/1"], body: "garbage"), Self.response("200 OK")]
    try await Self.withPush(responses) { server, pushes in
      try await eventually { server.requests.contains { $0.hasPrefix("DELETE ") } }
      let requests = server.requests
      let end = try #require(requests.first { $0.hasPrefix("DELETE ") })
      #expect(end.hasPrefix("DELETE /session/1 HTTP/1.1\r\n") && end.contains("\r\nAuthorization: Bearer SECRET-3\r\n"))
      #expect(pushes.reports.first?.status.phase != .sending)
    }
  }

  @Test(arguments: [
    (response("201 Created"), ["the server's session has no address"]),
    ("garbage\r\n\r\n", ["no WHIP server there"]),
    ("", ["the server has closed the connection", "no WHIP server there"]),
    (response("201 Created", ["Location: /s"], body: String(repeating: "a", count: 200_000)), ["no WHIP server there"]),
    (response("404 Not Found", body: "SECRET-3"), ["no WHIP endpoint there (404)"]),
    (
      response("307 Temporary Redirect", ["Location: http://169.254.169.254/latest"]),
      ["its address is link-local, which only the owner may choose"]
    ),
  ])
  func `what is no session is reported with one line, and nothing of the server's words`(
    response: String, failures: [String]
  ) async throws {
    try await Self.withPush([response]) { _, pushes in
      try await eventually { pushes.reports.first?.status.lastFailure != nil }
      let failure = try #require(pushes.reports.first?.status.lastFailure)
      #expect(failures.contains(failure), "\(failure)")
    }
  }
}
