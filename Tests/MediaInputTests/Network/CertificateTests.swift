import Foundation
import Media
import MediaInput
import TestSupport
import Testing

/// A folder's files over HTTPS, or one response to anything, one connection at a time, with a certificate that no authority
/// has signed: `openssl s_server`.
private final class TLSServer {
  let port: Int
  private let process = Process()
  private let input = Pipe()

  /// - Parameter response: Sent to the first client instead of files; begins with a space, since letters are commands.
  init(filesIn folder: String, response: String? = nil) throws {
    let (certificate, key) = ("\(folder)/self-made.pem", "\(folder)/self-made-key.pem")
    let making = Process()
    making.executableURL = URL(fileURLWithPath: "/usr/bin/env")
    making.arguments =
      ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", "/CN=127.0.0.1"]
      + ["-addext", "subjectAltName=IP:127.0.0.1", "-keyout", key, "-out", certificate]
    making.standardError = FileHandle.nullDevice
    try making.run()
    making.finish()
    self.process.executableURL = making.executableURL
    self.process.currentDirectoryURL = URL(fileURLWithPath: folder)
    self.process.arguments =
      ["openssl", "s_server", "-accept", "127.0.0.1:0", "-cert", certificate, "-key", key]
      + (response == nil ? ["-WWW"] : [])
    let output = Pipe()
    self.process.standardOutput = output
    self.process.standardError = FileHandle.nullDevice
    self.process.standardInput = self.input
    try self.input.fileHandleForWriting.write(contentsOf: Data((response ?? "").utf8))
    try self.process.run()
    // "ACCEPT 127.0.0.1:PORT" is its first line but for messages about parameters.
    let process = self.process
    let text = process.killed { () -> String in
      var text = ""
      while process.isRunning, !text.contains("ACCEPT 127.0.0.1:") || !text.hasSuffix("\n") {
        text += String(decoding: output.fileHandleForReading.availableData, as: UTF8.self)
      }
      return text
    }
    let line = try #require(text.split(separator: "\n").first { $0.hasPrefix("ACCEPT ") }, "openssl: \(text)")
    self.port = try #require(line.split(separator: ":").last.flatMap { Int($0) })
    output.fileHandleForReading.readabilityHandler = { _ = $0.availableData }
  }

  deinit {
    // The server inherits the signals that the test process ignores.
    kill(self.process.processIdentifier, SIGKILL)
    self.process.finish()
  }
}

@Suite("Certificates of network sources", .timeLimit(.minutes(5)))
struct CertificateTests {
  /// A server of each kind for a folder with `a.ts`: HTTPS, and HTTP with what leads there.
  private static func withServers(_ body: (_ secure: String, _ clear: String) throws -> Void) throws {
    let folder = FileManager.default.temporaryDirectory.appendingPathComponent(UUID().uuidString).path
    try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(atPath: folder) }
    let segment = try TestMedia.path(
      "certificate.ts",
      ["-f", "lavfi", "-i", "testsrc=s=160x96:r=25:d=2", "-pix_fmt", "yuv420p", "-g", "25", "-f", "mpegts"])
    try FileManager.default.copyItem(atPath: segment, toPath: "\(folder)/a.ts")
    let tls = try TLSServer(filesIn: folder)
    let secure = "https://127.0.0.1:\(tls.port)"
    let head = "#EXTM3U\n#EXT-X-VERSION:3\n#EXT-X-TARGETDURATION:2\n"
    let entry = "#EXTINF:2,\n\(secure)/a.ts\n"
    try (head + entry + entry + "#EXT-X-ENDLIST\n").write(
      toFile: "\(folder)/list.m3u8", atomically: true, encoding: .utf8)
    let files = try LocalServer.files(in: folder)
    let redirecting = try LocalServer { connection in
      while !connection.readHead().isEmpty {
        connection.write("HTTP/1.1 302 Found\r\nLocation: \(secure)/a.ts\r\nContent-Length: 0\r\n\r\n")
      }
    }
    try body(secure, "http://127.0.0.1:\(files.port)/list.m3u8")
    try body(secure, "http://127.0.0.1:\(redirecting.port)/x")
    withExtendedLifetime((tls, files, redirecting)) {}
  }

  private static func opens(_ url: String) -> Bool {
    (try? NetworkSource(url: url)) != nil
  }

  @Test func `a self-made certificate is refused, also that of a segment or redirection, without insecure=1`() throws {
    try Self.withServers { secure, clear in
      #expect(!Self.opens("\(secure)/a.ts"))
      #expect(!Self.opens(clear), "\(clear)")
      for url in ["\(secure)/a.ts", clear] { #expect(Self.opens("\(url)?insecure=1"), "\(url)") }
    }
  }

  @Test func `a file of the owner at an address has its certificates verified too`() throws {
    try Self.withServers { secure, clear in
      for url in ["\(secure)/a.ts", clear] {
        #expect((try? FileSource(path: url)) == nil, "\(url)")
      }
    }
  }

  @Test func `a self-made certificate of rtsps is refused without insecure=1`() throws {
    let folder = FileManager.default.temporaryDirectory.appendingPathComponent(UUID().uuidString).path
    try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(atPath: folder) }
    func error(_ option: String) throws -> VidiconError? {
      let server = try TLSServer(filesIn: folder, response: " RTSP/1.0 404 Not Found\r\nCSeq: 1\r\n\r\n")
      defer { withExtendedLifetime(server) {} }
      do throws(VidiconError) {
        _ = try NetworkSource(url: "rtsps://127.0.0.1:\(server.port)/x\(option)")
        return nil
      } catch {
        return error
      }
    }
    // The reason is the certificate, also with a libavformat that cannot verify it, and not the response.
    let refusal = try #require(try error(""))
    #expect(refusal.cause.contains("certificate") && refusal.nextStep.contains("?insecure=1"), "\(refusal)")
    #expect(try error("?insecure=1")?.code == .notFound)
  }

  @Test(arguments: [("https", true), ("rtmps", true), ("http", false)])
  func `an error of a TLS connection names the certificate`(scheme: String, isTLS: Bool) throws {
    let error = try #require(
      {
        do throws(VidiconError) {
          _ = try NetworkSource(url: "\(scheme)://no-such-host.invalid/x")
          return nil as VidiconError?
        } catch {
          return error
        }
      }())
    #expect(error.cause.contains("certificate") == isTLS, "\(error)")
  }
}
