import HTTPServer
import Media
import MediaInput
import NIOCore
import Testing

@testable import VidiconCommand

@Suite("Connections of a check of a stream", .timeLimit(.minutes(5)))
struct ConnectionVerdictTests {
  @Test(
    arguments: [
      (.unknownHost, "host name is not known"), (.refused, "connection refused"), (.unreachable, "cannot be reached"),
      (.timedOut, "a firewall that drops packets"), (.noResponse, "its source may deliver nothing yet"),
      (.untrusted, "not from an authority"), (.handshake, "no version from 1.2 on"), (.notHTTP, "does not speak HTTP"),
      (.redirect(302, .invalid), "not to an address of HTTP"), (.redirect(301, .insecure), "(301) from HTTPS to HTTP"),
      (.redirect(307, .tooMany), "again and again (307)"), (.invalidAddress, "none of HTTP"),
      (.notTLS, "does not speak TLS"), (.silentTLS, "or hangs"), (.isTLS("rtsps"), "speaks TLS"),
      (.closed, "without a response"),
      (.other("the pipe is broken"), "the pipe is broken"),
    ] as [(ConnectionFailure, String)])
  func `each failure of a connection has its cause and a next step`(failure: ConnectionFailure, cause: String) {
    let finding = failure.finding(place: "cam:554", clients: [.players])
    let verdict = StreamVerdict(clients: [.players], findings: [finding])
    #expect(verdict.problems.count == 1 && verdict.problems[0].hasPrefix("fault connection to cam:554"))
    #expect(verdict.problems[0].contains(cause) && verdict.remedies[0] != "none")
    #expect(verdict.line(.players).hasPrefix("fault: does not play"))
  }

  @Test func `of the failures of several addresses, a refusal counts more than a timeout, and that more than no route`()
  {
    #expect(ConnectionFailure.decisive(of: [.unreachable, .refused, .timedOut]) == .refused)
    #expect(ConnectionFailure.decisive(of: [.unreachable, .timedOut]) == .timedOut)
    #expect(ConnectionFailure.decisive(of: [.other("x"), .unreachable]) == .unreachable)
    #expect(ConnectionFailure.decisive(of: [.closed]) == .closed && ConnectionFailure.decisive(of: []) == nil)
  }

  @Test func `the errors of TLS have their cause`() {
    #expect(ConnectionFailure.failure(ofTLS: "handshakeFailed(WRONG_VERSION_NUMBER)") == .notTLS)
    #expect(ConnectionFailure.failure(ofTLS: "handshakeFailed(CERTIFICATE_VERIFY_FAILED)") == .untrusted)
    #expect(ConnectionFailure.failure(ofTLS: "handshakeFailed(NO_PROTOCOLS_AVAILABLE)") == .handshake)
  }

  /// The problems of a certificate for cam.example from second 1000 to second 9,000,000, at second 2000.
  private static func problems(_ change: (inout TLSObservation) -> Void) -> [String] {
    var facts = TLSObservation(
      host: "cam.example", now: 2000,
      certificate: CertificateSummary(notBefore: 1000, notAfter: 9_000_000, hosts: ["cam.example"]), isTrusted: true)
    change(&facts)
    return StreamVerdict(clients: [.players], findings: [facts.finding(port: 322, clients: [.players])]).problems
  }

  @Test func `certificates of another time, name or authority are faults, which insecure=1 accepts`() {
    #expect(Self.problems { _ in } == [])
    #expect(Self.problems { $0.now = 10_000_000 }[0].contains("has expired"))
    #expect(Self.problems { $0.now = 500 }[0].contains("not valid yet"))
    #expect(Self.problems { $0.host = "other.example" }[0].contains("it is for cam.example, not for other.example"))
    #expect(Self.problems { $0.isTrusted = false }[0].contains("no authority that this machine trusts"))
    #expect(Self.problems { ($0.isTrusted, $0.isInsecure) = (false, true) } == [])
    #expect(Self.problems { $0.certificate = nil } == [])
  }

