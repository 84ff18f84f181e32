import Authentication
import Serving
import StreamControl
import Streaming
import Synchronization
import Testing

@testable import ControlAPI

extension HTTPControlTests {
  private final class Events: Sendable {
    private let events = Mutex<[ServerEvent]>([])
    var all: [ServerEvent] { self.events.withLock { $0 } }
    func append(_ event: ServerEvent) { self.events.withLock { $0.append(event) } }
  }

  @Test func `a change by a client that may is an event with its role, its address and the status, without the query`()
    async throws
  {
    let (events, fixture) = (Events(), try await Fixture())
    var providers = WebServerProviders()
    providers.controls = { StreamControls(sources: $0 === fixture.stream ? fixture.sources : nil) }
    let access = AccessControl.permissive { $0.control = .operators }
    let bearer = "Authorization: Bearer \(access.makeToken(role: .operator).text)"
    let registry = ConnectionRegistry(log: { events.append($0) })
    try await withServer(access: access, providers: providers, registry: registry) { server, port in
      for stream in [fixture.stream, LiveStream("other")] { server.serve(stream) }
      // Neither reading nor a change that is refused.
      let read = try await Self.send("GET", "", to: Self.stream, port: port, bearer)
      #expect(Self.status(read) == "200")
      let refused = try await Self.send("PATCH", "{}", to: Self.stream, port: port)
      #expect(Self.status(refused) == "401")
      #expect(events.all == [])
      // Neither is a path that does not exist.
      _ = try await Self.send("PATCH", "{}", to: "/api/streams/unknown", port: port, bearer)
      #expect(events.all == [])
      let changes = [("\(Self.stream)?a=b", "{}", 200), (Self.stream, "{", 400), ("/api/streams/other", "{}", 404)]
      for (path, body, status) in changes {
        let response = try await Self.send("PATCH", body, to: path, port: port, bearer)
        #expect(Self.status(response) == "\(status)")
      }
    }
    func change(_ stream: String, _ status: Int) -> ServerEvent {
      .controlled(
        method: "PATCH", path: "/api/streams/{name}", stream: stream, role: .operator, address: "127.0.0.1",
        status: status)
    }
    #expect(events.all == [change("cam/1", 200), change("cam/1", 400), change("other", 404)])
  }
}
