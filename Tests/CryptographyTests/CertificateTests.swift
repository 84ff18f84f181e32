import Cryptography
import Testing

@Suite("Certificates and keys, RFC 5280 and RFC 7468")
struct CertificateTests {
  private static let network: GeneralName = .address([10, 0, 0, 0, 255, 0, 0, 0])
  private static let subject = Certificate.Subject(
    commonName: "Müller", notBefore: 1_800_000_000, notAfter: 2_600_000_000)

  /// An authority, and a server with a certificate of it.
  private struct Pair {
    let key: PrivateKey
    let serverKey: PrivateKey
    let authority: Certificate
    let server: Certificate

    init() throws {
      self.key = try PrivateKey()
      self.serverKey = try PrivateKey()
      self.authority = try Certificate.authority(
        CertificateTests.subject, permitting: [.dns("local"), CertificateTests.network], key: self.key)
      self.server = try Certificate.server(
        CertificateTests.subject, names: [.dns("a.local"), .address([10, 1, 2, 3])], key: self.serverKey,
        issuer: self.authority, issuerKey: self.key)
    }
  }

  @Test func `a certificate that was made has the names, the dates and the key that it was made with`() throws {
    let pair = try Pair()
    // One date has two digits for its year, the other four, §4.1.2.5.
    for certificate in [pair.authority, pair.server] {
      #expect(certificate.notBefore == 1_800_000_000 && certificate.notAfter == 2_600_000_000)
    }
    #expect(pair.authority.permittedNames == [.dns("local"), Self.network] && pair.authority.alternativeNames == nil)
    #expect(pair.authority.issuesEndEntities && !pair.server.issuesEndEntities)
    #expect(pair.server.alternativeNames == [.dns("a.local"), .address([10, 1, 2, 3])])
    #expect(pair.server.permittedNames == nil)
    #expect(pair.authority.belongs(to: pair.key) && !pair.authority.belongs(to: pair.serverKey))
    #expect(pair.server.belongs(to: pair.serverKey) && !pair.server.belongs(to: pair.key))
    #expect(pair.authority.isSigned(by: pair.authority) && pair.server.isSigned(by: pair.authority))
    #expect(!pair.server.isSigned(by: pair.server) && !pair.authority.isSigned(by: pair.server))
  }

  @Test func `keys, serial numbers and so certificates are never the same`() throws {
    let key = try PrivateKey()
    let made = try (0..<8).map { _ in try Certificate.authority(Self.subject, permitting: [.dns("local")], key: key) }
    #expect(Set(made).count == 8)
    let (pem, other) = (try key.pem, try PrivateKey().pem)
    #expect(try key.pem == pem)
    #expect(pem != other)
  }

  @Test func `a text of PEM is read when it has what is asked for, and no other document`() throws {
    let pair = try Pair()
    let (key, certificate) = (try pair.key.pem, try pair.authority.pem)
    #expect(key.hasPrefix("-----BEGIN PRIVATE KEY-----\n") && key.hasSuffix("\n-----END PRIVATE KEY-----\n"))
    #expect(certificate.hasPrefix("-----BEGIN CERTIFICATE-----\n"))
    #expect(certificate.hasSuffix("\n-----END CERTIFICATE-----\n"))
    #expect(try PEM.key(in: key)?.pem == key)
    #expect(PEM.certificate(in: certificate) == pair.authority)
    for text in [key + certificate, certificate + key, "A key.\n" + key.replacing("\n", with: "\r\n") + certificate] {
      let read = try #require(PEM.keyAndCertificate(in: text))
      #expect(read.certificate == pair.authority)
      #expect(try read.key.pem == key)
      #expect(PEM.key(in: text) == nil && PEM.certificate(in: text) == nil)
    }
    let damaged = certificate.replacing("MII", with: "MI!")
    for text in [
      "", "text", key, certificate, key + key, certificate + certificate, key + certificate + certificate,
      key + certificate + key, key + damaged, key + certificate + "-----BEGIN CERTIFICATE-----\n",
      key.replacing("PRIVATE KEY", with: "ENCRYPTED PRIVATE KEY") + certificate,
    ] {
      #expect(PEM.keyAndCertificate(in: text) == nil, "\(text)")
    }
    #expect(PEM.key(in: certificate) == nil && PEM.certificate(in: key) == nil && PEM.certificate(in: damaged) == nil)
  }

  @Test func `a key that needs a passphrase is not read, and none is asked for`() {
    // `openssl genpkey -algorithm ED25519 -aes128 -pass pass:x`.
    let encrypted = """
      -----BEGIN ENCRYPTED PRIVATE KEY-----
      MIGbMFcGCSqGSIb3DQEFDTBKMCkGCSqGSIb3DQEFDDAcBAiC4k1EN5O0cwICCAAw
      DAYIKoZIhvcNAgkFADAdBglghkgBZQMEAQIEELp3eKN4GTFQcbwGXj9oWAAEQL8V
      ZroQiphRdaYOcqV+0o1pwJWj6QarR0uMu6OyYXZlxTjnN+kHKCSRClw9d5Dz6UTU
      lmKORfEVemW0QuwU050=
      -----END ENCRYPTED PRIVATE KEY-----

      """
    #expect(PEM.key(in: encrypted) == nil)
    // `openssl ec -aes128 -passout pass:x`: a form whose header names the cipher.
    let old = """
      -----BEGIN EC PRIVATE KEY-----
      Proc-Type: 4,ENCRYPTED
      DEK-Info: AES-128-CBC,15CA5B20BF41EEEDCD31A616BA070348

      CjMCq4JXv7m1XdEzWGLD574C95rSgW4hSaSEXg79+z+1Jut64pkF8FYgOpxQ6699
      Jx6OkquUdvBtXWjfuPE1sQSCWHm/BWjK7p3XTJshNuazY/L6ug6FALr+b3bMaT/e
      HoZ5cWSIZH6Pm2sR0jpfJqg4/xWAlP+M3X9lRI5ygqQ=
      -----END EC PRIVATE KEY-----

      """
    #expect(PEM.key(in: old) == nil)
  }

  @Test func `a prefix of a certificate, or one with a byte behind it, is none`() throws {
    let der = try Pair().authority.der
    for count in 0..<der.count { #expect(Certificate(der: der.prefix(count)) == nil) }
    #expect(Certificate(der: der + [0]) == nil)
    #expect(Certificate(der: der)?.der == der)
  }

  @Test func `no certificate with another bit is signed by its issuer`() throws {
    let pair = try Pair()
    var count = 0
    for index in pair.server.der.indices {
      var der = pair.server.der
      der[index] ^= 1 << UInt8(index % 8)
      guard let changed = Certificate(der: der) else { continue }
      count += 1
      #expect(!changed.isSigned(by: pair.authority), "\(index)")
    }
    // Most bits are those of values, not of the structure.
    #expect(count > 200)
  }

  @Test func `what no certificate can have is an error in the words of libcrypto`() throws {
    let key = try PrivateKey()
    // Years have four digits.
    let subject = Certificate.Subject(commonName: "a", notBefore: 0, notAfter: 1 << 60)
    let error = #expect(throws: CryptographyError.self) {
      try Certificate.authority(subject, permitting: [.dns("local")], key: key)
    }
    #expect(error?.description.isEmpty == false)
  }
}
