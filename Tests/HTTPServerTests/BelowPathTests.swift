import Authentication
import HTTPTypes
import NIOCore
import Streaming
import TestSupport
import Testing

@testable import ControlAPI
@testable import HTTPServer

@Suite("A server below a path of a reverse proxy", .timeLimit(.minutes(5)))
struct BelowPathTests {
  private static let html = "<a href=\"/\"></a><img src=\"/_page/icon.svg\"><use href=\"#i\"/> a=\"b\" /x =\"/"

  private func withPages(
    proxies: [String] = [], users: [Credentials] = [], tokens: [AccessToken] = [],
    _ body: (_ port: Int) async throws -> Void
  ) async throws {
    var providers = WebServerProviders()
    providers.whep = WebRTCSessionsStub()
    providers.whip = WebRTCSessionsStub()
    providers.file = { page in
      if case .file = page { return .init(body: ByteBuffer(string: "a =\"/b\""), mediaType: "text/css", etag: "\"c\"") }
      return .init(body: ByteBuffer(string: Self.html), mediaType: "text/html; charset=utf-8", etag: "\"p\"")
    }
    let access = AccessControl.permissive {
      ($0.proxies, $0.users, $0.tokens) = (proxies, users, tokens)
    }
    try await withServer(access: access, providers: providers) { server, port in
      for name in ["live", "a/b c"] { server.serve(LiveStream(name)) }
      try await body(port)
    }
  }

  private static func html(from root: String) -> String {
    Self.html.replacing("=\"/", with: "=\"\(root)")
  }

  private static func location(_ head: String) -> String? {
    head.split(separator: "\r\n").first { $0.hasPrefix("Location: ") }.map { String($0.dropFirst(10)) }
  }

  // MARK: - References

  @Test(arguments: [
    ("/", "./"), ("/live", "./"), ("/live/", "../"), ("/live/publish", "../"), ("/recordings/", "../"),
    ("/a/b%20c", "../"),
    ("/a/b%20c/publish", "../../"), ("/?a=/b/c", "./"), ("http://h/a/b", "../"), ("http://h", "./"),
  ])
  func `the root is as many folders above as the path has`(path: String, root: String) throws {
    var target = try HTTPTarget(parsing: path)
    #expect(target.root == root)
    #expect(target.reference(to: "/live/whep/0a") == root + "live/whep/0a")
    target.prefix = "/cam"
    #expect(target.root == "/cam/")
    #expect(target.reference(to: "/live/whep/0a") == "/cam/live/whep/0a")
  }

  @Test(arguments: [
    ("/cam", "/cam"), ("/cam/", "/cam"), ("/a/b-c_d.e~f", "/a/b-c_d.e~f"), ("/c%61m%20a", "/cam%20a"),
    ("/a@b", "/a%40b"),
    ("/\"><script>", "/%22%3E%3Cscript%3E"), ("/ä", "/%C3%A4"),
    ("/api/hassio_ingress/x_Y-9", "/api/hassio_ingress/x_Y-9"),
    ("/" + String(repeating: "a", count: 255), "/" + String(repeating: "a", count: 255)),
    ("/" + String(repeating: "a", count: 256), nil), ("", nil), ("/", nil), ("cam", nil), ("//cam", nil),
    ("/a//b", nil),
    ("/a//", nil), ("/..", nil), ("/a/../b", nil), ("/%2e%2e/a", nil), ("/./a", nil), ("/a%2fb", nil), ("/a\\b", nil),
    ("/\\evil.example", nil), ("/a\u{0}b", nil), ("/a%0d%0aX: y", nil), ("/a\r\nX: y", nil), ("/%", nil), ("/%ff", nil),
    ("/a?b", nil), ("/a#b", nil), ("/a, /b", nil), ("http://evil.example/a", nil), ("//evil.example/a", nil),
  ])
  func `a prefix is a path-absolute, and of a bounded length`(text: String, prefix: String?) {
    #expect(HTTPTarget.prefix(parsing: text) == prefix)
  }

