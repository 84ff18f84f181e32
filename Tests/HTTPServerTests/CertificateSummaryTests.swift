import Cryptography
import Foundation
import Media
import Serving
import Testing

@testable import HTTPServer

@Suite("Summary of a certificate")
struct CertificateSummaryTests {
  @Test func `dates, names and addresses are those of the first certificate`() throws {
    let folder = FileManager.default.temporaryDirectory.appending(path: "summary-\(UUID().uuidString)")
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(at: folder) }
    let authority = try LocalAuthorityTests.authority()
    let issued = try authority.issue(for: LocalAuthorityTests.names, now: LocalAuthorityTests.now)
    let files = CertificateFiles(
      chain: folder.appending(path: "chain.pem").path, key: folder.appending(path: "key.pem").path)
    let chain = try [issued.certificate, authority.certificate].map { try $0.pem }
    try chain.joined().write(toFile: files.chain, atomically: true, encoding: .utf8)
    try issued.key.pem.write(toFile: files.key, atomically: true, encoding: .utf8)
    let summary = try CertificateSummary(files)
    #expect(summary.notBefore == 1_800_000_000 - 86_400)
    #expect(summary.notAfter == summary.notBefore + 397 * 86_400 - 1)
    #expect(summary.hosts == ["localhost", "cam.local", "cam.example.net"])
    #expect(summary.addresses == ["127.0.0.1", "::1", "192.168.2.67", "fd00::"])
    let error = #expect(throws: VidiconError.self) {
      try CertificateSummary(CertificateFiles(chain: "\(folder.path)/none", key: files.key))
    }
    #expect(error?.code == .notFound)
  }
}
