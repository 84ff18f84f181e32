import Authentication
import Media
import NIOCore
import Serving
import Streaming
import Synchronization
import Testing

@testable import ControlAPI

@Suite("WHIP, RFC 9725", .timeLimit(.minutes(5)))
struct WHIPTests {
  private static let token = "cHVibGlzaGVyLW9mLWEtYg"
  private static let authorization = "Authorization: Bearer \(token)"
  private static let fragmentType = "application/trickle-ice-sdpfrag"

  /// Access with the token of the publisher, and that of another stream's.
  private static func access(_ change: (inout AccessSettings) -> Void = { _ in }) throws -> AccessControl {
    let tokens = try [
      #require(AccessToken(parsing: Self.token, role: .publisher(stream: "a/b"))),
      #require(AccessToken(parsing: "cHVibGlzaGVyLW9mLW90aGVy", role: .publisher(stream: "other"))),
      #require(AccessToken(parsing: "dmlld2VyLXZpZXdlci12aWV3", role: .viewer)),
    ]
    return AccessControl.permissive {
      $0.tokens = Array(tokens.prefix(2))
      change(&$0)
      if $0.protectsWatching { $0.tokens = tokens }
    }
  }

  private func withService(
    access: AccessControl? = nil, isOn: Bool = true, _ body: (WebRTCSessionsStub, _ port: Int) async throws -> Void
  ) async throws {
    let service = WebRTCSessionsStub(links: ["<stun:a.example>; rel=\"ice-server\""])
    var providers = WebServerProviders()
    if isOn { providers.whip = service }
    let access = try access ?? Self.access()
    try await withServer(access: access, providers: providers) { server, port in
      server.serve(LiveStream("a/b"))
      try await body(service, port)
    }
  }

  private func send(
    _ method: String, _ body: String, to path: String = "/a/b/whip", type: String = "application/sdp", port: Int,
    _ field: String = authorization
  ) async throws -> (head: String, body: String) {
    try await HTTPControlTests.send(method, body, to: path, type: type, port: port, field)
  }

  @Test func `a session is opened, changed and ended by its URL`() async throws {
    try await self.withService { service, port in
      let opened = try await self.send("POST", "offer", port: port)
      #expect(opened.head.hasPrefix("HTTP/1.1 201") && opened.body == "answer")
      for field in [
        "Location: ../../a/b/whip/0a", "ETag: \"tag\"", "Content-Type: application/sdp",
        "Link: <stun:a.example>; rel=\"ice-server\"",
      ] {
        #expect(opened.head.contains("\r\n\(field)\r\n"), "\(field)")
      }
      #expect(service.state.withLock { $0.admitted } == ["a/b false"])
      #expect(service.state.withLock { $0.opened } == ["a/b 127.0.0.1,127.0.0.1 false offer"])
      let session = "/a/b/whip/0a"
      let trickled = try await self.send("PATCH", "one", to: session, type: Self.fragmentType, port: port)
      #expect(trickled.head.hasPrefix("HTTP/1.1 204") && !trickled.head.contains("ETag"))
      service.state.withLock { $0.change = .restarted(fragment: ByteBuffer(string: "new"), entityTag: "\"next\"") }
      let restarted = try await HTTPControlTests.send(
        "PATCH", "two", to: session, type: Self.fragmentType, port: port, Self.authorization, "If-Match: \"tag\"")
      #expect(restarted.head.hasPrefix("HTTP/1.1 200") && restarted.body == "new")
      #expect(restarted.head.contains("\r\nETag: \"next\"\r\n"))
      #expect(service.state.withLock { $0.changed } == ["a/b 0a - one", "a/b 0a \"tag\" two"])
      #expect(try await self.send("DELETE", "", to: session, port: port).head.hasPrefix("HTTP/1.1 200"))
      #expect(try await self.send("DELETE", "", to: session, port: port).head.hasPrefix("HTTP/1.1 404"))
    }
  }