  @Test func `names with wildcards and numeric addresses are covered by a certificate`() {
    let certificate = CertificateSummary(
      notBefore: 0, notAfter: 1, hosts: ["*.Example.org", "cam.lan"], addresses: ["192.0.2.7", "2001:db8::7"])
    for host in ["a.example.org", "CAM.lan", "192.0.2.7", "2001:db8:0::7"] {
      #expect(certificate.covers(host), "\(host)")
    }
    for host in ["example.org", "a.b.example.org", "192.0.2.8", "cam"] { #expect(!certificate.covers(host), "\(host)") }
  }

  @Test func `references are resolved against the address of a playlist`() throws {
    let base = try #require(HTTPAddress(parsing: "https://cam.example:8443/live/a/index.m3u8?token=x"))
    func target(_ reference: String) -> String? {
      base.resolved(reference).map { "\($0.isEncrypted ? "https" : "http")://\($0.authority)\($0.target)" }
    }
    #expect(base.name == "index.m3u8" && base.port == 8443)
    #expect(target("b.ts") == "https://cam.example:8443/live/a/b.ts")
    #expect(target("../b.ts?c=/d") == "https://cam.example:8443/live/b.ts?c=/d")
    #expect(target("../../../b.ts") == "https://cam.example:8443/b.ts")
    #expect(target("/b/./c.ts") == "https://cam.example:8443/b/./c.ts")
    #expect(target("?d=1") == "https://cam.example:8443/live/a/index.m3u8?d=1")
    #expect(target("//other/b.ts") == "https://other/b.ts" && target("https://other:1/b") == "https://other:1/b")
    #expect(target("http://other/b") == nil && target("rtsp://other/b") == nil && target("a\r\nb") == nil)
    #expect(target(" a b.ts ") == "https://cam.example:8443/live/a/a%20b.ts")
    #expect(target("ü%20.ts") == "https://cam.example:8443/live/a/%C3%BC%20.ts")
    #expect(
      HTTPAddress(parsing: "http://[::1]/x")?.host == "::1" && HTTPAddress(parsing: "ftp://a/") == nil
        && HTTPAddress(parsing: "a") == nil)
  }

  @Test func `a password goes to the server of the address, and to the same host over TLS`() throws {
    func address(_ text: String) throws -> HTTPAddress { try #require(HTTPAddress(parsing: text)) }
    let plain = try address("http://cam.example:8080/a")
    for other in ["http://CAM.example:8080/b", "https://cam.example/b", "https://cam.example:8443/"] {
      #expect(try address(other).getsPassword(of: plain), "\(other)")
    }
    for other in ["http://cam.example/", "http://other:8080/a", "https://other/"] {
      #expect(try !address(other).getsPassword(of: plain), "\(other)")
    }
    #expect(try !plain.getsPassword(of: address("https://cam.example/")))
    #expect(try !address("https://cam.example:1/").getsPassword(of: address("https://cam.example/")))
  }

  @Test func `each redirect that is not followed has its reason`() throws {
    func redirect(_ location: String?) throws -> Result<HTTPAddress, ConnectionFailure> {
      var result = HTTPResult(status: 302)
      result.headers = location.map { [HTTPResult.Header(name: "location", value: $0)] } ?? []
      return HTTPVisit.redirect(result, from: try #require(HTTPAddress(parsing: "https://cam/a")))
    }
    #expect(try redirect("/b").get().target == "/b")
    #expect(try redirect(nil) == .failure(.redirect(302, .invalid)))
    #expect(try redirect("rtsp://cam/a") == .failure(.redirect(302, .invalid)))
    #expect(try redirect("http://cam/a") == .failure(.redirect(302, .insecure)))
  }

  @Test func `a response has its type without parameters, and its headers without case`() {
    var result = HTTPResult(status: 200)
    result.headers = [.init(name: "content-type", value: "Text/HTML; charset=utf-8")]
    #expect(result.contentType == "text/html" && !result.allowsOtherOrigins)
    for (value, isAllowed) in [
      ("*", true), (HTTPExchange.origin, true), ("https://cam.example", false), ("null", false),
    ] {
      result.headers.append(.init(name: "access-control-allow-origin", value: value))
      #expect(result.allowsOtherOrigins == isAllowed, "\(value)")
      result.headers.removeLast()
    }
    result.pieces = [.init(time: 0, bytes: ByteBuffer(string: "a")), .init(time: 1, bytes: ByteBuffer(string: "b"))]
    #expect(String(buffer: result.body) == "ab")
  }

  @Test func `addresses of other protocols are refused, without their password`() throws {
    let error = try #require(throws: VidiconError.self) {
      try StreamCheck(NetworkSpecification(parsing: "srt://user:sesame@cam:9000"))
    }
    #expect(error.code == .invalidSpecification && !error.description.contains("sesame"))
  }
}
