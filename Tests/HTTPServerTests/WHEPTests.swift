import Authentication
import Connections
import NIOCore
import Streaming
import Synchronization
import Testing

@testable import HTTPServer

@Suite("WHEP, draft-ietf-wish-whep", .timeLimit(.minutes(2)))
struct WHEPTests {
  /// Sessions without WebRTC, which answer as tests want.
  private final class Service: WHEPService {
    struct State {
      var opened: [String] = []
      var changed: [String] = []
      var sessions: Set<String> = []
      var refusal: WHEPRefusal?
      var change = WHEPChange.candidates
    }

    let state = Mutex(State())

    func open(
      path: String, offer: ByteBuffer, client: IPAddress, localAddress: IPAddress?
    ) async throws(WHEPRefusal) -> WHEPSession {
      let refusal = self.state.withLock { state in
        state.opened.append("\(path) \(client) \(localAddress.map { "\($0)" } ?? "") \(String(buffer: offer))")
        state.sessions.insert("\(path) 0a")
        return state.refusal
      }
      if let refusal { throw refusal }
      return WHEPSession(id: "0a", entityTag: "\"tag\"", answer: ByteBuffer(string: "answer"))
    }

    func change(
      _ id: String, path: String, fragment: ByteBuffer, entityTags: String?
    ) async throws(WHEPRefusal) -> WHEPChange {
      let (refusal, change) = self.state.withLock { state in
        state.changed.append("\(path) \(id) \(entityTags ?? "-") \(String(buffer: fragment))")
        return (state.refusal, state.change)
      }
      if let refusal { throw refusal }
      return change
    }

    func close(_ id: String, path: String) async -> Bool {
      self.state.withLock { $0.sessions.remove("\(path) \(id)") != nil }
    }
  }

  private func withService(
    access: AccessControl = .permissive(), isOn: Bool = true, _ body: (Service, _ port: Int) async throws -> Void
  ) async throws {
    let service = Service()
    var providers = HTTPServerProviders()
    if isOn { providers.whep = service }
    try await withServer(access: access, providers: providers) { server, port in
      server.publish(LiveStream("a/b"))
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
      for field in ["Location: /a/b/whep/0a", "ETag: \"tag\"", "Content-Type: application/sdp"] {
        #expect(opened.head.contains("\r\n\(field)\r\n"), "\(field)")
      }
      #expect(service.state.withLock { $0.opened } == ["a/b 127.0.0.1 127.0.0.1 offer"])
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

  @Test(
    arguments: [
      (.notFound, "404", ""), (.nothingPublished, "409", "Retry-After: 2"), (.malformed("m"), "400", ""),
      (.nothingFits, "406", ""), (.tooManySessions, "503", "Retry-After: 5"), (.preconditionRequired, "428", ""),
      (.preconditionFailed, "412", ""),
    ] as [(WHEPRefusal, String, String)])
  func `a refusal has a status, and a line that says why`(
    refusal: WHEPRefusal, status: String, field: String
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
      #expect(off.head.hasPrefix("HTTP/1.1 404") && off.body.contains("--webrtc-port"))
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
      #expect(opened.head.contains("Location"))
    }
  }
}
