import Foundation
import Media
import Serving
import Testing

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
