import Cryptography
import Foundation
import Testing

@testable import HTTPServer

@Suite("Local certificate authority, RFC 5280", .timeLimit(.minutes(5)))
struct LocalAuthorityTests {
  static let now = Date(timeIntervalSince1970: 1_800_000_000)
  static let day = 86_400.0
  static let names = CertificateNames(hostName: "Cam.Example.net", addresses: [[192, 168, 2, 67], [0xfd] + zeros(15)])

  static func zeros(_ count: Int) -> [UInt8] { [UInt8](repeating: 0, count: count) }

  static func authority(_ names: CertificateNames = names) throws -> LocalAuthority {
    try LocalAuthority(for: names, now: self.now)
  }

  /// Whether a client that trusts the authority accepts a server's certificate for a host or an address.
  private static func isAccepted(
    _ leaf: Certificate, host: String? = nil, address: String? = nil, of authority: LocalAuthority, at date: Date = now
  ) async throws -> Bool {
    let name = host.map { "-verify_hostname \($0)" } ?? address.map { "-verify_ip \($0)" } ?? ""
    return try await OpenSSLCommand.accepts(
      leaf.pem, of: authority.certificate.pem, "\(name) -attime \(Int(date.timeIntervalSince1970))")
  }

  /// Whether a client that trusts the authority accepts a certificate that the authority's key has signed for a host or an address.
  private static func isForgeryAccepted(_ name: String) async throws -> Bool {
    let authority = try Self.authority()
    let forged = try await OpenSSLCommand.forged(name, by: authority.pem)
    let option = name.replacing("DNS:", with: "-verify_hostname ").replacing("IP:", with: "-verify_ip ")
    return try await OpenSSLCommand.accepts(forged, of: authority.certificate.pem, "\(option) -no_check_time")
  }

  /// The lines of a certificate's extensions as openssl prints them, in their order.
  private static func extensions(_ lines: [String]) throws -> [String] {
    let start = try #require(lines.firstIndex(of: "X509v3 extensions:"))
    return Array(lines[(start + 1)...].prefix { !$0.hasPrefix("Signature Algorithm") })
  }

