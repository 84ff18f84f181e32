import Crypto
import Foundation
import SwiftASN1
import Testing
@_spi(FixedExpiryValidationTime) import X509

@testable import HTTPServer

@Suite("Local certificate authority, RFC 5280")
struct LocalAuthorityTests {
  static let now = Date(timeIntervalSince1970: 1_800_000_000)
  static let day = 86_400.0
  static let names = CertificateNames(hostName: "Cam.Example.net", addresses: [[192, 168, 2, 67], [0xfd] + zeros(15)])

  static func zeros(_ count: Int) -> [UInt8] { [UInt8](repeating: 0, count: count) }

  static func authority(_ names: CertificateNames = names) throws -> LocalAuthority {
    try LocalAuthority(for: names, now: self.now)
  }

  /// The key of an authority, as a thief of its file has it.
  static func key(of authority: LocalAuthority) throws -> Certificate.PrivateKey {
    let documents = try PEMDocument.parseMultiple(pemString: try authority.pem)
    return try Certificate.PrivateKey(pemDocument: try #require(documents.first))
  }

  /// A certificate that the key of an authority signs for any name.
  static func forged(
    _ name: GeneralName, issuer: DistinguishedName, key: Certificate.PrivateKey,
    basicConstraints: BasicConstraints = .notCertificateAuthority, own: Certificate.PrivateKey? = nil
  ) throws -> Certificate {
    let own = own ?? Certificate.PrivateKey(P256.Signing.PrivateKey())
    return try Certificate(
      version: .v3, serialNumber: Certificate.SerialNumber(), publicKey: own.publicKey,
      notValidBefore: Self.now, notValidAfter: Self.now + 90 * Self.day, issuer: issuer,
      subject: DistinguishedName { CommonName("forged") }, signatureAlgorithm: .ecdsaWithSHA256,
      extensions: Certificate.Extensions {
        Critical(basicConstraints)
        SubjectAlternativeNames([name])
      }, issuerPrivateKey: key)
  }

  /// Whether a client that trusts the authority accepts a server's certificate for a host or an address.
  static func isAccepted(
    _ leaf: Certificate, host: String? = nil, address: String? = nil, of authority: LocalAuthority,
    intermediates: [Certificate] = [], at date: Date = now
  ) async -> Bool {
    var verifier = Verifier(rootCertificates: X509.CertificateStore([authority.certificate])) {
      RFC5280Policy(fixedExpiryValidationTime: date)
      ServerIdentityPolicy(serverHostname: host, serverIP: address)
    }
    let result = await verifier.validate(leaf: leaf, intermediates: X509.CertificateStore(intermediates))
    if case .validCertificate = result { return true }
    return false
  }

  @Test func `an authority signs certificates of servers only, within critical name constraints`() throws {
    let authority = try Self.authority().certificate
    let extensions = authority.extensions
    #expect(try extensions.basicConstraints == .isCertificateAuthority(maxPathLength: 0))
    #expect(try extensions.keyUsage == KeyUsage(keyCertSign: true))
    #expect(try extensions.extendedKeyUsage == ExtendedKeyUsage([.serverAuth]))
    let critical: [ASN1ObjectIdentifier] = [
      .X509ExtensionID.basicConstraints, .X509ExtensionID.keyUsage, .X509ExtensionID.nameConstraints,
    ]
    for identifier in critical { #expect(extensions[oid: identifier]?.critical == true, "\(identifier)") }
    let constraints = try #require(try extensions.nameConstraints)
    #expect(Array(constraints.permittedDNSDomains) == ["localhost", "local", "cam.example.net"])
    #expect(
      constraints.permittedIPRanges.map { Array($0.bytes) } == [
        [127, 0, 0, 0, 255, 0, 0, 0], [10, 0, 0, 0, 255, 0, 0, 0], [172, 16, 0, 0, 255, 240, 0, 0],
        [192, 168, 0, 0, 255, 255, 0, 0], [169, 254, 0, 0, 255, 255, 0, 0],
        Self.zeros(15) + [1] + [UInt8](repeating: 255, count: 16), [0xfc] + Self.zeros(15) + [0xfe] + Self.zeros(15),
        [0xfe, 0x80] + Self.zeros(14) + [0xff, 0xc0] + Self.zeros(14),
      ])
    #expect(authority.notValidAfter.timeIntervalSince(authority.notValidBefore) == 3650 * Self.day)
  }

  @Test func `an issued certificate is valid for all names of the machine, for 397 days`() async throws {
    let authority = try Self.authority()
    let leaf = try authority.issue(for: Self.names, now: Self.now).certificate
    #expect(leaf.notValidBefore == Self.now - Self.day)
    #expect(leaf.notValidAfter.timeIntervalSince(leaf.notValidBefore) == 397 * Self.day - 1)
    #expect(try leaf.extensions.basicConstraints == .notCertificateAuthority)
    #expect(try leaf.extensions.keyUsage == KeyUsage(digitalSignature: true))
    #expect(try leaf.extensions.extendedKeyUsage == ExtendedKeyUsage([.serverAuth]))
    #expect(
      try leaf.extensions.authorityKeyIdentifier?.keyIdentifier
        == authority.certificate.extensions.subjectKeyIdentifier?.keyIdentifier)
    for host in ["localhost", "cam.local", "cam.example.net"] {
      #expect(await Self.isAccepted(leaf, host: host, of: authority), "\(host)")
    }
    for address in ["127.0.0.1", "::1", "192.168.2.67", "fd00::"] {
      #expect(await Self.isAccepted(leaf, address: address, of: authority), "\(address)")
    }
    #expect(await !Self.isAccepted(leaf, host: "other.local", of: authority))
    let other = try Self.authority()
    #expect(await !Self.isAccepted(leaf, host: "cam.local", of: other))
    #expect(await !Self.isAccepted(leaf, host: "cam.local", of: authority, at: Self.now + 397 * Self.day))
  }

