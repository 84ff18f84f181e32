import Foundation
import Media
import NIOSSL
import Synchronization
import Testing

@testable import Serving

@Suite("Files of a TLS certificate")
struct TLSCertificateTests {
  private func error(_ text: String?) throws -> VidiconError? {
    let file = FileManager.default.temporaryDirectory.appending(path: "\(UUID().uuidString).pem")
    if let text { try Data(text.utf8).write(to: file) }
    defer { try? FileManager.default.removeItem(at: file) }
    let files = CertificateFiles(chain: file.path, key: file.path)
    let error = #expect(throws: VidiconError.self) { _ = try TLSCertificate(files) }
    #expect(error?.subject.hasSuffix(file.lastPathComponent) == true)
    return error
  }

  @Test func `a missing file is not found`() throws {
    let error = try #require(try self.error(nil))
    #expect(error.code == .notFound && error.cause == "no such file or directory")
  }

  @Test(arguments: ["", "text", "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n"])
  func `a file without a certificate is invalid, and the error says what to give`(text: String) throws {
    let error = try #require(try self.error(text))
    #expect(error.code == .invalidData && error.cause == "it contains no certificate chain")
    #expect(error.nextStep == "give a PEM file with the certificate chain")
  }
}

// MARK: While the server runs

extension TLSCertificateTests {
  /// Two keys of tests and a certificate of each, valid for 100 years.
  private static let pairs = [
    (
      key: """
      -----BEGIN PRIVATE KEY-----
      MIGHAgEAMBMGByqGSM49AgEGCCqGSM49AwEHBG0wawIBAQQgq7hZSGTRohETlOYI
      GJFjtMvCKAP/Y4FgiN2qhcgRbFGhRANCAARpEXcNQU065UermHyng6KPYhEVnN8x
      6DnF5KuD8dRwiJ3xJ9iQR7M/oeL1n1NikFeWCqcoPG6Sr6aiENoFKU4N
      -----END PRIVATE KEY-----
      """,
      chain: """
      -----BEGIN CERTIFICATE-----
      MIIBbzCCARWgAwIBAgIUfozqynnSf9f/SavbvmDmZA02AaowCgYIKoZIzj0EAwIw
      DDEKMAgGA1UEAwwBMTAgFw0yNjExMjgwMDI1NTVaGA8yMTI2MTEwNDAwMjU1NVow
      DDEKMAgGA1UEAwwBMTBZMBMGByqGSM49AgEGCCqGSM49AwEHA0IABGkRdw1BTTrl
      R6uYfKeDoo9iERWc3zHoOcXkq4Px1HCInfEn2JBHsz+h4vWfU2KQV5YKpyg8bpKv
      pqIQ2gUpTg2jUzBRMB0GA1UdDgQWBBTA94d4bMT22Sd84nygTCn7146GpzAfBgNV
      HSMEGDAWgBTA94d4bMT22Sd84nygTCn7146GpzAPBgNVHRMBAf8EBTADAQH/MAoG
      CCqGSM49BAMCA0gAMEUCIQDkzKlKwC7+aWs15qBmUcvlm8rMTJ9l4ceMiYXrM9BS
      vQIgU+jPbuuOASC8p3/BbCQJYKZdRO44n8lTvtNT3+vmiMU=
      -----END CERTIFICATE-----
      """
    ),
    (
      key: """
      -----BEGIN PRIVATE KEY-----
      MIGHAgEAMBMGByqGSM49AgEGCCqGSM49AwEHBG0wawIBAQQgjBVYUWvdyvC4v/tG
      9JralLV4qw3lsi3YZI59Jlm2PXShRANCAASdfTC78lmGZaSDZvdpyReDzTjJV5d4
      RBuAJ1Bqf1hxz5tN8BR89hn3lCsX0PWP4t21RHlO+fRbeEdqTZ+DOa6a
      -----END PRIVATE KEY-----
      """,
      chain: """
      -----BEGIN CERTIFICATE-----
      MIIBbzCCARWgAwIBAgIUblcqYMxTZVU6C8EUUvPWWOEEhe8wCgYIKoZIzj0EAwIw
      DDEKMAgGA1UEAwwBMjAgFw0yNjExMjgwMDI1NTVaGA8yMTI2MTEwNDAwMjU1NVow
      DDEKMAgGA1UEAwwBMjBZMBMGByqGSM49AgEGCCqGSM49AwEHA0IABJ19MLvyWYZl
      pINm92nJF4PNOMlXl3hEG4AnUGp/WHHPm03wFHz2GfeUKxfQ9Y/i3bVEeU759Ft4
      R2pNn4M5rpqjUzBRMB0GA1UdDgQWBBQNYKPdz300vhVbdIkX4F6S7t+zKjAfBgNV
      HSMEGDAWgBQNYKPdz300vhVbdIkX4F6S7t+zKjAPBgNVHRMBAf8EBTADAQH/MAoG
      CCqGSM49BAMCA0gAMEUCIGF8d9ZgdoCU/2SBMz14ZuowmfdabdthtRbXjdYgBJzT
      AiEAok2FwjULBq6D3gzILHX7/419A3lY8ZJIPb68Yb29rco=
      -----END CERTIFICATE-----
      """
    ),
  ]

