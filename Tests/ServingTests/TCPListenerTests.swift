import Authentication
import Media
import NIOCore
import NIOPosix
import NIOSSL
import Serving
import Synchronization
import TestSupport
import Testing

@Suite("TCP ports of a server")
struct TCPListenerTests {
  private let registry = ConnectionRegistry(maximumCount: 2)

  private func listener(_ address: String?) -> TCPListener {
    TCPListener(
      group: .singleton, registry: self.registry, address: address,
      waterMark: ChannelOptions.Types.WriteBufferWaterMark(low: 1024, high: 4096), options: "--test-port",
      unprivilegedPort: 8000)
  }

  private func connect(to listener: any Channel) async throws -> any Channel {
    try await ClientBootstrap(group: MultiThreadedEventLoopGroup.singleton)
      .connect(to: try #require(listener.localAddress)).get()
  }

  @Test func `a connection is registered with its network while it is open`() async throws {
    let accepted = Mutex(0)
    let listener = try await self.listener("127.0.0.1").listen(on: 0) { _, _ in accepted.withLock { $0 += 1 } }
    let client = try await self.connect(to: listener)
    try await eventually { self.registry.count == 1 && accepted.withLock { $0 } == 1 }
    #expect(self.registry.count(of: IPAddress(parsing: "127.0.0.1")) == 1 && self.registry.count(of: nil) == 0)
    try await client.close()
    try await eventually { self.registry.count == 0 }
    try await listener.close()
  }

  @Test func `a connection whose handlers cannot be added is closed, and not counted any more`() async throws {
    struct Failure: Error {}
    let listener = try await self.listener("127.0.0.1").listen(on: 0) { _, _ in throw Failure() }
    let client = try await self.connect(to: listener)
    try await client.closeFuture.get()
    try await eventually { self.registry.count == 0 }
    try await listener.close()
  }

  @Test func `a connection beyond the limit displaces the oldest one without a request`() async throws {
    let listener = try await self.listener("127.0.0.1").listen(on: 0) { _, _ in }
    var clients: [any Channel] = []
    for number in 1...2 {
      clients.append(try await self.connect(to: listener))
      // Event loops register connections in an order of their own.
      try await eventually { self.registry.count == number }
    }
    let third = try await self.connect(to: listener)
    try await clients[0].closeFuture.get()
    #expect(self.registry.refusals[.overLimit] == 1)
    for client in [clients[1], third] { try await client.close() }
    try await listener.close()
  }

  @Test func `a port that is in use is an error with the option that chooses it`() async throws {
    let first = try await self.listener("127.0.0.1").listen(on: 0) { _, _ in }
    let port = try #require(first.localAddress?.port)
    let error = await #expect(throws: VidiconError.self) {
      _ = try await self.listener("127.0.0.1").listen(on: port) { _, _ in }
    }
    #expect(
      error?.code == .portInUse && error?.nextStep.contains("--test-port") == true, "\(String(describing: error))")
    try await first.close()
  }

  @Test func `a port that is in use is replaced by the first alternative that is free`() async throws {
    let opener = self.listener("127.0.0.1")
    let taken = try await opener.listen(on: 0) { _, _ in }
    let port = try #require(taken.localAddress?.port)
    let other = try await opener.listen(on: port, alternatives: [port, 0], tls: nil) { _, _, _ in }
    #expect(try #require(other.plain?.localAddress?.port) != port)
    let error = await #expect(throws: VidiconError.self) {
      _ = try await opener.listen(on: port, alternatives: [port], tls: nil) { _, _, _ in }
    }
    #expect(error?.code == .portInUse && error?.subject == "port \(port) of 127.0.0.1")
    await other.close()
    try await taken.close()
  }

  @Test func `plain TCP and TLS have a port each, or none when one cannot be opened`() async throws {
    let context = try NIOSSLContext(configuration: .makeClientConfiguration())
    let listener = self.listener("127.0.0.1")
    let both = try await listener.listen(on: 0, tls: (port: 0, context: context)) { _, _, _ in }
    let ports = [both.plain, both.secure].compactMap { $0?.localAddress?.port }
    #expect(Set(ports).count == 2)
    // Another test may get the port that has become free; hardly ten times.
    var isFreeAgain = false
    for _ in 0..<10 where !isFreeAgain {
      let free = try await listener.listen(on: 0, tls: nil) { _, _, _ in }
      let port = try #require(free.plain?.localAddress?.port)
      #expect(free.secure == nil)
      await free.close()
      await #expect(throws: VidiconError.self) {
        _ = try await listener.listen(on: port, tls: (port: ports[1], context: context)) { _, _, _ in }
      }
      guard let again = try? await listener.listen(on: port, tls: nil, configure: { _, _, _ in }) else { continue }
      isFreeAgain = true
      await again.close()
    }
    #expect(isFreeAgain)
    await both.close()
  }

  @Test(arguments: ["localhost", "127.0.0", "::1%", ""])
  func `a name or a malformed address is refused before a socket is opened`(address: String) async throws {
    let error = await #expect(throws: VidiconError.self) {
      _ = try await self.listener(address).listen(on: 0) { _, _ in }
    }
    #expect(error?.code == .invalidSpecification && error?.subject == "address")
  }

  @Test func `the address that the user has chosen is bound, else all of the machine`() throws {
    #expect(TCPListener.boundAddress("192.0.2.1") == "192.0.2.1")
    #expect(["::", "0.0.0.0"].contains(TCPListener.boundAddress(nil)))
  }

  @Test(arguments: [
    (["127.0.0.1", "::1"], "0.0.0.0"), (["127.0.0.1", "192.0.2.7", "::1"], "0.0.0.0"), ([], "0.0.0.0"),
    (["127.0.0.1", "::1", "fe80::1"], "::"), (["192.0.2.7", "2001:db8::7"], "::"),
  ])
  func `a machine with IPv6 on its loopback interface alone is one without`(addresses: [String], bound: String) throws {
    #expect(TCPListener.anyAddress(of: try addresses.map { try SocketAddress(ipAddress: $0, port: 0) }) == bound)
  }

  @Test(arguments: ["192.0.2.1", "255.255.255.255", "::", "::1", "2001:db8::12:3", "fe80::1", "::ffff:198.51.100.7"])
  func `the address of a socket is that of its text`(text: String) throws {
    #expect(try IPAddress(SocketAddress(ipAddress: text, port: 1)) == IPAddress(parsing: text))
  }

  @Test func `clients of one IPv4 address, or of one IPv6 network, count as one`() throws {
    func network(_ address: String) throws -> IPAddress? {
      IPAddress.network(of: try SocketAddress(ipAddress: address, port: 1))
    }
    #expect(try network("192.0.2.1") == network("192.0.2.1") && network("192.0.2.1") != network("192.0.2.2"))
    #expect(
      try network("2001:db8::1") == network("2001:db8::ffff") && network("2001:db8::1") != network("2001:db8:0:1::1"))
    #expect(IPAddress.network(of: try SocketAddress(unixDomainSocketPath: "/socket")) == nil)
    #expect(IPAddress.network(of: nil) == nil)
  }
}
