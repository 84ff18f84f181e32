import Testing

@testable import Authentication

@Suite("Host and Origin of HTTP requests")
struct HostPolicyTests {
  @Test(arguments: [
    "127.0.0.1", "192.168.2.67:8080", "[::1]", "[fe80::1]:8080", "[::ffff:1.2.3.4]:1", "localhost", "LOCALHOST:1",
    "localhost.", "cam", "my_cam:8080", "garden.local", "garden.local.:8080", "a.b.lan", "x.home.arpa", "x.internal",
    "cam.example.org", "Cam.Example.Org:443", "host.of.machine", "8.8.8.8",
  ])
  func `numeric addresses, private names and the given names are hosts of this server`(host: String) throws {
    let policy = HostPolicy(names: ["cam.example.org", "host.of.machine."])
    #expect(policy.allows(try #require(Authority(parsing: host))))
  }

  @Test(arguments: [
    "evil.example", "localhost.evil.example", "127.0.0.1.evil.example", "xlocal.com", "cam.example.org.evil.example",
    "evilcam.example.org", "local.example", "1.2.3", "1.2.3.4.5", "256.1.1.1", "1.2.3.4a", ".", "a..com",
  ])
  func `every other name is foreign`(host: String) throws {
    #expect(!HostPolicy(names: ["cam.example.org"]).allows(try #require(Authority(parsing: host))))
  }

  @Test(arguments: [
    "", ":80", "a:b", "a:99999", "a:1:2", "user@localhost", "local host", "[::1", "[1.2.3.4]", "[::1]x",
    "[fe80::1%eth0]",
    "a/b", "a?b", "a#b", "é.local", String(repeating: "a", count: 301),
  ])
  func `other text is not a host`(host: String) {
    #expect(Authority(parsing: host) == nil)
  }

  @Test(arguments: [
    ("http://cam:8080", "cam:8080", true), ("HTTP://Cam:8080", "cam:8080", true), ("https://cam.lan", "cam.lan", true),
    ("https://cam.lan", "cam.lan:443", true), ("http://cam.lan:80", "cam.lan", true), ("http://cam", "cam:8080", false),
    ("http://evil.example", "cam", false), ("null", "cam", false), ("", "cam", false), ("file://", "cam", false),
    ("http://cam:8081", "cam:8080", false), ("http://[::1]:8080", "[::1]:8080", true), ("http://u@cam", "cam", false),
    ("http://cam/", "cam", false), ("ws://cam", "cam", false),
  ])
  func `a page of this server has the host and port of the request`(
    origin: String, host: String, isSame: Bool
  ) throws {
    #expect(OriginPolicy.isSame(origin, as: try #require(Authority(parsing: host))) == isSame)
  }

  @Test func `only named sites may read media`() {
    let none = OriginPolicy()
    #expect(none.allowedOrigin(for: "https://site.example") == nil && !none.dependsOnOrigin)
    let named = OriginPolicy(origins: ["https://Site.example", "http://other:81"])
    #expect(named.dependsOnOrigin)
    #expect(named.allowedOrigin(for: "https://site.example") == "https://site.example")
    #expect(named.allowedOrigin(for: "https://site.example:443") == "https://site.example:443")
    for origin in ["http://site.example", "https://site.example.evil", "http://other", "null", nil] {
      #expect(named.allowedOrigin(for: origin) == nil)
    }
    #expect(OriginPolicy(origins: ["*"]).allowedOrigin(for: nil) == "*")
    #expect(OriginPolicy.isOrigin("*") && OriginPolicy.isOrigin("https://a") && !OriginPolicy.isOrigin("a"))
  }
}

@Suite("Numeric addresses, RFC 4291 §2.2")
struct IPAddressTests {
  @Test(arguments: [
    ("1.2.3.4", IPAddress.v4(0x0102_0304)), ("::ffff:1.2.3.4", .v4(0x0102_0304)), ("::1", .v6(0, 1)), ("::", .v6(0, 0)),
    ("2001:db8::8:800:200C:417A", .v6(0x2001_0db8_0000_0000, 0x0008_0800_200c_417a)),
    ("FF01::101", .v6(0xff01_0000_0000_0000, 0x101)), ("::13.1.68.3", .v6(0, 0x0d01_4403)),
    ("1:2:3:4:5:6:7:8", .v6(0x0001_0002_0003_0004, 0x0005_0006_0007_0008)), ("fe80::1%eth0", .v6(0xfe80 << 48, 1)),
  ])
  func `addresses are read in every form`(text: String, address: IPAddress) {
    #expect(IPAddress(parsing: text) == address)
  }

  @Test(arguments: [
    "", "1.2.3", "1.2.3.4.5", "256.1.1.1", "01.2.3.4444", "+1.2.3.4", ":", ":::", "1::2::3", "1:2:3:4:5:6:7", "12345::",
    "1:2:3:4:5:6:7:8:9", "g::", "1.2.3.4::", "1:2:3:4:5:6:7::8",
  ])
  func `other text is not an address`(text: String) {
    #expect(IPAddress(parsing: text) == nil)
  }

  @Test(arguments: [
    ("169.254.169.254", true), ("169.255.1.1", false), ("fe80::1", true), ("febf::1", true), ("fec0::1", false),
    ("fd00:ec2::254", true), ("::ffff:169.254.1.1", true), ("64:ff9b::a9fe:a9fe", true), ("64:ff9b:1::a9fe:a9fe", true),
    ("64:ff9b:1:7::a9fe:a9fe", true), ("64:ff9b:1::5db8:d822", false), ("2002:a9fe:a9fe::", true),
    ("::169.254.169.254", true), ("192.168.1.1", false), ("100.100.100.200", true), ("::1", false),
    ("0.0.0.0", true), ("0.1.2.3", true), ("::", true), ("::ffff:0.0.0.0", true), ("127.0.0.1", false),
    ("168.63.129.16", true), ("168.63.129.17", false), ("192.0.0.192", true), ("fd20:ce::254", true),
    ("fd00:42::42", true), ("fd00:42::43", false), ("2001:db8::1", false),
  ])
  func `link-local and metadata addresses are recognized in every notation`(text: String, isOne: Bool) throws {
    #expect(try #require(IPAddress(parsing: text)).isLinkLocalOrMetadata == isOne)
    // The form of a socket of IPv6.
    if case .v4(let address)? = IPAddress(parsing: text) {
      #expect(IPAddress.v6(0, 0xffff << 32 | UInt64(address)).isLinkLocalOrMetadata == isOne)
    }
  }
}
