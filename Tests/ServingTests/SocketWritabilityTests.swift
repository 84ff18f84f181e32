import Libc
import NIOCore
import NIOPosix
import Synchronization
import Testing

@testable import Serving

@Suite("Sockets that have room again")
struct SocketWritabilityTests {
  /// Two datagram sockets, connected to each other: what one sends fills its send buffer until the other one reads.
  private final class Pair {
    let sender: Int32
    let receiver: Int32

    init() throws {
      var sockets: [Int32] = [-1, -1]
      #if canImport(Darwin)
      let kind = SOCK_DGRAM
      #else
      let kind = Int32(SOCK_DGRAM.rawValue)
      #endif
      try #require(socketpair(AF_UNIX, kind, 0, &sockets) == 0)
      (self.sender, self.receiver) = (sockets[0], sockets[1])
      for socket in sockets { try #require(fcntl(socket, F_SETFL, O_NONBLOCK) == 0) }
    }

    deinit {
      SocketWritability.shared.forget(self.sender)
      close(self.sender)
      close(self.receiver)
    }

    func fill() throws {
      var count = 0
      while send(self.sender, "frame", 5, 0) == 5, count < 100_000 { count += 1 }
      try #require(count > 0 && count < 100_000 && errno == EAGAIN)
    }

    func readAll() {
      var (byte, count) = (UInt8(0), 0)
      while recv(self.receiver, &byte, 1, 0) == 1, count < 100_000 { count += 1 }
    }
  }

  /// Calls that were made, in their order.
  private final class Calls: Sendable {
    private let names = Mutex<[String]>([])
    var all: [String] { self.names.withLock { $0 } }
    func append(_ name: String) { self.names.withLock { $0.append(name) } }
  }

  private let eventLoop = MultiThreadedEventLoopGroup.singleton.next()
  private let calls = Calls()

  private func request(_ name: String, of pair: Pair) {
    SocketWritability.shared.whenWritable(pair.sender, on: self.eventLoop) { [calls] in calls.append(name) }
  }

  /// Waits until a socket that has room is reported, after all those before it.
  private func waitForOther() async throws {
    let (pair, promise) = (try Pair(), self.eventLoop.makePromise(of: Void.self))
    defer { withExtendedLifetime(pair) {} }
    SocketWritability.shared.whenWritable(pair.sender, on: self.eventLoop) { promise.succeed() }
    try await promise.futureResult.get()
  }

  @Test func `a socket is reported when it has room, once for each request`() async throws {
    let pair = try Pair()
    defer { withExtendedLifetime(pair) {} }
    try pair.fill()
    self.request("first", of: pair)
    self.request("second", of: pair)
    try await self.waitForOther()
    #expect(self.calls.all == [])
    pair.readAll()
    try await self.waitForOther()
    #expect(self.calls.all == ["first", "second"])
    try pair.fill()
    pair.readAll()
    try await self.waitForOther()
    #expect(self.calls.all == ["first", "second"])
    try pair.fill()
    self.request("third", of: pair)
    pair.readAll()
    try await self.waitForOther()
    #expect(self.calls.all == ["first", "second", "third"])
  }

  @Test func `a socket that is forgotten is not reported, and may be asked for again`() async throws {
    let pair = try Pair()
    defer { withExtendedLifetime(pair) {} }
    try pair.fill()
    self.request("forgotten", of: pair)
    SocketWritability.shared.forget(pair.sender)
    pair.readAll()
    try await self.waitForOther()
    self.request("again", of: pair)
    try await self.waitForOther()
    #expect(self.calls.all == ["again"])
  }

  @Test func `a socket that cannot be waited for is tried after a delay`() async throws {
    let promise = self.eventLoop.makePromise(of: Void.self)
    SocketWritability.shared.whenWritable(-1, on: self.eventLoop) { promise.succeed() }
    try await promise.futureResult.get()
  }
}