  @Test func `an authority signs certificates of servers only, within critical name constraints`() async throws {
    let authority = try Self.authority()
    let lines = try await OpenSSLCommand.lines(of: authority.certificate.pem)
    for expected in [
      "Version: 3 (0x2)", "Issuer: CN=Vidicon authority of cam.example.net",
      "Subject: CN=Vidicon authority of cam.example.net", "Not Before: Jan 14 08:00:00 2027 GMT",
      "Not After : Jan 11 08:00:00 2037 GMT", "Signature Algorithm: ecdsa-with-SHA256", "ASN1 OID: prime256v1",
    ] {
      #expect(lines.contains(expected), "\(expected): \(lines)")
    }
    let extensions = try Self.extensions(lines)
    #expect(
      extensions.dropLast() == [
        "X509v3 Basic Constraints: critical", "CA:TRUE, pathlen:0", "X509v3 Key Usage: critical", "Certificate Sign",
        "X509v3 Name Constraints: critical", "Permitted:", "DNS:localhost", "DNS:local", "DNS:cam.example.net",
        "IP:127.0.0.0/255.0.0.0", "IP:10.0.0.0/255.0.0.0", "IP:172.16.0.0/255.240.0.0", "IP:192.168.0.0/255.255.0.0",
        "IP:169.254.0.0/255.255.0.0", "IP:0:0:0:0:0:0:0:1/FFFF:FFFF:FFFF:FFFF:FFFF:FFFF:FFFF:FFFF",
        "IP:FC00:0:0:0:0:0:0:0/FE00:0:0:0:0:0:0:0", "IP:FE80:0:0:0:0:0:0:0/FFC0:0:0:0:0:0:0:0",
        "X509v3 Extended Key Usage:", "TLS Web Server Authentication", "X509v3 Subject Key Identifier:",
      ])
    let issued = try authority.issue(for: Self.names, now: Self.now).certificate
    let issuedLines = try await OpenSSLCommand.lines(of: issued.pem)
    #expect(issuedLines.contains("Issuer: CN=Vidicon authority of cam.example.net"))
    #expect(issuedLines.contains("Subject: CN=Vidicon on cam.example.net"))
    let keyIdentifier = try #require(extensions.last)
    #expect(
      try Self.extensions(issuedLines).dropLast() == [
        "X509v3 Basic Constraints: critical", "CA:FALSE", "X509v3 Key Usage: critical", "Digital Signature",
        "X509v3 Extended Key Usage:", "TLS Web Server Authentication", "X509v3 Subject Alternative Name:",
        "DNS:localhost, DNS:cam.local, DNS:cam.example.net, IP Address:127.0.0.1, IP Address:0:0:0:0:0:0:0:1, "
          + "IP Address:192.168.2.67, IP Address:FD00:0:0:0:0:0:0:0",
        "X509v3 Authority Key Identifier:", keyIdentifier, "X509v3 Subject Key Identifier:",
      ])
  }

  @Test func `an issued certificate is valid for all names of the machine, for 397 days`() async throws {
    let authority = try Self.authority()
    let leaf = try authority.issue(for: Self.names, now: Self.now).certificate
    #expect(leaf.notValidBefore == Self.now - Self.day)
    #expect(leaf.notValidAfter.timeIntervalSince(leaf.notValidBefore) == 397 * Self.day - 1)
    for host in ["localhost", "cam.local", "cam.example.net"] {
      #expect(try await Self.isAccepted(leaf, host: host, of: authority), "\(host)")
    }
    for address in ["127.0.0.1", "::1", "192.168.2.67", "fd00::"] {
      #expect(try await Self.isAccepted(leaf, address: address, of: authority), "\(address)")
    }
    #expect(try await !Self.isAccepted(leaf, host: "other.local", of: authority))
    let other = try Self.authority()
    #expect(try await !Self.isAccepted(leaf, host: "cam.local", of: other))
    #expect(try await !Self.isAccepted(leaf, host: "cam.local", of: authority, at: Self.now + 397 * Self.day))
  }

  @Test(arguments: ["a.local", "localhost", "cam.example.net", "www.cam.example.net"])
  func `the key of an authority is good for its own names`(host: String) async throws {
    #expect(try await Self.isForgeryAccepted("DNS:\(host)"))
  }

  @Test(arguments: [
    "example.com", "www.example.com", "example.net", "other.example.net", "xcam.example.net", "alocal",
    "local.example.com", "cam", "com",
  ])
  func `the key of an authority is good for no other name`(host: String) async throws {
    #expect(try await !Self.isForgeryAccepted("DNS:\(host)"))
  }

  @Test(arguments: [
    ("10.1.2.3", true), ("172.31.255.255", true), ("192.168.0.1", true), ("169.254.3.4", true), ("8.8.8.8", false),
    ("172.32.0.1", false), ("192.169.0.1", false), ("fdff::", true), ("fe80::", true), ("2001:db8::", false),
    ("fec0::", false), ("::2", false),
  ])
  func `the key of an authority is good for addresses of local networks only`(
    address: String, isPermitted: Bool
  ) async throws {
    #expect(try await Self.isForgeryAccepted("IP:\(address)") == isPermitted)
  }

  @Test func `the key of an authority makes no further authority`() async throws {
    let authority = try Self.authority()
    let intermediate = try await OpenSSLCommand.forged("DNS:a.local", by: authority.pem, isAuthority: true)
    let leaf = try await OpenSSLCommand.forged("DNS:b.local", by: intermediate)
    let isAccepted = try await OpenSSLCommand.accepts(
      leaf, of: authority.certificate.pem, "-verify_hostname b.local -no_check_time", intermediate: intermediate)
    #expect(!isAccepted)
  }

  @Test func `what the constraints do not permit is left out of a certificate, which would not be valid at all`()
    async throws
  {
    let authority = try Self.authority()
    let moved = CertificateNames(hostName: "new.example.org", addresses: [[203, 0, 113, 7], [10, 0, 0, 9]])
    let leaf = try authority.issue(for: moved, now: Self.now).certificate
    let names = try #require(leaf.alternativeNames)
    #expect(!names.contains(.dns("new.example.org")) && !names.contains(.address([203, 0, 113, 7])))
    #expect(try await Self.isAccepted(leaf, host: "new.local", of: authority))
    #expect(try await Self.isAccepted(leaf, address: "10.0.0.9", of: authority))
  }

  @Test func `files of an earlier version are read, and written again as they were`() throws {
    let authority = try LocalAuthority(pem: EarlierCertificates.authority, now: Self.now)
    #expect(try authority.pem == EarlierCertificates.authority)
    #expect(ServerCertificate.fingerprint(of: authority.certificate.der) == EarlierCertificates.fingerprint)
    #expect(authority.constraints.domains == ["localhost", "local"])
    let issued = try #require(
      IssuedCertificate(certificate: EarlierCertificates.certificate, key: EarlierCertificates.key))
    #expect(try issued.certificate.pem == EarlierCertificates.certificate)
    #expect(try issued.key.pem == EarlierCertificates.key)
    let names = CertificateNames(hostName: "vm", addresses: [])
    #expect(issued.renewalReason(authority: authority, names: names, now: Self.now) == nil)
  }

  @Test(
    arguments: [
      ("cam", ["localhost", "cam.local"]), ("Cam.home.arpa", ["localhost", "cam.local", "cam.home.arpa"]),
      ("cam.local", ["localhost", "cam.local"]), ("", ["localhost"]), ("localhost", ["localhost"]),
      ("localhost.localdomain", ["localhost"]), ("a_b", ["localhost"]), ("*.local", ["localhost"]),
      ("caméra", ["localhost"]), ("a..b", ["localhost"]), ("-a", ["localhost"]),
      ("10.0.0.1", ["localhost", "10.local"]),
      (String(repeating: "a", count: 64), ["localhost"]),
    ] as [(String, [String])])
  func `names are those of DNS, and a host name alone only below local`(hostName: String, hosts: [String]) {
    #expect(CertificateNames(hostName: hostName, addresses: []).hosts == hosts)
  }

  @Test func `addresses are those that browsers can open, each once, of a limited number`() {
    let linkLocal: [UInt8] = [0xfe, 0x80] + Self.zeros(14)
    let names = CertificateNames(
      hostName: "a", addresses: [[127, 0, 0, 1], linkLocal, [10, 0, 0, 1], [10, 0, 0, 1], [169, 254, 1, 1]])
    #expect(names.addresses == [[127, 0, 0, 1], Self.zeros(15) + [1], [10, 0, 0, 1], [169, 254, 1, 1]])
    let many = (0..<500).map { [10, 0, UInt8($0 / 256), UInt8($0 % 256)] }
    #expect(CertificateNames(hostName: "a", addresses: many).addresses.count == CertificateNames.maximumAddressCount)
  }

  @Test func `a certificate is renewed for a new name or address, near its end, and for another authority`() throws {
    let authority = try Self.authority()
    let issued = try authority.issue(for: Self.names, now: Self.now)
    func reason(
      _ names: CertificateNames = Self.names, of other: LocalAuthority? = nil, after days: Double = 0
    ) -> IssuedCertificate.RenewalReason? {
      issued.renewalReason(authority: other ?? authority, names: names, now: Self.now + days * Self.day)
    }
    #expect(reason() == nil)
    #expect(reason(after: 365) == nil)
    #expect(reason(after: 367) == .validity)
    #expect(reason(after: -1) == nil)
    // Before the authority's own validity, no other certificate would be better.
    #expect(reason(after: -2) == nil)
    let early = try LocalAuthority(for: Self.names, now: Self.now - 30 * Self.day)
    let late = try early.issue(for: Self.names, now: Self.now)
    #expect(late.renewalReason(authority: early, names: Self.names, now: Self.now - Self.day) == nil)
    #expect(late.renewalReason(authority: early, names: Self.names, now: Self.now - 2 * Self.day) == .validity)
    let other = try Self.authority()
    #expect(reason(of: other) == .wrongIssuer)
    var names = Self.names
    names.addresses.append([10, 9, 8, 7])
    #expect(reason(names) == .names)
    // Addresses come back, and browsers have accepted the certificate.
    names.addresses = [[127, 0, 0, 1]]
    #expect(reason(names) == nil)
    names.hosts.append("second.local")
    #expect(reason(names) == .names)
    // Another certificate would not have it either.
    names = Self.names
    names.addresses.append([203, 0, 113, 7])
    names.hosts.append("www.example.org")
    #expect(reason(names) == nil)
  }

  @Test func `near the end of the authority a certificate ends with it, and is not renewed again and again`() throws {
    let authority = try Self.authority()
    let late = Self.now + 3640 * Self.day
    let issued = try authority.issue(for: Self.names, now: late)
    #expect(issued.certificate.notValidAfter == authority.certificate.notValidAfter)
    #expect(issued.renewalReason(authority: authority, names: Self.names, now: late) == nil)
    // The clock of a machine without a battery.
    let early = Self.now - 3000 * Self.day
    let first = try authority.issue(for: Self.names, now: early)
    #expect(first.renewalReason(authority: authority, names: Self.names, now: early) == nil)
  }
}
