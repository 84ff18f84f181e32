import Authentication
import Capture
import HTTPTypes
import StreamControl
import Synchronization
import Testing

@testable import ControlAPI
@testable import HTTPServer

extension HTTPControlTests {
  @Test func `this machine gets more details than other hosts, proxies and pages of other origins`() async throws {
    try await self.withControl { _, port in
      for host in ["127.0.0.1", "127.0.0.1:8080", "localhost", "LOCALHOST:1", "[::1]:8080", "192.168.1.5"] {
        try await Self.expectSource("all", host, port: port)
      }
      for host in ["evil.example", "localhost.evil", "1.2.3", "1.2.3.4.5", "256.1.1.1", "1.2.3.4a", "cam"] {
        try await Self.expectSource("hidden", host, port: port)
        let response = try await Self.send("GET", "", to: Self.source, host: host, port: port)
        #expect(Self.status(response) == (host == "cam" ? "200" : "421"), "\(host)")
      }
      for field in [
        "Via: 1.1 p", "Forwarded: for=10.0.0.1", "X-Forwarded-For: 10.0.0.1", "X-Real-IP: 10.0.0.1",
        "CF-Connecting-IP: 10.0.0.1", "True-Client-IP: 10.0.0.1", "X-Forwarded-Host: cam", "X-Forwarded-Proto: https",
        "X-Cluster-Client-IP: 10.0.0.1", "X-Forwarded: for=10.0.0.1",
      ] {
        try await Self.expectSource("hidden", "127.0.0.1", port: port, field)
      }
      try await Self.expectSource("all", "127.0.0.1:1", port: port, "Origin: http://127.0.0.1:1")
      try await Self.expectSource("hidden", "127.0.0.1:1", port: port, "Origin: http://127.0.0.1:2")
      try await Self.expectSource("hidden", "127.0.0.1:1", port: port, "Origin: null")
    }
  }

  @Test(arguments: [
    ("/health", "127.0.0.1:8080", "200"), ("http://127.0.0.1/health", "127.0.0.1", "200"),
    ("HTTP://LOCALHOST:80/health?x", "localhost", "200"), ("http://127.0.0.1?x", "127.0.0.1", "404"),
    ("http://evil.example/health", "127.0.0.1", "421"), ("http://evil.example:80", "127.0.0.1", "421"),
    ("http://127.0.0.1/health", "evil.example", "421"), ("http://127.0.0.1/health", "localhost", "421"),
    ("http://127.0.0.1:1/health", "127.0.0.1:2", "421"), ("http://ben@127.0.0.1/health", "127.0.0.1", "421"),
    ("evil:/health", "127.0.0.1", "400"), ("http:///health", "127.0.0.1", "400"), ("health", "127.0.0.1", "400"),
    ("ftp://127.0.0.1/health", "127.0.0.1", "400"), ("//evil.example/health", "127.0.0.1", "404"),
  ])
  func `the authority of an absolute target must be a name of this server, and that of Host`(
    target: String, host: String, status: String
  ) async throws {
    try await withServer { server, port in
      let request = "GET \(target) HTTP/1.1\r\nHost: \(host)\r\nConnection: close\r\n\r\n"
      let text = try await RawClient.connect(port: port).exchange([request])
      #expect(text.prefix(12).suffix(3) == status)
      #expect(server.responder.access.refusals[.badHost] == (status == "421" ? 1 : 0))
    }
  }

  @Test(
    arguments: [
      ("127.0.0.1", ["127.0.0.1"], 200), ("camera", ["CAMERA:443"], 200), (nil, ["localhost"], 200), (nil, [], 200),
      (nil, ["evil.example"], 421), ("127.0.0.1", ["evil.example"], 421), ("evil.example", ["127.0.0.1"], 421),
      ("127.0.0.1", ["127.0.0.1", "evil.example"], 421), ("127.0.0.1", ["localhost"], 421), ("", ["evil.example"], 421),
    ] as [(String?, [String], Int)])
  func `the field Host of HTTP/2 must be a name of this server, and the authority`(
    authority: String?, hosts: [String], status: Int
  ) async throws {
    try await withServer { server, _ in
      var request = HTTPRequest(method: .get, scheme: "https", authority: authority, path: "/health")
      for host in hosts { request.headerFields.append(HTTPField(name: HTTPField.Name("Host")!, value: host)) }
      let response = await server.responder.respond(
        to: request, client: HTTPClient(address: "192.0.2.1", isSecure: true), body: { _ in nil })
      #expect(response.status.code == status)
      #expect(server.responder.access.refusals[.badHost] == (status == 421 ? 1 : 0))
    }
  }

