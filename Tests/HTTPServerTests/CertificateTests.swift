import Authentication
import Cryptography
import Foundation
import HTTPTypes
import Media
import NIOCore
import NIOPosix
import NIOSSL
import Serving
import Synchronization
import Testing
import Threading

@testable import ControlAPI
@testable import HTTPServer

@Suite("Certificate of HTTPS", .timeLimit(.minutes(5)))
struct CertificateTests {
  private static func withFolder(_ body: (_ folder: String) async throws -> Void) async throws {
    let folder = NSTemporaryDirectory() + "vidicon-\(UUID().uuidString)/state/vidicon"
    defer { try? FileManager.default.removeItem(atPath: folder) }
    try await body(folder)
  }

  private static func write(_ text: String, to path: String, mode: Int = 0o600) throws {
    try text.write(toFile: path, atomically: true, encoding: .utf8)
    try FileManager.default.setAttributes([.posixPermissions: mode], ofItemAtPath: path)
  }

  @Test func `authority and certificate are made once, with mode 0600, and reused`() async throws {
    try await Self.withFolder { folder in
      let first = try ServerCertificate(.localAuthority(folder: folder))
      let authority = try #require(first.authority)
      #expect(first.fingerprint.split(separator: ":").count == 32)
      #expect(authority.fingerprint.split(separator: ":").count == 32 && authority.fingerprint != first.fingerprint)
      let second = try ServerCertificate(.localAuthority(folder: folder))
      #expect(second.fingerprint == first.fingerprint && second.authority?.fingerprint == authority.fingerprint)
      let files = try FileManager.default.contentsOfDirectory(atPath: folder).sorted()
      #expect(files == ["authority-key.pem", "certificate-key.pem", "certificate.pem"])
      for file in files {
        let attributes = try FileManager.default.attributesOfItem(atPath: "\(folder)/\(file)")
        #expect(attributes[.posixPermissions] as? Int == 0o600, "\(file)")
      }
      #expect(!String(buffer: authority.pem).contains("PRIVATE KEY"))
    }
  }

  @Test func `a certificate that is damaged, or known to others, is issued again by the same authority`() async throws {
    try await Self.withFolder { folder in
      let first = try ServerCertificate(.localAuthority(folder: folder))
      let (certificate, key) = ("\(folder)/certificate.pem", "\(folder)/certificate-key.pem")
      var fingerprints: Set = [first.fingerprint]
      let other = try PrivateKey().pem
      let own = try String(contentsOfFile: key, encoding: .utf8)
      for (path, text, mode) in [
        (key, own, 0o640), (certificate, "broken", 0o600), (key, "", 0o600), (key, other, 0o600),
      ] {
        try Self.write(text, to: path, mode: mode)
        let next = try ServerCertificate(.localAuthority(folder: folder))
        #expect(fingerprints.insert(next.fingerprint).inserted, "\(path)")
        #expect(next.authority?.fingerprint == first.authority?.fingerprint)
        let attributes = try FileManager.default.attributesOfItem(atPath: key)
        #expect(attributes[.posixPermissions] as? Int == 0o600)
      }
    }
  }

  @Test func `processes that start together have one authority`() async throws {
    try await Self.withFolder { folder in
      let fingerprints = try await withThrowingTaskGroup(of: String?.self) { group in
        for _ in 0..<8 {
          group.addTask { try ServerCertificate(.localAuthority(folder: folder)).authority?.fingerprint }
        }
        return try await group.reduce(into: Set<String?>()) { $0.insert($1) }
      }
      #expect(fingerprints.count == 1 && !fingerprints.contains(nil))
    }
  }

  /// PEM of an authority that permits other names than those of this program.
  private static func foreign(_ names: [GeneralName]) throws -> String {
    let (key, now) = (try PrivateKey(), Int64(Date().timeIntervalSince1970))
    let subject = Certificate.Subject(commonName: "foreign", notBefore: now - 60, notAfter: now + 86_400)
    return try key.pem + Certificate.authority(subject, permitting: names, key: key).pem
  }

