import Testing

@testable import Discovery

@Suite("Names of this machine in /etc/hosts, hosts(5)")
struct HostsFileTests {
  private static let own: Set<[UInt8]> = [[192, 168, 2, 67], [0xFD] + [UInt8](repeating: 0, count: 14) + [9]]

  @Test(arguments: [
    ("127.0.0.1 localhost\n127.0.1.1\tCam.Example.org cam # own", ["cam", "cam.example.org"]),
    ("192.168.2.67 door.example.com door", ["cam", "door.example.com", "door"]),
    ("fd00::9 six.example.com\r\n", ["cam", "six.example.com"]),
    ("::1 cam loop.example.com", ["cam", "loop.example.com"]),
    // Other machines, lists that block sites, and what is no line.
    ("192.168.2.68 other.example.com", ["cam"]), ("0.0.0.0 ads.example.com\n127.0.0.1 ads.example.net", ["cam"]),
    ("#192.168.2.67 a.example.com\n\n192.168.2.67\nx y z\n192.168.2.67 # b.example.com", ["cam"]), ("", ["cam"]),
  ])
  func `names of own addresses are taken, and of loopback addresses with the host name`(text: String, names: [String]) {
    #expect(HostsFile.names(in: text, of: Self.own, hostName: "cam") == names)
  }

  @Test func `without a host name there are the names of own addresses`() {
    #expect(
      HostsFile.names(in: "127.0.0.1 localhost\n192.168.2.67 a.b.example", of: Self.own, hostName: "") == [
        "a.b.example"
      ])
    #expect(
      NetworkAddresses.hostNames.contains(NetworkAddresses.hostName.lowercased()) || NetworkAddresses.hostName.isEmpty)
  }
}