  @Test func `OPTIONS says what is accepted without a token, and gives no servers away`() async throws {
    try await self.withService { service, port in
      let options = try await RawClient.get("/a/b/whip", port: port, method: "OPTIONS")
      #expect(options.head.hasPrefix("HTTP/1.1 204") && options.head.contains("Accept-Post: application/sdp"))
      #expect(options.head.contains("Allow: POST, OPTIONS") && !options.head.contains("Link"))
      for method in ["GET", "HEAD", "PUT"] {
        let refused = try await RawClient.get("/a/b/whip", port: port, method: method)
        #expect(refused.head.hasPrefix("HTTP/1.1 405") && refused.head.contains("Allow: POST, OPTIONS"), "\(method)")
      }
      let session = try await RawClient.get("/a/b/whip/0a", port: port)
      #expect(session.head.hasPrefix("HTTP/1.1 405") && session.head.contains("Allow: PATCH, DELETE, OPTIONS"))
      #expect(service.state.withLock { $0.admitted } == [])
    }
  }

  @Test(
    arguments: [
      "X: y", "Authorization: Bearer wrong-wrong-wrong-wrong", "Authorization: Basic dXM6cHc=",
      "Authorization: Bearer \(token)x", "Authorization: \(token)",
    ])
  func `without the token nothing is opened, changed or ended, also on this machine`(field: String) async throws {
    try await self.withService { service, port in
      service.state.withLock { _ = $0.sessions.insert("a/b 0a") }
      // A token in the URL counts as none: logs contain URLs.
      for (method, path) in [
        ("POST", "/a/b/whip"), ("POST", "/a/b/whip?takeover=1&token=\(Self.token)"), ("PATCH", "/a/b/whip/0a"),
        ("DELETE", "/a/b/whip/0a"), ("DELETE", "/a/b/whip/0a?token=\(Self.token)"),
      ] {
        let refused = try await self.send(method, "x", to: path, port: port, field)
        #expect(refused.head.hasPrefix("HTTP/1.1 401"), "\(method) \(path): \(refused.head)")
        #expect(refused.head.contains("WWW-Authenticate: Bearer"))
      }
      #expect(service.state.withLock { $0.admitted.isEmpty && $0.opened.isEmpty && $0.changed.isEmpty })
      #expect(service.state.withLock { $0.sessions } == ["a/b 0a"])
    }
  }

  @Test func `a request without the token is refused before its body is read`() async throws {
    try await self.withService { _, port in
      let client = try await RawClient.connect(port: port)
      let head = [
        "POST /a/b/whip HTTP/1.1", "Host: 127.0.0.1", "Content-Type: application/sdp", "Content-Length: 5000",
      ]
      // The body never follows.
      let text = try await client.exchange([head.joined(separator: "\r\n") + "\r\n\r\n"], until: "terminal")
      #expect(text.hasPrefix("HTTP/1.1 401"))
    }
  }

  @Test func `tokens of other streams and of viewers are forbidden, and guesses are counted as logins`() async throws {
    let access = try Self.access { $0.protectsWatching = true }
    try await self.withService(access: access) { service, port in
      for token in ["cHVibGlzaGVyLW9mLW90aGVy", "dmlld2VyLXZpZXdlci12aWV3"] {
        let refused = try await self.send("POST", "x", port: port, "Authorization: Bearer \(token)")
        #expect(refused.head.hasPrefix("HTTP/1.1 403"), "\(refused.head)")
      }
      #expect(access.refusals[.failedLogin] == 0 && service.state.withLock { $0.admitted } == [])
      let guess = try await self.send("POST", "x", port: port, "Authorization: Bearer guess-guess-guess-guess")
      #expect(guess.head.hasPrefix("HTTP/1.1 401") && access.refusals[.failedLogin] == 1)
      let opened = try await self.send("POST", "x", port: port)
      #expect(opened.head.hasPrefix("HTTP/1.1 201"))
    }
  }