  @Test func `an authority that is damaged or foreign is refused in one line, and stays as it is`() async throws {
    try await Self.withFolder { folder in
      _ = try ServerCertificate(.localAuthority(folder: folder))
      let path = "\(folder)/authority-key.pem"
      let own = try String(contentsOfFile: path, encoding: .utf8)
      func parts(_ pem: String) throws -> (key: String, certificate: String) {
        let end = try #require(pem.firstRange(of: "-----BEGIN CERTIFICATE")).lowerBound
        return (String(pem[..<end]), String(pem[end...]))
      }
      let (key, certificate) = try parts(own)
      let expired = try LocalAuthority(
        for: CertificateNames(hostName: "a", addresses: []), now: Date(timeIntervalSince1970: 100_000_000))
      let local = AuthorityConstraints(for: CertificateNames(hostName: "a", addresses: [])).permittedNames
      let all = [GeneralName.dns("")] + local
      let topLevel = [GeneralName.dns("dev")] + local
      let wide = [GeneralName.address([0, 0, 0, 0, 0, 0, 0, 0])] + local
      let none = try await OpenSSLCommand.authority(with: "")
      let uncritical = try await OpenSSLCommand.authority(
        with: "nameConstraints=permitted;DNS:local,permitted;IP:10.0.0.0/255.0.0.0")
      let critical = try await OpenSSLCommand.authority(
        with: "nameConstraints=critical,permitted;DNS:local,permitted;IP:10.0.0.0/255.0.0.0")
      let malformed = "it is not the key and certificate of an authority"
      let limits = "this authority is not limited to names and addresses of local networks"
      let cases: [(String, String)] = [
        ("", malformed), ("text", malformed), (key + key, malformed), (own + certificate, malformed),
        (key, malformed), (certificate, malformed), (key + (try parts(Self.foreign(local))).certificate, malformed),
        (try expired.pem, "this authority has expired"),
        (none, limits), (uncritical, limits), (try Self.foreign(all), limits), (try Self.foreign(topLevel), limits),
        (try Self.foreign(wide), limits), (try Self.foreign([.dns("local")]), limits),
      ]
      for (text, cause) in cases {
        try Self.write(text, to: path)
        let error = #expect(throws: VidiconError.self) { _ = try ServerCertificate(.localAuthority(folder: folder)) }
        #expect(error?.code == .invalidData && error?.cause == cause && error?.subject == path, "\(cause): \(text)")
        #expect(try String(contentsOfFile: path, encoding: .utf8) == text)
      }
      // Constraints of the same kind are not the reason.
      for text in [try Self.foreign(local), critical] {
        try Self.write(text, to: path)
        _ = try ServerCertificate(.localAuthority(folder: folder))
      }
    }
  }

  @Test func `the key of an authority that others can read, and a link to one, are refused`() async throws {
    try await Self.withFolder { folder in
      _ = try ServerCertificate(.localAuthority(folder: folder))
      let path = "\(folder)/authority-key.pem"
      for mode in [0o640, 0o604, 0o620] {
        try FileManager.default.setAttributes([.posixPermissions: mode], ofItemAtPath: path)
        let error = #expect(throws: VidiconError.self) { _ = try ServerCertificate(.localAuthority(folder: folder)) }
        #expect(error?.code == .notPermitted && error?.subject == path)
      }
      try FileManager.default.setAttributes([.posixPermissions: 0o600], ofItemAtPath: path)
      try FileManager.default.moveItem(atPath: path, toPath: "\(folder)/elsewhere")
      try FileManager.default.createSymbolicLink(atPath: path, withDestinationPath: "\(folder)/elsewhere")
      let error = #expect(throws: VidiconError.self) { _ = try ServerCertificate(.localAuthority(folder: folder)) }
      #expect(error?.code == .notPermitted && error?.subject == path)
    }
  }

  @Test func `a file that cannot be read or written is named in the error`() {
    let none = HTTPServerSettings.TLS.Certificate.files(
      CertificateFiles(chain: "/none/chain.pem", key: "/none/key.pem"))
    #expect(
      throws: VidiconError(
        .notFound, subject: "/none/chain.pem", cause: "no such file or directory",
        nextStep: "give a PEM file with the certificate chain")
    ) { try ServerCertificate(none) }
    #expect { try ServerCertificate(.localAuthority(folder: "/proc/none")) } throws: {
      ($0 as? VidiconError)?.subject == "/proc/none"
    }
  }
}

// MARK: While the server runs

extension CertificateTests {
  /// A machine whose addresses change, and the lines that its owner gets.
  private final class Machine: Sendable {
    let addresses = Mutex<[[UInt8]]>([[10, 0, 0, 1]])
    let lines = Mutex<[String]>([])

    func certificate(in folder: String, at date: Date = Date()) throws -> RenewedCertificate {
      try RenewedCertificate(
        folder: try CertificateFolder(folder),
        makeNames: { CertificateNames(hostName: "cam", addresses: self.addresses.withLock { $0 }) },
        report: { line in self.lines.withLock { $0.append(line) } }, at: date)
    }
  }

  @Test func `a new address, and the end of the validity, renew the certificate of a running server`() async throws {
    try await Self.withFolder { folder in
      let (machine, start) = (Machine(), Date())
      let certificate = try machine.certificate(in: folder, at: start)
      #expect(certificate.renewed(at: start + 300 * 86_400) == nil)
      machine.addresses.withLock { $0.append([10, 0, 0, 2]) }
      let second = try #require(certificate.renewed(at: start)).chain
      #expect(try certificate.tls().certificate == second[0])
      let third = try #require(certificate.renewed(at: start + 370 * 86_400)).chain
      #expect(third != second)
      #expect(machine.lines.withLock { $0 } == [])
      // The next start finds it.
      #expect(try machine.certificate(in: folder, at: start + 370 * 86_400).tls().certificate == third[0])
    }
  }

