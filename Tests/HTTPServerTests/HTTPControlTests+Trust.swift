import Authentication
import Capture
import StreamControl
import Synchronization
import Testing

@testable import HTTPServer

extension HTTPControlTests {
  @Test func `this machine gets more details than other hosts, proxies and pages of other origins`() async throws {
    try await self.withControl { _, port in
      for host in ["127.0.0.1", "127.0.0.1:8080", "localhost", "LOCALHOST:1", "[::1]:8080", "192.168.1.5"] {
        try await Self.expectSource("all", host, port: port)
      }
      for host in ["evil.example", "localhost.evil", "1.2.3", "1.2.3.4.5", "256.1.1.1", "1.2.3.4a", "cam"] {
        try await Self.expectSource("hidden", host, port: port)
      }
      for field in ["Via: 1.1 p", "Forwarded: for=10.0.0.1", "X-Forwarded-For: 10.0.0.1", "X-Real-IP: 10.0.0.1"] {
        try await Self.expectSource("hidden", "127.0.0.1", port: port, field)
      }
      try await Self.expectSource("all", "127.0.0.1:1", port: port, "Origin: http://127.0.0.1:1")
      try await Self.expectSource("hidden", "127.0.0.1:1", port: port, "Origin: http://127.0.0.1:2")
      try await Self.expectSource("hidden", "127.0.0.1:1", port: port, "Origin: null")
    }
  }

  // MARK: - Sources

  @Test(
    arguments: [
      (.all, "127.0.0.1", true), (.local, "127.0.0.1", true), (.local, "a.b", false), (.none, "127.0.0.1", false),
    ]
      as [(HTTPServerSettings.Control, String, Bool)])
  func `the control setting limits which clients may change streams`(
    control: HTTPServerSettings.Control, host: String, isAllowed: Bool
  ) async throws {
    var settings = HTTPServerSettings(port: 0)
    settings.control = control
    try await self.withControl(settings) { fixture, port in
      for (method, path) in [("PUT", Self.source), ("PATCH", Self.stream), ("POST", "\(Self.stream)/recording")] {
        let answer = try await Self.send(
          method, method == "PUT" ? #"{"video":"x"}"# : "{}", to: path, host: host, port: port)
        // This stream has no recorder.
        #expect(Self.status(answer) == (!isAllowed ? "403" : method == "POST" ? "501" : "200"), "\(method)")
      }
      #expect(fixture.opened.count == (isAllowed ? 1 : 0))
      let entry = try await Self.send("GET", "", to: Self.stream, host: host, port: port)
      #expect(entry.body.contains(#""steerable":\#(isAllowed)"#))
      #expect(Self.status(entry) == "200")
    }
  }

  @Test func `behind a proxy no client is trusted by address`() async throws {
    var settings = HTTPServerSettings(port: 0)
    settings.trustsThisMachine = false
    try await self.withControl(settings) { _, port in
      try await Self.expectSource("hidden", "127.0.0.1", port: port)
    }
  }

  @Test func `pages of other origins can neither change anything nor read device details`() async throws {
    try await self.withControl(catalog: SourceCatalog.none) { _, port in
      for (path, method) in [(Self.source, "PUT"), (Self.stream, "PATCH"), ("/api/devices", "GET")] {
        let preflight = try await RawClient.get(
          path, port: port, method: "OPTIONS", "Origin: http://evil", "Access-Control-Request-Method: \(method)")
        // The state of a stream may be read by any origin.
        let allowed = path == Self.stream ? "Access-Control-Allow-Methods: GET, HEAD, OPTIONS\r\n" : ""
        #expect(preflight.head.contains("Access-Control") == !allowed.isEmpty)
        #expect(allowed.isEmpty || preflight.head.contains(allowed))
      }
      for answer in [
        try await RawClient.get(Self.source, port: port), try await RawClient.get("/api/devices", port: port),
        try await Self.send("PUT", #"{"video":"x"}"#, to: Self.source, port: port),
        try await Self.send("PATCH", "{}", to: Self.stream, port: port),
      ] {
        #expect(Self.status(answer) == "200")
        #expect(!answer.head.contains("Access-Control"))
        #expect(answer.head.contains("Cross-Origin-Resource-Policy: same-origin"))
      }
    }
  }

  @Test func `with a password only authenticated clients read and change sources, from any address`() async throws {
    var settings = HTTPServerSettings(port: 0)
    settings.credentials = [try #require(Credentials(parsing: "us:pw"))]
    var catalog = SourceCatalog.none
    catalog.devices = {
      [CaptureDevice(kind: .screen, specification: "screen:", name: "Screen", stableName: "")]
    }
    try await self.withControl(settings, catalog: catalog) { fixture, port in
      for (method, path) in [
        ("PUT", Self.source), ("PATCH", Self.stream), ("GET", Self.source), ("GET", "/api/devices"),
        ("GET", "\(Self.stream)/level"),
      ] {
        let answer = try await Self.send(method, #"{"video":"x"}"#, to: path, port: port)
        #expect(Self.status(answer) == "401", "\(method) \(path)")
      }
      #expect(fixture.opened.isEmpty)
      let login = "Authorization: Basic dXM6cHc="
      let answer = try await Self.send("PUT", #"{"video":"screen:"}"#, to: Self.source, host: "a.b", port: port, login)
      #expect(Self.status(answer) == "200")
      #expect(fixture.opened == [SourceNames(video: "screen:")])
      #expect(try await RawClient.get("/api/devices", port: port, login).body.contains(#""restricted":false"#))
    }
  }

  // MARK: - Devices
}