  @Test func `guesses of the token are slowed down, the right one is not`() async throws {
    try await self.withService { service, port in
      for number in 0..<6 {
        let guess = try await self.send("POST", "x", port: port, "Authorization: Bearer guess-guess-guess-guess")
        #expect(guess.head.hasPrefix("HTTP/1.1 \(number < 5 ? "401" : "429")"))
        #expect(guess.head.contains("Retry-After") == (number == 5))
      }
      #expect(service.state.withLock { $0.admitted } == [])
      #expect(try await self.send("POST", "x", port: port).head.hasPrefix("HTTP/1.1 201"))
    }
  }

  @Test func `a publisher that wishes to take over says so in the URL`() async throws {
    try await self.withService { service, port in
      service.state.withLock { $0.admission = .taken(retryAfter: 3) }
      let refused = try await self.send("POST", "x", port: port)
      #expect(refused.head.hasPrefix("HTTP/1.1 409") && refused.head.contains("\r\nRetry-After: 3\r\n"))
      #expect(service.state.withLock { $0.opened } == [], "the body of a refused offer is not read")
      service.state.withLock { $0.admission = nil }
      for path in ["/a/b/whip?takeover=1", "/a/b/whip?takeover=0"] {
        let opened = try await self.send("POST", "x", to: path, port: port)
        #expect(opened.head.hasPrefix("HTTP/1.1 201"))
      }
      #expect(service.state.withLock { $0.admitted } == ["a/b false", "a/b true", "a/b false"])
      #expect(service.state.withLock { $0.opened.map { $0.contains("true x") } } == [true, false])
    }
  }

  @Test(
    arguments: [
      (.notFound, "404", ""), (.noSource, "404", ""), (.taken(retryAfter: 7), "409", "Retry-After: 7"),
      (.malformed("m"), "400", ""), (.nothingReceivable, "422", ""), (.tooManySessions, "503", "Retry-After: 5"),
      (.preconditionRequired, "428", ""), (.preconditionFailed, "412", ""),
    ] as [(WebRTCRefusal, String, String)])
  func `a refusal has a status, and a line that says why`(
    refusal: WebRTCRefusal, status: String, field: String
  ) async throws {
    try await self.withService { service, port in
      service.state.withLock { $0.refusal = refusal }
      for response in [
        try await self.send("POST", "offer", port: port),
        try await self.send("PATCH", "x", to: "/a/b/whip/0a", type: Self.fragmentType, port: port),
      ] {
        #expect(response.head.hasPrefix("HTTP/1.1 \(status)") && response.body.count > 10)
        #expect(response.head.contains(field))
      }
    }
  }

  @Test func `other types, bodies that are too long, and streams that are not there are refused`() async throws {
    try await self.withService { service, port in
      let wrong = try await self.send("POST", "x", type: "text/plain", port: port)
      #expect(wrong.head.hasPrefix("HTTP/1.1 415") && wrong.head.contains("Accept: application/sdp"))
      let fragment = try await self.send("PATCH", "x", to: "/a/b/whip/0a", port: port)
      #expect(fragment.head.hasPrefix("HTTP/1.1 415") && fragment.head.contains("Accept-Patch: \(Self.fragmentType)"))
      let long = try await self.send("POST", String(repeating: "x", count: 70_000), port: port)
      #expect(long.head.hasPrefix("HTTP/1.1 413"))
      let missing = try await self.send("POST", "x", to: "/none/whip", port: port)
      #expect(missing.head.hasPrefix("HTTP/1.1 404"))
      #expect(service.state.withLock { $0.opened } == [])
      #expect(service.state.withLock { $0.changed } == [])
    }
    try await self.withService(isOn: false) { _, port in
      let off = try await self.send("POST", "x", port: port)
      #expect(off.head.hasPrefix("HTTP/1.1 404") && off.body.contains("--webrtc off"))
    }
  }

