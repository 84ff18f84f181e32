import CDiscovery
import Media
import Testing

@testable import Discovery

@Suite("Network addresses")
struct NetworkAddressesTests {
  private static func address(_ interface: String, _ index: UInt32, _ text: String) throws -> LocalAddress {
    try #require(LocalAddress(interface: interface, index: index, text: text))
  }

  /// A machine with Ethernet, wireless, container and IPv6 interfaces.
  private static func machine() throws -> [LocalAddress] {
    [
      try address("lo", 1, "127.0.0.1"), try address("docker0", 4, "172.17.0.1"),
      try address("eth0", 2, "192.168.2.67"),
      try address("wlan0", 3, "10.0.0.5"), try address("wlan0", 3, "169.254.8.9"), try address("lo", 1, "::1"),
      try address("eth0", 2, "fe80::1"), try address("eth0", 2, "fd00::2"), try address("eth0", 2, "2001:db8::2"),
      try address("eth0", 2, "2001:db8::3"), try address("wlan0", 3, "fe80::1"),
    ]
  }

  @Test(arguments: ["::", "0.0.0.0"])
  func `the unspecified address stands for the networks' IPv4 addresses, containers' last`(address: String) throws {

    let hosts = NetworkAddresses.hosts(listeningOn: address, of: try Self.machine())
    #expect(hosts == ["192.168.2.67", "10.0.0.5", "172.17.0.1"])
  }

  @Test func `without IPv4 the hosts are the widest IPv6 address of each interface`() throws {
    let addresses = try Self.machine().filter { !$0.isIPv4 } + [Self.address("wlan0", 3, "fd00::5")]
    #expect(NetworkAddresses.hosts(listeningOn: "::", of: addresses) == ["[2001:db8::2]", "[fd00::5]"])
    #expect(NetworkAddresses.hosts(listeningOn: "0.0.0.0", of: addresses) == ["127.0.0.1"])
  }

  @Test func `without a network the host is the loopback address`() throws {
    let addresses = [try Self.address("lo", 1, "127.0.0.1"), try Self.address("eth0", 2, "fe80::1")]
    #expect(NetworkAddresses.hosts(listeningOn: "::", of: addresses) == ["127.0.0.1"])
    #expect(NetworkAddresses.hosts(listeningOn: "::", of: []) == ["127.0.0.1"])
  }

  @Test(arguments: [
    ("127.0.0.1", "127.0.0.1"), ("::1", "[::1]"), ("fe80::1%eth0", "[fe80::1%25eth0]"), ("10.0.0.5", "10.0.0.5"),
  ])
  func `a specific address is its own host`(address: String, host: String) throws {

    #expect(NetworkAddresses.hosts(listeningOn: address, of: try Self.machine()) == [host])
  }

  @Test(
    arguments: [
      ("::", 0), ("0.0.0.0", 0), ("192.168.2.67", 2), ("10.0.0.5", 3), ("2001:DB8:0::2", 2), ("fe80::1%wlan0", 3),
      ("fe80::1%2", 2),
    ] as [(String, UInt32)])
  func `services are announced where the server listens`(address: String, index: UInt32) throws {

    #expect(
      try NetworkAddresses.announcementInterface(listeningOn: address, of: Self.machine()) == index)
  }

  @Test(arguments: ["127.0.0.1", "127.0.0.2", "::1"])
  func `a server on the loopback is announced on this machine only`(address: String) throws {

    let index = try NetworkAddresses.announcementInterface(listeningOn: address, of: Self.machine())
    #expect(index == vidicon_discovery_local_only(1))
  }

  @Test(arguments: ["192.168.2.68", "fe80::1%eth7", "nonsense", ""])
  func `an address that no interface has is refused`(address: String) throws {

    let machine = try Self.machine()
    let error = #expect(throws: VidiconError.self) {
      try NetworkAddresses.announcementInterface(listeningOn: address, of: machine)
    }
    #expect(error?.code == .notFound)
  }

  @Test func `this machine has a loopback address`() {
    #expect(LocalAddress.all().contains { $0.text == "127.0.0.1" && $0.scope == .loopback && $0.index > 0 })
  }

  @Test(
    arguments: [
      ("127.1.2.3", .loopback), ("169.254.0.1", .link), ("10.0.0.1", .network), ("::1", .loopback), ("febf::1", .link),
      ("fec0::1", .network), ("fc00::1", .uniqueLocal), ("fdff::1", .uniqueLocal), ("2001:db8::1", .network),
    ] as [(String, LocalAddress.Scope)])
  func `the scope follows from the address range`(text: String, scope: LocalAddress.Scope) throws {

    #expect(try Self.address("eth0", 2, text).scope == scope)
  }
}