  @Test func `a rebound page without an authority is not a program of this machine`() async throws {
    try await withServer { server, _ in
      var request = HTTPRequest(method: .get, scheme: "https", authority: nil, path: "/api/session")
      request.headerFields[HTTPField.Name("Host")!] = "camera.local"
      let response = await server.responder.respond(
        to: request, client: HTTPClient(address: "127.0.0.1", isSecure: true), body: { _ in nil })
      #expect(response.text.contains(#""role":"viewer""#))
    }
  }

  @Test func `tokens in addresses that other sites make a browser request slow no login down`() async throws {
    let token = try #require(AccessToken(parsing: "0123456789abcdef", role: .operator))
    let access = AccessControl.permissive { ($0.tokens, $0.control) = ([token], .operators) }
    try await self.withControl(access: access) { _, port in
      func status(_ path: String, _ field: String = "X: x") async throws -> String {
        try await Self.status(RawClient.get(path, port: port, field))
      }
      let bearer = "Authorization: Bearer 0123456789abcdef"
      // The token of a request for media is not compared where everybody may watch.
      for path in ["/cam/1/snapshot.jpg?width=0&token=x", "/cam/1/mjpeg?fps=0&token=x", "/cam/1/none.ts?token=x"] {
        for _ in 0..<9 { _ = try await status(path) }
      }
      #expect(access.refusals[.failedLogin] == 0)
      for _ in 0..<9 { _ = try await status("/api/recordings?token=x", "Sec-Fetch-Site: cross-site") }
      #expect(access.refusals[.failedLogin] == 5 && access.refusals[.throttled] == 4)
      // Neither the owner's links nor the owner's page wait for it.
      #expect(try await status("/api/recordings?token=0123456789abcdef") == "200")
      for _ in 0..<9 { _ = try await status("/api/recordings?token=x") }
      #expect(try await status("/api/recordings", bearer) == "200")
    }
  }

  // MARK: - Sources