  @Test func `the prefix is believed of known proxies, where it is one`() throws {
    var request = HTTPRequest(method: .get, scheme: "http", authority: "h", path: "/")
    let client = HTTPClient(address: "127.0.0.1", localAddress: "127.0.0.1")
    func prefix(_ fields: [(String, String)], _ proxies: [String] = ["127.0.0.1"]) throws -> String? {
      request.headerFields = [:]
      for (name, value) in fields {
        request.headerFields.append(HTTPField(name: try #require(HTTPField.Name(name)), value: value))
      }
      return client.forwardedPrefix(of: request, proxies: proxies)
    }
    for name in ["X-Forwarded-Prefix", "X-Ingress-Path"] {
      #expect(try prefix([(name, "/cam")]) == "/cam")
      #expect(try prefix([(name, "/cam")], []) == nil)
      #expect(try prefix([(name, "/cam")], ["10.0.0.1"]) == nil)
      #expect(try prefix([(name, "//cam")]) == nil)
      #expect(!client.isOnThisMachine(request), "a forwarded request counts as one of this machine")
    }
    #expect(try prefix([]) == nil)
    #expect(try prefix([("X-Forwarded-Prefix", "/cam"), ("X-Ingress-Path", "/cam/")]) == "/cam")
    #expect(try prefix([("X-Forwarded-Prefix", "/cam"), ("X-Forwarded-Prefix", "/b")]) == nil)
    #expect(try prefix([("X-Forwarded-Prefix", "/cam"), ("X-Ingress-Path", "x")]) == nil)
  }

  // MARK: - Responses

  @Test func `pages refer to the root from where they are, and other files are unchanged`() async throws {
    try await self.withPages { port in
      var tags: Set<String> = []
      for (path, root) in [
        ("/", "./"), ("/live", "./"), ("/a/b%20c", "../"), ("/live/publish", "../"), ("/recordings/", "../"),
        ("/recordings", "./"),
      ] {
        let page = try await RawClient.get(path, port: port, "X-Forwarded-Prefix: /evil")
        #expect(page.head.hasPrefix("HTTP/1.1 200") && page.body == Self.html(from: root), "\(path)")
        #expect(page.head.contains("\r\nETag: \"p-\(root)\"\r\n"))
        let again = try await RawClient.get(path, port: port, "If-None-Match: \"p-\(root)\"")
        #expect(again.head.hasPrefix("HTTP/1.1 304"))
        tags.insert(root)
      }
      #expect(tags.count == 2)
      let missing = try await RawClient.get("/none/at/all", port: port, "Accept: text/html")
      #expect(missing.head.hasPrefix("HTTP/1.1 404") && missing.body == Self.html(from: "../../"))
      let style = try await RawClient.get("/_page/a.css", port: port)
      #expect(style.body == "a =\"/b\"" && style.head.contains("ETag: \"c\""))
    }
  }

  @Test func `pages below the prefix of a known proxy refer to it`() async throws {
    try await self.withPages(proxies: ["127.0.0.1"]) { port in
      // A proxy may send the root without its slash: a relative reference would leave the path.
      let page = try await RawClient.get("/", port: port, "X-Forwarded-Prefix: /cam")
      #expect(page.body == Self.html(from: "/cam/") && page.head.contains("ETag: \"p-/cam/\""))
      let odd = try await RawClient.get("/live/publish", port: port, "X-Forwarded-Prefix: //evil.example")
      #expect(odd.body == Self.html(from: "../"))
    }
  }

  @Test func `redirections are relative, or below the prefix of a known proxy, and then not cached`() async throws {
    for (proxies, locations) in [
      ([], ["../live", "../live?a=b", "../../a/b%20c"]),
      (["127.0.0.1"], ["/cam/live", "/cam/live?a=b", "/cam/a/b%20c"]),
    ] {
      try await self.withPages(proxies: proxies) { port in
        for (path, location) in zip(["/live/", "/live/?a=b", "/a/b%20c/"], locations) {
          let moved = try await RawClient.get(path, port: port, "X-Forwarded-Prefix: /cam")
          #expect(moved.head.hasPrefix("HTTP/1.1 308") && Self.location(moved.head) == location)
          let isCached = moved.head.contains("max-age=60")
          #expect(isCached == (proxies.isEmpty && !path.contains("?")), "\(path)")
        }
      }
    }
  }

  @Test(arguments: [
    ("/live/whep", "../live/whep/0a", "/cam/live/whep/0a"), ("/whep", "./live/whep/0a", "/cam/live/whep/0a"),
    ("/a/b%20c/whip?takeover=1", "../../a/b%20c/whip/0a", "/cam/a/b%20c/whip/0a"),
  ])
  func `sessions are found from their endpoint`(path: String, relative: String, prefixed: String) async throws {
    for (proxies, location) in [([], relative), (["127.0.0.1"], prefixed)] {
      let token = try #require(AccessToken(parsing: "0123456789abcdef", role: .operator))
      try await self.withPages(proxies: proxies, tokens: [token]) { port in
        let opened = try await HTTPControlTests.send(
          "POST", "offer", to: path, type: "application/sdp", port: port, "X-Forwarded-Prefix: /cam",
          "Authorization: Bearer 0123456789abcdef")
        #expect(opened.head.hasPrefix("HTTP/1.1 201") && Self.location(opened.head) == location, "\(opened)")
      }
    }
  }

  @Test func `Digest proves the path at the proxy`() async throws {
    let users = [Credentials(user: "us", password: "pw")]
    for (prefix, proven, status) in [
      ("/cam", "/cam/api/streams", "200"), ("/cam/", "/cam/api/streams", "200"), ("/cam", "/api/streams", "401"),
      ("//cam", "/cam/api/streams", "401"),
    ] {
      try await self.withPages(proxies: ["127.0.0.1"], users: users) { port in
        let field = "X-Forwarded-Prefix: \(prefix)"
        let refused = try await RawClient.get("/api/streams", port: port, field)
        let challenge = refused.head.split(separator: "\r\n").first { $0.hasPrefix("WWW-Authenticate: Digest ") }
        var client = DigestClient(challenge: String(try #require(challenge)), user: "us", password: "pw")
        (client.usesProtection, client.namesAlgorithm) = (true, true)
        let proof = "Authorization: \(client.proof(of: "GET \(proven)"))"
        let response = try await RawClient.get("/api/streams", port: port, field, proof)
        #expect(response.head.hasPrefix("HTTP/1.1 \(status)"), "\(prefix) \(proven)")
      }
    }
  }

  // MARK: - Pages of the server itself, behind a proxy that forwards another Host

  @Test(
    arguments: [
      ([], [], "403"), ([], ["Sec-Fetch-Site: same-origin"], "201"), ([], ["Sec-Fetch-Site: same-site"], "403"),
      ([], ["Sec-Fetch-Site: cross-site"], "403"), ([], ["Sec-Fetch-Site: none"], "403"),
      ([], ["Sec-Fetch-Site: same-origin", "Sec-Fetch-Site: cross-site"], "403"),
      ([], ["X-Forwarded-Host: cam.lan:8443"], "403"), (["127.0.0.1"], ["X-Forwarded-Host: cam.lan:8443"], "201"),
      (["127.0.0.1"], ["X-Forwarded-Host: cam.lan"], "403"),
      (["127.0.0.1"], ["X-Forwarded-Host: other.lan:8443"], "403"),
      (["127.0.0.1"], ["X-Forwarded-Host: cam.lan:8443, cam.lan:8443"], "403"), (["127.0.0.1"], [], "403"),
      (["127.0.0.1"], ["X-Forwarded-Host: cam.lan:8443", "X-Forwarded-Host: cam.lan:8443"], "403"),
    ] as [([String], [String], String)])
  func `a request of its own page is one where the browser or a known proxy says so`(
    proxies: [String], fields: [String], status: String
  ) async throws {
    try await self.withPages(proxies: proxies) { port in
      let lines =
        [
          "POST /live/whep HTTP/1.1", "Host: 127.0.0.1:\(port)", "Connection: close", "Content-Type: application/sdp",
          "Content-Length: 1", "Origin: https://cam.lan:8443",
        ] + fields
      let text = try await RawClient.connect(port: port).exchange([lines.joined(separator: "\r\n") + "\r\n\r\nx"])
      #expect(text.hasPrefix("HTTP/1.1 \(status)"), "\(lines)")
    }
  }

  @Test func `a name that is none of this server's is not believed of a proxy either`() async throws {
    try await self.withPages(proxies: ["127.0.0.1"]) { port in
      let opened = try await HTTPControlTests.send(
        "POST", "x", to: "/live/whep", type: "application/sdp", port: port, "Origin: https://evil.example",
        "X-Forwarded-Host: evil.example")
      #expect(opened.head.hasPrefix("HTTP/1.1 403"))
      // A sandboxed document has no origin of its own.
      let opaque = try await HTTPControlTests.send(
        "POST", "x", to: "/live/whep", type: "application/sdp", port: port, "Origin: null",
        "Sec-Fetch-Site: same-origin")
      #expect(opaque.head.hasPrefix("HTTP/1.1 403"))
    }
  }
}