  @Test func `the page that sends a camera needs no password of a viewer, other pages do`() async throws {
    var providers = WebServerProviders()
    providers.file = { page in
      WebServerProviders.File(body: ByteBuffer(string: "\(page)"), mediaType: "text/html", etag: "\"a\"")
    }
    let access = try Self.access { $0.protectsWatching = true }
    try await withServer(access: access, providers: providers) { server, port in
      server.serve(LiveStream("a/b"))
      let page = try await RawClient.get("/a/b/publish", port: port)
      #expect(page.head.hasPrefix("HTTP/1.1 200") && page.body == "publish")
      #expect(try await RawClient.get("/_page/publish.js", port: port).head.hasPrefix("HTTP/1.1 200"))
      for path in ["/a/b", "/", "/a/b/whep", "/api/streams", "/none/publish"] {
        #expect(try await RawClient.get(path, port: port).head.hasPrefix("HTTP/1.1 401"), "\(path)")
      }
    }
  }

  @Test func `pages of other sites publish only with --cors, and with the token`() async throws {
    try await self.withService { service, port in
      let refused = try await HTTPControlTests.send(
        "POST", "x", to: "/a/b/whip", type: "application/sdp", port: port, Self.authorization,
        "Origin: https://other.example")
      #expect(refused.head.hasPrefix("HTTP/1.1 403") && service.state.withLock { $0.admitted } == [])
    }
    let access = try Self.access { $0.corsOrigins = ["https://site.example"] }
    try await self.withService(access: access) { _, port in
      let site = "Origin: https://site.example"
      let opened = try await HTTPControlTests.send(
        "POST", "x", to: "/a/b/whip", type: "application/sdp", port: port, Self.authorization, site)
      #expect(opened.head.hasPrefix("HTTP/1.1 201"))
      #expect(opened.head.contains("Access-Control-Allow-Origin: https://site.example"))
      #expect(try await self.send("POST", "x", port: port, site).head.hasPrefix("HTTP/1.1 401"))
    }
  }

  @Test func `operators read the token of publishers, publishers see who watches, and viewers see neither`()
    async throws
  {
    var publisher = WebRTCPublisherStatistics()
    (publisher.isLive, publisher.roundTrip) = (true, .milliseconds(40))
    var viewers = ViewerStatistics()
    viewers.viewers = 3
    var providers = WebServerProviders()
    providers.publisher = { [publisher] in $0.name == "a/b" ? publisher : nil }
    providers.statistics = { [viewers] _ in [.init(name: "webrtc", statistics: viewers)] }
    providers.addresses = { stream in
      StreamAddresses(whip: ["https://10.0.0.5:8443\(stream.path)/whip", "http://10.0.0.5:8080\(stream.path)/whip"])
    }
    for policy in [ControlPolicy.operators, .all, .none] {
      let access = try Self.access {
        ($0.protectsWatching, $0.control) = (true, policy)
      }
      let control = access.makeToken(role: .operator)
      try await withServer(access: access, providers: providers) { server, port in
        for name in ["a/b", "other"] { server.serve(LiveStream(name)) }
        func read(_ token: String?, _ path: String = "/api/streams/a/b/publisher") async throws -> (
          head: String, body: String
        ) {
          let field = token.map { "Authorization: Bearer \($0)" } ?? "X-None: 1"
          // Behind a proxy no client is a program on this machine.
          return try await HTTPControlTests.send("GET", "", to: path, port: port, field, "Via: 1.1 p")
        }
        let own = try await read(Self.token)
        #expect(own.head.hasPrefix("HTTP/1.1 200") && own.head.contains("Cache-Control: no-store"))
        for part in [
          #""pages":["https://10.0.0.5:8443/a/b/publish"]"#, #""webrtc":3"#, #""latency":20"#, #""live":true"#,
        ] {
          #expect(own.body.contains(part), "\(part) in \(own.body)")
        }
        #expect(!own.body.contains(Self.token) && !own.body.contains("token"))
        let full = try await read(control.text)
        #expect(full.body.contains(#""token":"\#(Self.token)""#) && full.body.contains("latency"), "\(full.body)")
        for (token, status) in [
          (nil, "401"), ("dmlld2VyLXZpZXdlci12aWV3", "403"), ("cHVibGlzaGVyLW9mLW90aGVy", "403"),
          ("guess-guess-guess-guess", "401"),
        ] {
          let refused = try await read(token)
          #expect(refused.head.hasPrefix("HTTP/1.1 \(status)") && !refused.body.contains(Self.token), "\(policy)")
        }
        #expect(try await read(control.text, "/api/streams/other/publisher").head.hasPrefix("HTTP/1.1 404"))
        for path in ["/api/streams", "/api/streams/a/b", "/metrics"] {
          #expect(try await !read(control.text, path).body.contains(Self.token), "\(path)")
        }
      }
    }
  }

