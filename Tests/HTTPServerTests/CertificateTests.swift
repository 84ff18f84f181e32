import Foundation
import Media
import Testing

@testable import HTTPServer

@Suite("Self-signed certificate")
struct CertificateTests {
  @Test func `a certificate is generated once, with mode 0600, and reused`() throws {
    let folder = NSTemporaryDirectory() + "/vidicon-\(UUID().uuidString)/state/vidicon"
    defer { try? FileManager.default.removeItem(atPath: folder) }
    let first = try ServerCertificate(.selfSigned(folder: folder))
    #expect(first.fingerprint.split(separator: ":").count == 32)
    #expect(try ServerCertificate(.selfSigned(folder: folder)).fingerprint == first.fingerprint)
    for file in ["certificate.pem", "certificate-key.pem"] {
      let attributes = try FileManager.default.attributesOfItem(atPath: "\(folder)/\(file)")
      #expect(attributes[.posixPermissions] as? Int == 0o600)
    }
    try "broken".write(toFile: "\(folder)/certificate.pem", atomically: true, encoding: .utf8)
    let second = try ServerCertificate(.selfSigned(folder: folder))
    #expect(second.fingerprint != first.fingerprint)
    // An empty key, and one that does not match the certificate: the program was killed while writing.
    let (_, other) = try SelfSignedCertificate.make(names: ["localhost"], addresses: [])
    for key in ["", other] {
      let before = try ServerCertificate(.selfSigned(folder: folder))
      try key.write(toFile: "\(folder)/certificate-key.pem", atomically: true, encoding: .utf8)
      #expect(try ServerCertificate(.selfSigned(folder: folder)).fingerprint != before.fingerprint)
    }
  }

  @Test func `a certificate is renewed near its expiry and for other names`() throws {
    let now = Date(timeIntervalSince1970: 1_800_000_000)
    let (pem, key) = try SelfSignedCertificate.make(
      names: ["localhost", "h"], addresses: [[127, 0, 0, 1]], now: now)
    let day = 86_400.0
    #expect(SelfSignedCertificate.isUsable(pem, key: key, names: ["h"], now: now))
    #expect(SelfSignedCertificate.isUsable(pem, key: key, names: ["h"], now: now + 366 * day))
    #expect(!SelfSignedCertificate.isUsable(pem, key: key, names: ["h"], now: now + 368 * day))
    #expect(!SelfSignedCertificate.isUsable(pem, key: key, names: ["h"], now: now - 2 * day))
    #expect(!SelfSignedCertificate.isUsable(pem, key: key, names: ["other"], now: now))
    let other = try SelfSignedCertificate.make(names: ["h"], addresses: [], now: now).key
    #expect(!SelfSignedCertificate.isUsable(pem, key: other, names: ["h"], now: now))
    #expect(!SelfSignedCertificate.isUsable("", key: key, names: [], now: now))
  }

  @Test func `a file that cannot be read or written is named in the error`() {
    let none = HTTPServerSettings.TLS.Certificate.files(chain: "/none/chain.pem", key: "/none/key.pem")
    #expect(
      throws: VidiconError(
        .notFound, subject: "/none/chain.pem", cause: "no such file or directory",
        nextStep: "give a PEM file with the certificate chain")
    ) { try ServerCertificate(none) }
    #expect { try ServerCertificate(.selfSigned(folder: "/proc/none")) } throws: {
      ($0 as? VidiconError)?.subject == "/proc/none"
    }
  }
}
