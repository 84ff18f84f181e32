import Foundation
import Media
import MediaInput
import Synchronization
import TestSupport
import Testing

@testable import VidiconCommand

@Suite("Check of a stream whose RTSP server redirects", .timeLimit(.minutes(5)))
struct RTSPRedirectTests {
  /// Requests with a password.
  private final class Passwords: Sendable {
    private let state = Mutex(0)
    var count: Int { self.state.withLock { $0 } }

    func append() { self.state.withLock { $0 += 1 } }
  }

  /// A server that responds to DESCRIBE with a status and header lines, which depend on the URL of the request, and to others with 200.
  private static func serve(
    _ status: String, passwords: Passwords = Passwords(), fields: @escaping @Sendable (String) -> String
  ) throws -> LocalServer {
    try LocalServer { connection in
      while true {
        let lines = connection.readHead().components(separatedBy: "\r\n")
        let words = lines[0].split(separator: " ").map(String.init)
        guard words.count > 1 else { return }
        if lines.contains(where: { $0.hasPrefix("Authorization: ") }) { passwords.append() }
        let number = lines.first { $0.hasPrefix("CSeq: ") } ?? "CSeq: 0"
        let isDescription = words[0] == "DESCRIBE"
        let head = "RTSP/1.0 \(isDescription ? status : "200 OK")\r\n\(number)\r\n"
        connection.write(head + (isDescription ? fields(words[1]) : "") + "\r\n")
      }
    }
  }

  private static func verdict(of server: LocalServer, user: String = "") async throws -> StreamVerdict {
    var limits = StreamCheck.Limits()
    limits.whole = .seconds(300)
    let url = "rtsp://\(user)127.0.0.1:\(server.port)/live"
    return try await StreamCheck(NetworkSpecification(parsing: url), limits: limits).run()
  }

  @Test(arguments: ["301 Moved Permanently", "302 Moved Temporarily", "305 Use Proxy"])
  func `a redirect is followed, and the password stays with its server`(status: String) async throws {
    let passwords = Passwords()
    let target = try Self.serve("401 Unauthorized", passwords: passwords) { _ in
      "WWW-Authenticate: Basic realm=\"x\"\r\n"
    }
    defer { target.stop() }
    let location = "rtsp://127.0.0.1:\(target.port)/other?key=1"
    let server = try Self.serve(status) { _ in "Location: \(location)\r\n" }
    defer { server.stop() }
    let verdict = try await Self.verdict(of: server, user: "anna:sesame@")
    #expect(verdict.problems == ["fault RTSP: the server asks for a user name and password"], "\(verdict)")
    #expect(
      verdict.findings.first?.finding
        == CheckFinding.ok("redirect", "from 127.0.0.1:\(server.port) to 127.0.0.1:\(target.port)"))
    #expect(passwords.count == 0)
  }

  @Test func `redirects without end, and those that lead nowhere, are named`() async throws {
    let circle = try Self.serve("302 Moved Temporarily") { "Location: \($0)\r\n" }
    defer { circle.stop() }
    let endless = try await Self.verdict(of: circle)
    #expect(endless.problems == ["fault RTSP: the server redirects again and again (302)"], "\(endless)")
    #expect(endless.findings.count(where: { $0.finding.subject == "redirect" }) == 3)
    for fields in ["", "Location: http://127.0.0.1/live\r\n", "Location: /live\r\n"] {
      let server = try Self.serve("302 Moved Temporarily") { _ in fields }
      defer { server.stop() }
      let verdict = try await Self.verdict(of: server)
      #expect(
        verdict.problems == ["fault RTSP: the server redirects (302), and not to an address of RTSP"], "\(verdict)")
    }
  }
}
