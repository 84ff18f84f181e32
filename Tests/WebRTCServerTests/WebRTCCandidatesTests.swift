import Authentication
import Testing

@testable import WebRTCServer

@Suite("Candidates of an answer")
struct WebRTCCandidatesTests {
  struct Row: Sendable {
    var name: String
    var used: [String] = []
    var configured: [String] = []
    var interfaces: [String] = []
    var isIPv4Only = false
    var expected: [String]
  }

  private static let own = ["127.0.0.1", "::1", "2001:db8::5", "192.0.2.5", "fe80::5", "169.254.1.5", "10.0.0.5"]

  static let rows = [
    Row(
      name: "the address of HTTP first, then IPv4, then IPv6", used: ["10.0.0.5"], interfaces: own,
      expected: ["10.0.0.5", "192.0.2.5", "2001:db8::5"]),
    Row(
      name: "those of the owner before the machine's own", used: ["192.0.2.5"],
      configured: ["203.0.113.7", "2001:db8::7"],
      interfaces: own, expected: ["192.0.2.5", "203.0.113.7", "2001:db8::7", "10.0.0.5", "2001:db8::5"]),
    Row(
      name: "the loopback address only for a client that has used it", used: ["127.0.0.1"], interfaces: own,
      expected: ["127.0.0.1", "192.0.2.5", "10.0.0.5", "2001:db8::5"]),
    Row(
      name: "that of IPv6 as well", used: ["::1"], interfaces: own,
      expected: ["::1", "192.0.2.5", "10.0.0.5", "2001:db8::5"]),
    Row(
      name: "the address of the URL behind that of the connection: a container whose port is forwarded",
      used: ["172.17.0.2", "192.0.2.99"], interfaces: ["127.0.0.1", "172.17.0.2"],
      expected: ["172.17.0.2", "192.0.2.99"]
    ),
    Row(
      name: "each once", used: ["192.0.2.5", "192.0.2.5"], configured: ["10.0.0.5", "192.0.2.5"],
      interfaces: own + own, expected: ["192.0.2.5", "10.0.0.5", "2001:db8::5"]),
    Row(
      name: "no link-local address of IPv6, even one that was used", used: ["fe80::5"], interfaces: own,
      expected: ["192.0.2.5", "10.0.0.5", "2001:db8::5"]),
    Row(
      name: "one of IPv4 for a client on the same cable", used: ["169.254.1.5"], interfaces: own,
      expected: ["169.254.1.5", "192.0.2.5", "10.0.0.5", "2001:db8::5"]),
    Row(
      name: "no IPv6 where the port has none", used: ["2001:db8::5", "192.0.2.5"], configured: ["2001:db8::7"],
      interfaces: own, isIPv4Only: true, expected: ["192.0.2.5", "10.0.0.5"]),
    Row(
      name: "no address that means any", used: ["0.0.0.0", "::"], interfaces: own,
      expected: [
        "192.0.2.5", "10.0.0.5", "2001:db8::5",
      ]),
    Row(name: "without a network, clients of this machine", interfaces: ["127.0.0.1", "::1"], expected: ["127.0.0.1"]),
    Row(
      name: "a bounded number, the best ones", used: ["192.0.2.5"], configured: ["203.0.113.7"],
      interfaces: (10..<40).map { "10.0.0.\($0)" },
      expected: ["192.0.2.5", "203.0.113.7"] + (10..<24).map { "10.0.0.\($0)" }),
  ]

  @Test(arguments: rows)
  func `addresses are in the order in which clients reach them`(row: Row) throws {
    func parse(_ texts: [String]) throws -> [IPAddress] { try texts.map { try #require(IPAddress(parsing: $0)) } }
    let addresses = WebRTCCandidates.addresses(
      used: try parse(row.used), configured: try parse(row.configured), interfaces: try parse(row.interfaces),
      isIPv4Only: row.isIPv4Only)
    #expect(addresses == (try parse(row.expected)), "\(row.name)")
    #expect(addresses.count <= WebRTCCandidates.maximumCount)
  }
}
