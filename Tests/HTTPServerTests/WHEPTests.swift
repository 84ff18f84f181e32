import Authentication
import NIOCore
import Serving
import Streaming
import Synchronization
import TestSupport
import Testing

@testable import ControlAPI

@Suite("WHEP, draft-ietf-wish-whep", .timeLimit(.minutes(5)))
struct WHEPTests {
  private func withService(
    access: AccessControl = .permissive(), isOn: Bool = true, links: [String] = [],
    _ body: (WebRTCSessionsStub, _ port: Int) async throws -> Void
  ) async throws {
    let service = WebRTCSessionsStub(links: links)
    var providers = WebServerProviders()
    if isOn { providers.whep = service }
    try await withServer(access: access, providers: providers) { server, port in
      server.serve(LiveStream("a/b"))
      try await body(service, port)
    }
  }

  private func send(
    _ method: String, _ body: String, to path: String = "/a/b/whep", type: String = "application/sdp", port: Int,
    _ field: String = "X: y"
  ) async throws -> (head: String, body: String) {
    try await HTTPControlTests.send(method, body, to: path, type: type, port: port, field)
  }

  @Test func `a session is opened, changed and ended by its URL`() async throws {
    try await self.withService { service, port in
      let opened = try await self.send("POST", "offer", port: port)
      #expect(opened.head.hasPrefix("HTTP/1.1 201") && opened.body == "answer")
      for field in ["Location: ../../a/b/whep/0a", "ETag: \"tag\"", "Content-Type: application/sdp"] {
        #expect(opened.head.contains("\r\n\(field)\r\n"), "\(field)")
      }
      #expect(service.state.withLock { $0.opened } == ["a/b 127.0.0.1 127.0.0.1,127.0.0.1 offer"])
      let type = "application/trickle-ice-sdpfrag"
      let session = "/a/b/whep/0a"
      let trickled = try await self.send("PATCH", "one", to: session, type: type, port: port)
      #expect(trickled.head.hasPrefix("HTTP/1.1 204") && !trickled.head.contains("ETag"))
      service.state.withLock { $0.change = .restarted(fragment: ByteBuffer(string: "new"), entityTag: "\"next\"") }
      let restarted = try await self.send(
        "PATCH", "two", to: session, type: type, port: port, "If-Match: \"tag\"")
      #expect(restarted.head.hasPrefix("HTTP/1.1 200") && restarted.body == "new")
      #expect(restarted.head.contains("\r\nETag: \"next\"\r\n"))
      #expect(service.state.withLock { $0.changed } == ["a/b 0a - one", "a/b 0a \"tag\" two"])
      #expect(try await self.send("DELETE", "", to: session, port: port).head.hasPrefix("HTTP/1.1 200"))
      #expect(try await self.send("DELETE", "", to: session, port: port).head.hasPrefix("HTTP/1.1 404"))
    }
  }

  @Test(
    arguments: [
      ("192.0.2.9:8080", "127.0.0.1,192.0.2.9"), ("[2001:db8::9]", "127.0.0.1,2001:db8::9"), ("localhost", "127.0.0.1"),
    ])
  func `the numeric address of the URL is one at which the client reaches this machine`(
    host: String, expected: String
  ) async throws {
    try await self.withService { service, port in
      _ = try await HTTPControlTests.send(
        "POST", "offer", to: "/a/b/whep", type: "application/sdp", host: host, port: port)
      #expect(service.state.withLock { $0.opened } == ["a/b 127.0.0.1 \(expected) offer"])
    }
  }

  @Test func `OPTIONS and HEAD say what the URL is for`() async throws {
    try await self.withService { _, port in
      let options = try await RawClient.get("/a/b/whep", port: port, method: "OPTIONS")
      #expect(options.head.hasPrefix("HTTP/1.1 204") && options.head.contains("Accept-Post: application/sdp"))
      #expect(options.head.contains("Allow: GET, HEAD, POST, OPTIONS") && !options.head.contains("Link"))
      let head = try await RawClient.get("/a/b/whep", port: port, method: "HEAD")
      #expect(head.head.hasPrefix("HTTP/1.1 200") && head.head.contains("Content-Type: application/sdp"))
      let session = try await RawClient.get("/a/b/whep/0a", port: port)
      #expect(session.head.hasPrefix("HTTP/1.1 405") && session.head.contains("Allow: PATCH, DELETE, OPTIONS"))
    }
  }

