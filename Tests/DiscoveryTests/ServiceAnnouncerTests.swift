import Media
import Synchronization
import Testing
import Threading

@testable import Discovery

@Suite("Announcement of services", .timeLimit(.minutes(5)))
struct ServiceAnnouncerTests {
  /// An address for documentation, RFC 5737: no interface has it.
  private static let nowhere = "192.0.2.1"

  /// Events in order, and a wait for the next.
  private final class Events: Sendable {
    private let events = Monitor<[DiscoveryEvent]>([])

    var all: [DiscoveryEvent] { self.events.withLock { $0 } }

    func append(_ event: DiscoveryEvent) { self.events.withLock { $0.append(event) } }

    func first() -> DiscoveryEvent? {
      self.events.wait(until: StreamClock.system.now() + .seconds(300)) { $0.first }
    }
  }

  private static func service(_ name: String, port: UInt16 = 8080) throws -> Service {
    try Service(stream: name, path: "/\(name)", kind: .http, port: port, host: "myhost")
  }

  @Test func `an outage is reported once for all services, with a cause and a next step`() async throws {
    let events = Events()
    let announcer = ServiceAnnouncer(listeningOn: Self.nowhere) { events.append($0) }
    for name in ["a", "b", "c", "a"] { announcer.announce(try Self.service(name)) }
    guard case .unavailable(let error)? = events.first() else {
      Issue.record("\(events.all)")
      return
    }
    #expect(error.code == .notFound && error.cause.contains("no interface has the address 192.0.2.1"))
    #expect(!error.nextStep.isEmpty)
    await announcer.stop()
    #expect(events.all.count == 1)
  }

  @Test func `after the end nothing is announced or reported`() async throws {
    let events = Events()
    let announcer = ServiceAnnouncer(listeningOn: Self.nowhere) { events.append($0) }
    await announcer.stop()
    announcer.announce(try Self.service("a"))
    announcer.withdraw(try Self.service("a"))
    // The second stop runs after the calls above.
    await announcer.stop()
    #expect(events.all == [])
  }

  @Test func `services that were withdrawn, or never announced, are no obstacle`() async throws {
    let events = Events()
    let announcer = ServiceAnnouncer(listeningOn: Self.nowhere) { events.append($0) }
    announcer.withdraw(try Self.service("b"))
    announcer.announce(try Self.service("a"))
    announcer.withdraw(try Self.service("a"))
    announcer.withdraw(try Self.service("a"))
    // The end of the announcer is waited for a second only, which a busy machine may need for the calls before it.
    #expect(events.first() != nil)
    await announcer.stop()
    #expect(events.all.count == 1)
  }

  @Test(arguments: [
    ("docker0", true), ("br-1a2b", true), ("veth9", true), ("virbr0", true), ("tun0", true), ("bridge100", true),
    ("utun3", true), ("eth0", false), ("enp3s0", false), ("wlan0", false), ("en0", false), ("br0", false),
  ])
  func `interfaces of containers, machines and tunnels are known by their names`(name: String, isInward: Bool) throws {
    let address = try #require(LocalAddress(interface: name, index: 1, text: "10.0.0.1"))
    #expect(address.isInward == isInward)
  }

  @Test(
    arguments: [
      ("192.168.2.67", [192, 168, 2, 67]), ("::1", [UInt8](repeating: 0, count: 15) + [1]),
      ("2001:db8::ff00:42", [0x20, 0x01, 0x0D, 0xB8, 0, 0, 0, 0, 0, 0, 0, 0, 0xFF, 0x00, 0x00, 0x42]), ("", nil),
      ("192.168.2", nil), ("192.168.2.256", nil), ("localhost", nil), ("fe80::1%eth0", nil), ("[::1]", nil),
      ("1.2.3.4 ", nil),
    ] as [(String, [UInt8]?)])
  func `an address is numeric, in network byte order`(text: String, bytes: [UInt8]?) {
    #expect(LocalAddress.bytes(of: text) == bytes)
    #expect((LocalAddress(interface: "eth0", index: 1, text: text) == nil) == (bytes == nil))
  }

  @Test func `the name of this machine is one label, and its multicast name ends with local`() {
    let name = NetworkAddresses.machineName
    #expect(!name.contains(".") && !name.contains("\0"))
    #expect(
      NetworkAddresses.localHostName == (name.isEmpty || name.lowercased() == "localhost" ? nil : name + ".local"))
  }
}
