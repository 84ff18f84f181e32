import Authentication
import Synchronization
import Testing

@testable import Serving

@Suite("Connections of all servers")
struct ConnectionRegistryTests {
  private let closed = ClosedNames()

  private final class ClosedNames: Sendable {
    private let names = Mutex<[String]>([])

    var all: [String] { self.names.withLock { $0 } }

    func append(_ name: String) { self.names.withLock { $0.append(name) } }
  }

  private func register(
    _ name: String, from host: UInt32, in registry: ConnectionRegistry
  ) -> ConnectionRegistry.Registration? {
    registry.register(from: .v4(host)) { [closed] in closed.append(name) }
  }

  @Test func `a displaced connection is closed once, and leaves nothing when it ends`() throws {
    let registry = ConnectionRegistry(maximumCount: 2)
    let first = try #require(self.register("first", from: 1, in: registry))
    _ = self.register("second", from: 1, in: registry)
    let third = try #require(self.register("third", from: 2, in: registry))
    #expect(self.closed.all == ["first"])
    first.setUse(.session)
    first.remove()
    #expect(registry.count == 2)
    #expect(registry.refusals[.overLimit] == 1)
    third.remove()
    #expect(registry.count == 1)
    #expect(self.register("fourth", from: 2, in: registry) != nil)
    #expect(self.closed.all == ["first"])
  }

  @Test func `a connection that is refused is counted and not closed`() throws {
    let registry = ConnectionRegistry(maximumCount: 1)
    try #require(self.register("viewer", from: 1, in: registry)).setUse(.session)
    #expect(self.register("another", from: 1, in: registry) == nil)
    #expect(registry.refusals[.overLimit] == 1)
    #expect(self.closed.all == [])
  }

  @Test func `a failure to accept closes a connection, and the streams before it, which have no descriptor`() throws {
    let registry = ConnectionRegistry(maximumCount: 10)
    for name in ["stream", "another stream"] {
      _ = registry.register(from: .v4(1), isStream: true) { [closed] in closed.append(name) }
    }
    for name in ["first", "second"] { _ = self.register(name, from: 1, in: registry) }
    registry.handleAcceptFailure()
    #expect(self.closed.all == ["stream", "another stream", "first"])
    #expect(registry.count == 1)
  }

  @Test func `a failure to accept closes what is not in use and is counted`() throws {
    let registry = ConnectionRegistry(maximumCount: 10)
    try #require(self.register("viewer", from: 1, in: registry)).setUse(.session)
    _ = self.register("stranger", from: 1, in: registry)
    registry.handleAcceptFailure()
    registry.handleAcceptFailure()
    #expect(self.closed.all == ["stranger"])
    #expect(registry.acceptFailures == 2)
    #expect(registry.refusals[.overLimit] == 1)
    #expect(registry.count == 1)
  }

  @Test func `the peak count is the maximum since it was last taken`() throws {
    let registry = ConnectionRegistry(maximumCount: 10)
    let registrations = (0..<3).map { self.register("\($0)", from: 1, in: registry) }
    for registration in registrations.dropFirst() { registration?.remove() }
    #expect(registry.takePeakCount() == 3)
    #expect(registry.takePeakCount() == 1)
    _ = self.register("last", from: 1, in: registry)
    #expect(registry.takePeakCount() == 2)
  }

  @Test(arguments: [
    (1_048_576, 10_000), (10_128, 10_000), (4096, 3968), (1024, 896), (256, 128), (255, 128), (64, 32), (1, 1), (0, 1),
  ])
  func `the limit of open files leaves a reserve for everything else`(openFiles: Int, connections: Int) {
    #expect(OpenFileLimit.maximumConnections(openFiles: openFiles) == connections)
  }
}