  @Test func `clients that may watch are given STUN and TURN servers, a preflight is not`() async throws {
    let links = ["<stun:a.example>; rel=\"ice-server\"", "<turn:b.example>; rel=\"ice-server\"; username=\"u\""]
    let access = AccessControl.permissive {
      $0.users = [Credentials(user: "us", password: "pw")]
    }
    try await self.withService(access: access, links: links) { _, port in
      let field = "Authorization: Basic dXM6cHc="
      let opened = try await self.send("POST", "offer", port: port, field)
      let head = try await self.send("HEAD", "", port: port, field)
      for response in [opened, head] {
        for link in links { #expect(response.head.contains("\r\nLink: \(link)\r\n"), "\(response.head)") }
      }
      let preflight = try await RawClient.get("/a/b/whep", port: port, method: "OPTIONS")
      let refused = try await self.send("POST", "offer", port: port)
      #expect(!preflight.head.contains("turn:") && !refused.head.contains("turn:"))
      #expect(refused.head.hasPrefix("HTTP/1.1 401"))
    }
  }

  @Test(
    arguments: [
      (.notFound, "404", ""), (.noMedia, "409", "Retry-After: 2"), (.malformed("m"), "400", ""),
      (.nothingFits, "406", ""), (.receivesNothing, "406", ""), (.noDecoder("a profile"), "406", ""),
      (.tooManySessions, "503", "Retry-After: 5"),
      (.preconditionRequired, "428", ""),
      (.preconditionFailed, "412", ""),
    ] as [(WebRTCRefusal, String, String)])
  func `a refusal has a status, and a line that says why`(
    refusal: WebRTCRefusal, status: String, field: String
  ) async throws {
    try await self.withService { service, port in
      service.state.withLock { $0.refusal = refusal }
      for response in [
        try await self.send("POST", "offer", port: port),
        try await self.send(
          "PATCH", "x", to: "/a/b/whep/0a", type: "application/trickle-ice-sdpfrag", port: port),
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
      let long = try await self.send("POST", String(repeating: "x", count: 70_000), port: port)
      #expect(long.head.hasPrefix("HTTP/1.1 413"))
      #expect(service.state.withLock { $0.opened } == [])
      let missing = try await self.send("POST", "x", to: "/none/whep", port: port)
      #expect(missing.head.hasPrefix("HTTP/1.1 404"))
      #expect(service.state.withLock { $0.opened } == [])
    }
    try await self.withService(isOn: false) { _, port in
      let off = try await self.send("POST", "x", port: port)
      #expect(off.head.hasPrefix("HTTP/1.1 404") && off.body.contains("without --webrtc off"))
    }
  }

  @Test func `a session needs the password of a viewer, and no operator's`() async throws {
    let access = AccessControl.permissive {
      $0.users = [Credentials(user: "us", password: "pw")]
      $0.control = .operators
    }
    try await self.withService(access: access) { service, port in
      for (method, path) in [("POST", "/a/b/whep"), ("PATCH", "/a/b/whep/0a"), ("DELETE", "/a/b/whep/0a")] {
        let refused = try await self.send(method, "x", to: path, port: port)
        #expect(refused.head.hasPrefix("HTTP/1.1 401") && refused.head.contains("WWW-Authenticate: Basic"))
      }
      #expect(service.state.withLock { $0.opened } == [])
      let opened = try await self.send("POST", "x", port: port, "Authorization: Basic dXM6cHc=")
      #expect(opened.head.hasPrefix("HTTP/1.1 201") && !opened.head.contains("public"))
      let wrong = try await self.send("POST", "x", port: port, "Authorization: Basic dXM6cHg=")
      #expect(wrong.head.hasPrefix("HTTP/1.1 401"))
    }
  }

  @Test func `Digest opens, changes and ends a session, each by a proof of its own`() async throws {
    let access = AccessControl.permissive { $0.users = [Credentials(user: "us", password: "pw")] }
    let type = "application/trickle-ice-sdpfrag"
    try await self.withService(access: access) { service, port in
      for (method, path, status) in [
        ("POST", "/a/b/whep", "201"), ("PATCH", "/a/b/whep/0a", "204"), ("DELETE", "/a/b/whep/0a", "200"),
      ] {
        let bodyType = method == "PATCH" ? type : "application/sdp"
        let refused = try await self.send(method, "x", to: path, type: bodyType, port: port)
        let challenges = refused.head.split(separator: "\r\n").filter { $0.hasPrefix("WWW-Authenticate: Digest ") }
        #expect(refused.head.hasPrefix("HTTP/1.1 401") && challenges.count == 2)
        var client = DigestClient(challenge: String(try #require(challenges.first)), user: "us", password: "pw")
        (client.usesProtection, client.namesAlgorithm) = (true, true)
        // A proof for another method, such as one that was overheard.
        let foreign = client.proof(of: "GET \(path)")
        let wrong = try await self.send(method, "x", to: path, type: bodyType, port: port, "Authorization: \(foreign)")
        #expect(wrong.head.hasPrefix("HTTP/1.1 401"), "\(method)")
        let proof = client.proof(of: "\(method) \(path)")
        let accepted = try await self.send(method, "x", to: path, type: bodyType, port: port, "Authorization: \(proof)")
        #expect(accepted.head.hasPrefix("HTTP/1.1 \(status)"), "\(method) \(accepted.head)")
      }
      #expect(service.state.withLock { $0.opened.count == 1 && $0.changed.count == 1 && $0.sessions.isEmpty })
    }
  }

  @Test func `pages of other sites open sessions only with --cors`() async throws {
    try await self.withService { service, port in
      let refused = try await self.send("POST", "x", port: port, "Origin: https://other.example")
      #expect(refused.head.hasPrefix("HTTP/1.1 403") && service.state.withLock { $0.opened } == [])
    }
    let access = AccessControl.permissive { $0.corsOrigins = ["https://site.example"] }
    try await self.withService(access: access) { _, port in
      let opened = try await self.send("POST", "x", port: port, "Origin: https://site.example")
      #expect(opened.head.hasPrefix("HTTP/1.1 201"))
      #expect(opened.head.contains("Access-Control-Allow-Origin: https://site.example"))
      let line = opened.head.split(separator: "\r\n").first { $0.hasPrefix("Access-Control-Expose-Headers: ") }
      let exposed = try #require(line).dropFirst(31).split(separator: ", ")
      #expect(Set(["Location", "ETag", "Link"]).isSubset(of: Set(exposed.map(String.init))))
    }
  }
}