  @Test func `a renewed certificate that cannot be stored is used, and reported once`() async throws {
    try await Self.withFolder { folder in
      let machine = Machine()
      let certificate = try machine.certificate(in: folder)
      let first = try certificate.tls().certificate
      try FileManager.default.removeItem(atPath: folder)
      try Self.write("in the way", to: folder)
      machine.addresses.withLock { $0.append([10, 0, 0, 2]) }
      for _ in 0..<3 { _ = certificate.renewed(at: Date()) }
      #expect(try certificate.tls().certificate != first)
      let lines = machine.lines.withLock { $0 }
      #expect(lines.count == 1 && lines.first?.contains(folder) == true && lines.first?.contains("\n") == false)
    }
  }

  @Test func `a connection gets the certificate for the addresses of its time`() async throws {
    try await Self.withFolder { folder in
      let machine = Machine()
      // The check before is long ago: the first connection begins one.
      let tls = try machine.certificate(in: folder).tls(now: StreamClock.system.now() - .seconds(60))
      let first = tls.certificate
      machine.addresses.withLock { $0.append([10, 0, 0, 2]) }
      let choose = try #require(tls.configuration.sslContextCallback)
      for _ in 0..<2 {
        let promise = MultiThreadedEventLoopGroup.singleton.any().makePromise(
          of: NIOSSLContextConfigurationOverride.self)
        choose(NIOSSLClientExtensionValues(serverHostname: nil), promise)
        let chosen = try await promise.futureResult.get()
        guard case .certificate(let leaf)? = chosen.certificateChain?.first else {
          Issue.record("no certificate")
          return
        }
        #expect(leaf != first && leaf == tls.certificate)
      }
    }
  }
}

// MARK: /ca

extension CertificateTests {
  private static func get(_ path: String, of server: WebServer, accept: String? = nil) async -> ServerResponse {
    var request = HTTPRequest(method: .get, scheme: "http", authority: "localhost", path: path)
    request.headerFields[.accept] = accept
    let client = HTTPClient(address: "192.0.2.1", localAddress: "192.0.2.2")
    return await server.responder.respond(to: request, client: client) { _ in nil }
  }

  private static func bytes(_ response: ServerResponse) -> [UInt8]? {
    if case .bytes(let bytes) = response.body { Array(buffer: bytes) } else { nil }
  }

  @Test func `the certificate of the authority is offered without a password, and as a page to browsers`() async throws
  {
    try await Self.withFolder { folder in
      var settings = HTTPServerSettings.patient()
      settings.tls = .init(port: 0, certificate: .localAuthority(folder: folder))
      var providers = WebServerProviders()
      providers.file = { page in
        page == .authority
          ? .init(body: ByteBuffer(string: "the page"), mediaType: "text/html; charset=utf-8", etag: "\"a\"") : nil
      }
      let access = AccessControl.permissive { $0.users = [Credentials(user: "anna", password: "sesame")] }
      try await withServer(settings, access: access, providers: providers) { server, _ in
        let fingerprint = try #require(server.authorityFingerprint)
        for path in ["/ca", "/ca?form=pem", "/ca?form=der"] {
          let response = await Self.get(path, of: server)
          #expect(response.status == .ok && response.fields[.contentType] == "application/x-x509-ca-cert")
          #expect(response.fields[.eTag] == "\"\(fingerprint)\"")
          let bytes = try #require(Self.bytes(response))
          let certificate =
            path.hasSuffix("der")
            ? Certificate(der: bytes) : PEM.certificate(in: String(decoding: bytes, as: UTF8.self))
          #expect(certificate?.issuesEndEntities == true)
          #expect(!String(decoding: bytes, as: UTF8.self).contains("PRIVATE"))
        }
        let page = await Self.get("/ca", of: server, accept: "text/html,*/*")
        #expect(page.fields[.contentType] == "text/html; charset=utf-8")
        #expect(page.fields[.vary] == "Accept, Accept-Encoding")
        let linked = await Self.get("/ca?form=der", of: server, accept: "text/html,*/*")
        #expect(linked.fields[.contentType] == "application/x-x509-ca-cert")
        #expect(await Self.get("/ca?form=key", of: server).status == .badRequest)
        #expect(await Self.get("/api/streams", of: server).status == .unauthorized)
      }
    }
  }

  @Test func `a server without an authority of its own offers none`() async throws {
    try await withServer { server, _ in
      #expect(await Self.get("/ca", of: server).status == .notFound)
      #expect(await Self.get("/ca", of: server, accept: "text/html").status == .notFound)
      #expect(server.authorityFingerprint == nil)
    }
  }
}
