import Authentication
import Media
import Synchronization
import Testing

@testable import Serving

@Suite("Networks of this machine's interfaces")
struct OwnNetworksTests {
  private static let start = MediaTime(nanoseconds: 1)

  private static func address(_ text: String) throws -> IPAddress { try #require(IPAddress(parsing: text)) }

  @Test(arguments: [
    ("fd77:1::2", true), ("fd77:1:0:0:ffff::1", true), ("fd77:1:0:1::2", false), ("2001:db8:1:7::9", true),
    ("2001:db8:2::9", false), ("192.0.2.1", false),
    // An address without a network shares its first 64 bits with strangers.
    ("2001:db8:3::77", true),
  ])
  func `an address is in a network whose prefix it has, of at most 64 bits`(text: String, isContained: Bool) throws {
    let networks = try [("fd77:1::1", 64), ("2001:db8:1::1", 48), ("2001:db8:3::1", 128)].map {
      OwnNetworks.Network(address: try Self.address($0), length: $1)
    }
    let own = OwnNetworks { networks }
    #expect(own.contain(try Self.address(text)) == isContained)
  }

  @Test func `networks are looked up again after ten seconds`() throws {
    let count = Mutex(0)
    let address = try Self.address("fd77::1")
    let own = OwnNetworks {
      count.withLock { $0 += 1 }
      return []
    }
    for milliseconds in [0, 9_999, 10_000, 12_000, 19_999, 20_000] {
      #expect(!own.contain(address, now: Self.start + .milliseconds(Int64(milliseconds))))
    }
    #expect(count.withLock { $0 } == 3)
  }

  @Test func `the loopback interface is among those of the system`() throws {
    // Every machine of the tests has IPv6 there, or none.
    let own = OwnNetworks()
    #expect(!own.contain(try Self.address("2001:db8::1")))
    #expect(!own.contain(try Self.address("192.0.2.1")))
  }

  @Test(arguments: [
    ("ffff:ffff:ffff:ffff::", 64), ("ffff:ffff:ffff::", 48), ("ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff", 128),
    ("ffff:ffff:ffff:fff0::", 60), ("", 64), ("::", 0),
  ])
  func `a mask is a number of bits`(mask: String, length: Int) {
    #expect(OwnNetworks.prefixLength(ofMask: mask) == length)
  }
}