  @Test(
    arguments: [
      (.all, "127.0.0.1", true), (.all, "cam.lan", true), (.machine, "127.0.0.1", true), (.machine, "cam.lan", false),
      (.operators, "127.0.0.1", false), (.none, "127.0.0.1", false),
    ]
      as [(ControlPolicy, String, Bool)])
  func `control without a password can be limited`(control: ControlPolicy, host: String, isAllowed: Bool) async throws {
    try await self.withControl(access: .permissive { $0.control = control }) { fixture, port in
      for (method, path) in [("PUT", Self.source), ("PATCH", Self.stream), ("POST", "\(Self.stream)/recording")] {
        let response = try await Self.send(
          method, method == "PUT" ? #"{"video":"plasma"}"# : "{}", to: path, host: host, port: port)
        // There is no recorder.
        let refusal = control == .none ? "403" : "401"
        #expect(Self.status(response) == (!isAllowed ? refusal : method == "POST" ? "404" : "200"), "\(method)")
      }
      #expect(fixture.opened.count == (isAllowed ? 1 : 0))
      let entry = try await Self.send("GET", "", to: Self.stream, host: host, port: port)
      #expect(entry.body.contains(#""steerable":\#(isAllowed)"#))
      #expect(Self.status(entry) == "200")
    }
  }

  @Test func `an operator's token controls from any address, and is useless on other sites' pages`() async throws {
    let token = try #require(AccessToken(parsing: "0123456789abcdef", role: .operator))
    let access = AccessControl.permissive {
      $0.tokens = [token]
      $0.control = .operators
    }
    try await self.withControl(access: access) { fixture, port in
      func put(_ host: String, _ fields: String...) async throws -> String {
        let lines =
          [
            "PUT \(Self.source) HTTP/1.1", "Host: \(host)", "Connection: close", "Content-Type: application/json",
            "Content-Length: 13",
          ] + fields
        let request = lines.joined(separator: "\r\n") + "\r\n\r\n" + #"{"video":"x"}"#
        return String(try await RawClient.connect(port: port).exchange([request]).prefix(12).suffix(3))
      }
      let bearer = "Authorization: Bearer 0123456789abcdef"
      let refused = [
        try await put("127.0.0.1"), try await put("evil.example", bearer),
        try await put("cam", bearer, "Origin: http://evil.example"), try await put("cam", bearer, "Origin: null"),
      ]
      #expect(refused == ["401", "421", "403", "403"])
      #expect(fixture.opened.isEmpty)
      let status = try await put("cam", bearer, "Origin: http://cam")
      #expect(status == "200" && fixture.opened.count == 1)
      // A link changes nothing, but reads.
      let path = "\(Self.stream)?token=0123456789abcdef"
      #expect(try await Self.status(Self.send("PATCH", "{}", to: path, port: port)) == "401")
      #expect(try await RawClient.get(path, port: port).body.contains(#""role":"operator""#))
      #expect(try await RawClient.get(Self.stream, port: port).body.contains(#""role":"viewer""#))
      #expect(access.refusals[.badHost] == 1 && access.refusals[.badOrigin] == 2 && access.refusals[.forbidden] == 2)
    }
  }

  @Test func `a login on the page gives a token, and ends with it`() async throws {
    let access = AccessControl.permissive {
      $0.users = [Credentials(user: "ben", password: "secret", role: .operator)]
      ($0.control, $0.allowsInsecureBasic) = (.operators, true)
    }
    try await self.withControl(access: access) { _, port in
      func login(_ body: String) async throws -> (head: String, body: String) {
        try await Self.send("POST", body, to: "/api/session", host: "cam", port: port)
      }
      for (body, status) in [
        (#"{"name":"ben","password":"x"}"#, "403"), ("{}", "400"), ("x", "400"), (#"{"name":1}"#, "400"),
      ] {
        let response = try await login(body)
        #expect(Self.status(response) == status, "\(body)")
      }
      let response = try await login(#"{"name":"ben","password":"secret"}"#)
      #expect(response.body.contains(#""role":"operator","steerable":true,"token":""#))
      let token = response.body.split(separator: "\"").last { $0.utf8.count == 32 } ?? ""
      let bearer = "Authorization: Bearer \(token)"
      #expect(
        try await RawClient.get("/api/session", port: port, bearer).body
          == #"{"login":"password","role":"operator","steerable":true}"#)
      #expect(
        try await RawClient.get("/api/session", port: port, method: "DELETE", bearer).head.hasPrefix("HTTP/1.1 204"))
      #expect(
        try await RawClient.get("/api/session", port: port, bearer).body
          == #"{"login":"password","role":"viewer","steerable":false}"#)
    }
  }

  @Test func `with --cors a site reads media, and nothing else`() async throws {
    let access = AccessControl.permissive { $0.corsOrigins = ["https://site.example"] }
    try await self.withControl(access: access) { _, port in
      let origin = "Origin: https://site.example"
      for path in ["/cam/1/index.m3u8", "/cam/1/mjpeg", "/cam/1/snapshot.jpg"] {
        let preflight = try await RawClient.get(path, port: port, method: "OPTIONS", origin)
        #expect(preflight.head.contains("Access-Control-Allow-Origin: https://site.example"), "\(path)")
        for name in ["Authorization", "Content-Type", "If-Match"] { #expect(preflight.head.contains(name)) }
        for name in ["POST", "PATCH", "DELETE"] { #expect(preflight.head.contains(name)) }
      }
      let playlist = try await RawClient.get("/cam/1/none.ts", port: port, origin)
      #expect(playlist.head.contains("Access-Control-Allow-Origin: https://site.example"))
      for name in ["Location", "ETag", "Link", "Accept-Patch"] { #expect(playlist.head.contains(name)) }
      #expect(playlist.head.contains("Vary: Origin"))
      for path in ["/api/streams", Self.stream, "/", "/metrics", "/api/session"] {
        let response = try await RawClient.get(path, port: port, origin)
        #expect(response.head.hasPrefix("HTTP/1.1 403") && !response.head.contains("Access-Control"), "\(path)")
      }
      let other = try await RawClient.get("/cam/1/none.ts", port: port, "Origin: https://evil.example")
      #expect(other.head.hasPrefix("HTTP/1.1 403") && !other.head.contains("Access-Control"))
    }
  }

  @Test(arguments: [true, false])
  func `images may be shown on pages of other sites, unless that is turned off`(allowsEmbedding: Bool) async throws {
    try await self.withControl(access: .permissive { $0.allowsEmbedding = allowsEmbedding }) { _, port in
      for path in ["/cam/1/snapshot.jpg?width=0", "/cam/1/mjpeg?fps=0"] {
        let response = try await RawClient.get(path, port: port)
        let isLimited = response.head.contains("Cross-Origin-Resource-Policy: same-origin")
        #expect(isLimited == !allowsEmbedding)
        #expect(!response.head.contains("Access-Control"))
      }
      let playlist = try await RawClient.get("/cam/1/none.ts", port: port)
      #expect(playlist.head.contains("Cross-Origin-Resource-Policy: same-origin"))
      #expect(!playlist.head.contains("Access-Control"))
    }
  }

  @Test(arguments: [true, false])
  func `with --cors images of other pages are refused too when embedding is turned off`(allowsEmbedding: Bool)
    async throws
  {

    let access = AccessControl.permissive {
      $0.corsOrigins = ["https://example.org"]
      $0.allowsEmbedding = allowsEmbedding
    }
    try await self.withControl(access: access) { _, port in
      let image = try await RawClient.get("/cam/1/snapshot.jpg?width=0", port: port)
      #expect(image.head.contains("Cross-Origin-Resource-Policy: same-origin") == !allowsEmbedding)
      let segment = try await RawClient.get("/cam/1/none.ts", port: port)
      #expect(!segment.head.contains("Cross-Origin-Resource-Policy"))
    }
  }

  @Test func `the address behind a known proxy is the last one that it forwards`() async throws {
    var request = HTTPRequest(method: .get, scheme: "http", authority: "h", path: "/")
    let client = HTTPClient(address: "127.0.0.1")
    func address(_ proxies: [String]) -> String { client.effectiveAddress(of: request, proxies: proxies) }
    request.headerFields[.init("X-Forwarded-For")!] = "198.51.100.1, 198.51.100.2"
    #expect(address([]) == "127.0.0.1" && address(["10.0.0.1"]) == "127.0.0.1")
    #expect(address(["127.0.0.1"]) == "198.51.100.2")
    // A client behind a proxy that appends to one of the fields forges the other one.
    request.headerFields[.init("Forwarded")!] = "for=203.0.113.9"
    #expect(address(["127.0.0.1"]) == "127.0.0.1")
    request.headerFields[.init("Forwarded")!] = "for=203.0.113.9, for=198.51.100.2"
    #expect(address(["127.0.0.1"]) == "198.51.100.2")
    request.headerFields[.init("X-Forwarded-For")!] = "198.51.100.1, 198.51.100.3:4711"
    #expect(address(["127.0.0.1"]) == "127.0.0.1")
    request.headerFields[.init("Forwarded")!] = nil
    #expect(address(["127.0.0.1"]) == "198.51.100.3")
    request.headerFields[.init("X-Forwarded-For")!] = nil
    request.headerFields[.init("Forwarded")!] = #"for=10.1.1.1, for="[2001:db8::7]:4711";proto=http"#
    #expect(address(["127.0.0.1"]) == "2001:db8::7")
    request.headerFields[.init("Forwarded")!] = "for=unknown"
    #expect(address(["127.0.0.1"]) == "127.0.0.1")
    #expect(!client.isOnThisMachine(request))
  }

  @Test func `pages of other origins can neither change anything nor read device details`() async throws {
    try await self.withControl(catalog: SourceCatalog.none) { _, port in
      for (path, method) in [(Self.source, "PUT"), (Self.stream, "PATCH"), ("/api/devices", "GET")] {
        let preflight = try await RawClient.get(
          path, port: port, method: "OPTIONS", "Origin: http://evil", "Access-Control-Request-Method: \(method)")
        #expect(preflight.head.hasPrefix("HTTP/1.1 403") && !preflight.head.contains("Access-Control"))
      }
      for response in [
        try await RawClient.get(Self.source, port: port), try await RawClient.get("/api/devices", port: port),
        try await Self.send("PUT", #"{"video":"x"}"#, to: Self.source, port: port),
        try await Self.send("PATCH", "{}", to: Self.stream, port: port),
      ] {
        #expect(Self.status(response) == "200")
        #expect(!response.head.contains("Access-Control"))
        #expect(response.head.contains("Cross-Origin-Resource-Policy: same-origin"))
      }
    }
  }

  @Test func `with passwords viewers see, and operators change from anywhere`() async throws {
    let access = AccessControl.permissive {
      $0.users = [Credentials(user: "eve", password: "x"), Credentials(user: "us", password: "pw", role: .operator)]
      $0.control = .operators
      $0.allowsInsecureBasic = true
    }
    var catalog = SourceCatalog.none
    catalog.devices = {
      [CaptureDevice(kind: .screen, specification: "screen:", name: "Screen", stableName: "")]
    }
    try await self.withControl(access: access, catalog: catalog) { fixture, port in
      for (method, path) in [
        ("PUT", Self.source), ("PATCH", Self.stream), ("GET", Self.source), ("GET", "/api/devices"),
        ("GET", "\(Self.stream)/level"),
      ] {
        let response = try await Self.send(method, #"{"video":"x"}"#, to: path, port: port)
        #expect(Self.status(response) == "401", "\(method) \(path)")
      }
      #expect(fixture.opened.isEmpty)
      let login = "Authorization: Basic dXM6cHc="
      let response = try await Self.send(
        "PUT", #"{"video":"screen:"}"#, to: Self.source, host: "cam", port: port, login)
      #expect(Self.status(response) == "200")
      #expect(fixture.opened == [SourceNames(video: "screen:")])
      #expect(try await RawClient.get("/api/devices", port: port, login).body.contains(#""restricted":false"#))
    }
  }

  // MARK: - Devices
}