  @Test func `with the machine's policy programs on it read the token, and neither others nor pages of other sites`()
    async throws
  {
    var providers = WebServerProviders()
    providers.publisher = { _ in WebRTCPublisherStatistics() }
    try await withServer(access: try Self.access { $0.control = .machine }, providers: providers) { server, port in
      server.serve(LiveStream("a/b"))
      for (field, status) in [
        ("X-None: 1", "200"), ("Via: 1.1 p", "401"), ("Origin: https://site.example", "403"),
      ] {
        let response = try await HTTPControlTests.send("GET", "", to: "/api/streams/a/b/publisher", port: port, field)
        #expect(response.head.hasPrefix("HTTP/1.1 \(status)"), "\(field): \(response.head)")
        #expect(response.body.contains(Self.token) == (status == "200"), "\(field)")
      }
    }
  }

  @Test func `the latency of viewers in real time is half of both round trips, and the time to the encoded frame`() {
    var publisher = WebRTCPublisherStatistics()
    func latency(_ trips: MediaDuration?...) -> Double? {
      let viewers = trips.enumerated().map { number, trip in
        var viewer = WebRTCViewerStatistics(number: number, rendition: "main")
        viewer.roundTrip = trip
        return viewer
      }
      return PublisherState.latency(publisher, encoded: .milliseconds(15), viewers: viewers)
    }
    #expect(latency() == nil)
    publisher.isLive = true
    #expect(latency() == nil)
    publisher.roundTrip = .milliseconds(40)
    #expect(latency() == 35 && latency(nil) == 35)
    #expect(latency(.milliseconds(20), nil, .milliseconds(60)) == 55)
  }

  @Test func `the entry of a stream names its endpoint and its publisher`() async throws {
    var publisher = WebRTCPublisherStatistics()
    (publisher.isLive, publisher.videoCodec, publisher.framesReceived) = (true, "vp8", 12)
    (publisher.attemptsRefused, publisher.datagramsDropped) = (3, 5)
    var providers = WebServerProviders()
    providers.publisher = { [publisher] in $0.name == "a" ? publisher : nil }
    try await withServer(providers: providers) { server, port in
      for name in ["a", "b"] { server.serve(LiveStream(name)) }
      let entry = try await RawClient.get("/api/streams/a", port: port).body
      #expect(entry.contains(#""whip":"/a/whip""#) && entry.contains(#""video":"vp8""#), "\(entry)")
      #expect(try await !RawClient.get("/api/streams/b", port: port).body.contains("whip"))
      let metrics = try await RawClient.get("/metrics", port: port).body
      try await expectMetrics(metrics)
      for line in [
        #"vidicon_webrtc_publisher_live{stream="a"} 1"#,
        #"vidicon_webrtc_publisher_frames_received_total{stream="a"} 12"#,
        #"vidicon_webrtc_publisher_attempts_total{stream="a",result="refused"} 3"#,
        #"vidicon_webrtc_publisher_datagrams_dropped_total{stream="a"} 5"#,
      ] {
        #expect(metrics.contains(line), "\(line)")
      }
      #expect(!metrics.contains(#"vidicon_webrtc_publisher_live{stream="b"}"#))
    }
  }
}