  @Test(arguments: ["a.local", "localhost", "cam.example.net", "www.cam.example.net"])
  func `the key of an authority is good for its own names`(host: String) async throws {
    let authority = try Self.authority()
    let leaf = try Self.forged(
      .dnsName(host), issuer: authority.certificate.subject, key: try Self.key(of: authority))
    #expect(await Self.isAccepted(leaf, host: host, of: authority))
  }

  @Test(arguments: [
    "example.com", "www.example.com", "example.net", "other.example.net", "xcam.example.net", "alocal",
    "local.example.com", "cam", "com",
  ])
  func `the key of an authority is good for no other name`(host: String) async throws {
    let authority = try Self.authority()
    let leaf = try Self.forged(
      .dnsName(host), issuer: authority.certificate.subject, key: try Self.key(of: authority))
    #expect(await !Self.isAccepted(leaf, host: host, of: authority))
  }

  @Test(
    arguments: [
      ("10.1.2.3", [10, 1, 2, 3], true), ("172.31.255.255", [172, 31, 255, 255], true),
      ("192.168.0.1", [192, 168, 0, 1], true), ("169.254.3.4", [169, 254, 3, 4], true),
      ("8.8.8.8", [8, 8, 8, 8], false), ("172.32.0.1", [172, 32, 0, 1], false),
      ("192.169.0.1", [192, 169, 0, 1], false),
      ("fdff::", [0xfd, 0xff] + zeros(14), true), ("fe80::", [0xfe, 0x80] + zeros(14), true),
      ("2001:db8::", [0x20, 0x01, 0x0d, 0xb8] + zeros(12), false), ("fec0::", [0xfe, 0xc0] + zeros(14), false),
      ("::2", zeros(15) + [2], false),
    ] as [(String, [UInt8], Bool)])
  func `the key of an authority is good for addresses of local networks only`(
    text: String, address: [UInt8], isPermitted: Bool
  ) async throws {
    let authority = try Self.authority()
    let leaf = try Self.forged(
      .ipAddress(ASN1OctetString(contentBytes: address[...])), issuer: authority.certificate.subject,
      key: try Self.key(of: authority))
    #expect(await Self.isAccepted(leaf, address: text, of: authority) == isPermitted)
  }

  @Test func `the key of an authority makes no further authority`() async throws {
    let authority = try Self.authority()
    let own = Certificate.PrivateKey(P256.Signing.PrivateKey())
    let intermediate = try Self.forged(
      .dnsName("a.local"), issuer: authority.certificate.subject, key: try Self.key(of: authority),
      basicConstraints: .isCertificateAuthority(maxPathLength: nil), own: own)
    let leaf = try Self.forged(.dnsName("b.local"), issuer: intermediate.subject, key: own)
    #expect(await !Self.isAccepted(leaf, host: "b.local", of: authority, intermediates: [intermediate]))
  }

  @Test func `what the constraints do not permit is left out of a certificate, which would not be valid at all`()
    async throws
  {
    let authority = try Self.authority()
    let moved = CertificateNames(hostName: "new.example.org", addresses: [[203, 0, 113, 7], [10, 0, 0, 9]])
    let leaf = try authority.issue(for: moved, now: Self.now).certificate
    let names = try #require(try leaf.extensions.subjectAlternativeNames)
    #expect(!names.contains(.dnsName("new.example.org")))
    #expect(!names.contains(.ipAddress(ASN1OctetString(contentBytes: [203, 0, 113, 7]))))
    #expect(await Self.isAccepted(leaf, host: "new.local", of: authority))
    #expect(await Self.isAccepted(leaf, address: "10.0.0.9", of: authority))
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