  /// A folder with the files of the first pair, the lines that the owner gets, and the certificate.
  private struct Owner: ~Copyable {
    let folder = FileManager.default.temporaryDirectory.appending(path: UUID().uuidString)
    let lines = Lines()
    let certificate: TLSCertificate

    final class Lines: Sendable {
      private let lines = Mutex<[String]>([])
      func append(_ line: String) { self.lines.withLock { $0.append(line) } }
      func removeAll() -> [String] {
        self.lines.withLock { lines in
          defer { lines = [] }
          return lines
        }
      }
    }

    init() throws {
      try FileManager.default.createDirectory(at: self.folder, withIntermediateDirectories: true)
      for (name, text) in [("key", TLSCertificateTests.pairs[0].key), ("chain", TLSCertificateTests.pairs[0].chain)] {
        try text.write(to: self.folder.appending(path: name), atomically: true, encoding: .utf8)
      }
      let files = CertificateFiles(
        chain: self.folder.appending(path: "chain").path, key: self.folder.appending(path: "key").path)
      self.certificate = try TLSCertificate(files) { [lines] in lines.append($0) }
    }

    deinit { try? FileManager.default.removeItem(at: self.folder) }

    /// Writes a file in one step, as programs that renew certificates do.
    func write(_ text: String, to name: String) throws {
      try text.write(to: self.folder.appending(path: name), atomically: true, encoding: .utf8)
    }
  }

  private static func certificate(_ index: Int) throws -> NIOSSLCertificate {
    try #require(try NIOSSLCertificate.fromPEMBytes(Array(Self.pairs[index].chain.utf8)).first)
  }

  @Test func `new connections get the certificate of files that have changed, which the owner learns`() throws {
    let owner = try Owner()
    owner.certificate.current.replace()
    #expect(try owner.certificate.certificate == Self.certificate(0) && owner.lines.removeAll() == [])
    try owner.write(Self.pairs[1].chain, to: "chain")
    try owner.write(Self.pairs[1].key, to: "key")
    owner.certificate.current.replace()
    let lines = owner.lines.removeAll()
    #expect(try owner.certificate.certificate == Self.certificate(1))
    #expect(lines.count == 1 && lines[0].hasSuffix("/chain: the certificate has changed; new connections get it"))
    owner.certificate.current.replace()
    #expect(owner.lines.removeAll() == [])
  }

  @Test func `a chain whose key comes later is waited for, and reported once where it does not come`() throws {
    let owner = try Owner()
    try owner.write(Self.pairs[1].chain, to: "chain")
    owner.certificate.current.replace()
    #expect(owner.lines.removeAll() == [])
    owner.certificate.current.replace()
    let lines = owner.lines.removeAll()
    #expect(lines.count == 1 && lines[0].hasSuffix("; new connections get the certificate before"))
    owner.certificate.current.replace()
    #expect(try owner.certificate.certificate == Self.certificate(0) && owner.lines.removeAll() == [])
    try owner.write(Self.pairs[1].key, to: "key")
    owner.certificate.current.replace()
    #expect(try owner.certificate.certificate == Self.certificate(1) && owner.lines.removeAll().count == 1)
  }

  @Test(arguments: [nil, "", "text"])
  func `files that are missing or damaged change nothing`(text: String?) throws {
    let owner = try Owner()
    if let text {
      try owner.write(text, to: "chain")
    } else {
      try FileManager.default.removeItem(at: owner.folder.appending(path: "chain"))
    }
    for _ in 0..<3 { owner.certificate.current.replace() }
    let lines = owner.lines.removeAll()
    #expect(lines.count == 1 && lines[0].contains("/chain: ") && !lines[0].contains("\n"))
    #expect(try owner.certificate.certificate == Self.certificate(0))
  }

  @Test func `checks are two seconds apart`() throws {
    let current = CurrentCertificate(try Owner().certificate.current.pair, now: .zero) { nil }
    #expect(!current.beginsCheck(now: .zero + .milliseconds(1999)))
    #expect(current.beginsCheck(now: .zero + .seconds(2)))
    #expect(!current.beginsCheck(now: .zero + .milliseconds(3999)))
    #expect(current.beginsCheck(now: .zero + .seconds(4)))
  }
}
