import Foundation
import Media
import MediaInput
import Synchronization
import TestSupport
import Testing

@testable import VidiconCommand

@Suite("Check of streams over HTTP", .timeLimit(.minutes(5)))
struct HTTPCheckTests {
  /// Requests of a check, each as its target and `Origin`.
  private final class Requests: Sendable {
    private let state = Mutex<[(target: String, origin: String?)]>([])
    var all: [(target: String, origin: String?)] { self.state.withLock { $0 } }

    func append(_ target: String, origin: String?) {
      self.state.withLock { $0.append((target, origin)) }
    }
  }

  /// A server that responds to each target with a status line and headers, and a body; with 404 to others.
  private static func serve(
    _ requests: Requests, _ responses: [String: (head: String, body: String)]
  ) throws -> LocalServer {
    try LocalServer { connection in
      let lines = connection.readHead().components(separatedBy: "\r\n")
      guard let target = lines[0].split(separator: " ").dropFirst().first.map(String.init) else { return }
      let origin = lines.first { $0.hasPrefix("Origin: ") }.map { String($0.dropFirst(8)) }
      requests.append(target, origin: origin)
      let (head, body) = responses[target] ?? ("404 Not Found", "")
      connection.write(
        "HTTP/1.1 \(head)\r\nContent-Length: \(body.utf8.count)\r\nConnection: close\r\n\r\n\(body)")
    }
  }

  private static func verdict(
    _ responses: [String: (head: String, body: String)], path: String = "live.m3u8", requests: Requests = Requests()
  ) async throws -> StreamVerdict {
    let server = try self.serve(requests, responses)
    defer { server.stop() }
    var limits = StreamCheck.Limits()
    limits.whole = .seconds(300)
    let url = "http://127.0.0.1:\(server.port)/\(path)"
    return try await StreamCheck(NetworkSpecification(parsing: url), limits: limits).run()
  }

  private static let type = "200 OK\r\nContent-Type: application/vnd.apple.mpegurl"
  private static let open = "\r\nAccess-Control-Allow-Origin: *"

  @Test func `segments that a playlist marks as missing are not requested, and names with spaces are encoded`()
    async throws
  {
    let playlist =
      "#EXTM3U\n#EXT-X-TARGETDURATION:60\n#EXTINF:60,\na b.ts\n#EXT-X-GAP\n#EXTINF:60,\ngap.ts\n#EXT-X-ENDLIST\n"
    let requests = Requests()
    let verdict = try await Self.verdict(
      ["/live.m3u8": (Self.type + Self.open, playlist), "/a%20b.ts": ("200 OK" + Self.open, "x")], requests: requests)
    #expect(verdict.problems == [], "\(verdict)")
    // One request each, as of a page of another server.
    #expect(requests.all.map(\.target) == ["/live.m3u8", "/a%20b.ts"])
    #expect(requests.all.allSatisfy { $0.origin == HTTPExchange.origin })
    #expect(verdict.findings.contains { $0.finding.meaning == "pages of other servers may play it" })
  }

  @Test func `keys and the rendition with the audio are requested, and those that are gone are named`() async throws {
    let variants =
      "#EXTM3U\n#EXT-X-MEDIA:TYPE=AUDIO,GROUP-ID=\"a\",NAME=\"English\",URI=\"audio/en.m3u8\"\n"
      + "#EXT-X-STREAM-INF:BANDWIDTH=1,AUDIO=\"a\"\nvideo.m3u8\n"
    let head = "#EXTM3U\n#EXT-X-TARGETDURATION:60\n"
    let video = head + "#EXT-X-KEY:METHOD=AES-128,URI=\"keys/1\"\n#EXTINF:60,\nv.ts\n#EXT-X-ENDLIST\n"
    var responses: [String: (head: String, body: String)] = [
      "/live.m3u8": (Self.type + Self.open, variants), "/video.m3u8": (Self.type + Self.open, video),
      "/audio/en.m3u8": (Self.type + Self.open, head + "#EXTINF:60,\ne.ts\n#EXT-X-ENDLIST\n"),
      "/v.ts": ("200 OK" + Self.open, "x"), "/audio/e.ts": ("200 OK" + Self.open, "x"),
      "/keys/1": ("200 OK" + Self.open, "0123456789abcdef"),
    ]
    let requests = Requests()
    let healthy = try await Self.verdict(responses, requests: requests)
    #expect(healthy.problems == [], "\(healthy)")
    #expect(
      requests.all.map(\.target) == ["/live.m3u8", "/video.m3u8", "/v.ts", "/keys/1", "/audio/en.m3u8", "/audio/e.ts"])
    responses["/keys/1"] = nil
    responses["/audio/en.m3u8"] = nil
    let gone = try await Self.verdict(responses)
    let subjects = gone.problems.map { problem in String(problem.prefix { $0 != ":" }) }
    #expect(subjects == ["fault keys", "warning audio English"], "\(gone)")
  }

  @Test func `a rendition whose audio begins after the video is requested again`() async throws {
    let requests = Requests()
    let server = try LocalServer { connection in
      guard let target = connection.readHead().split(separator: " ").dropFirst().first.map(String.init) else { return }
      requests.append(target, origin: nil)
      let isFirst = requests.all.count(where: { $0.target == target }) == 1
      let head = "#EXTM3U\n#EXT-X-TARGETDURATION:60\n"
      let body =
        switch target {
        case "/live.m3u8":
          "#EXTM3U\n#EXT-X-MEDIA:TYPE=AUDIO,GROUP-ID=\"a\",NAME=\"English\",URI=\"en.m3u8\"\n"
            + "#EXT-X-STREAM-INF:BANDWIDTH=1,AUDIO=\"a\"\nvideo.m3u8\n"
        case "/video.m3u8": head + "#EXTINF:60,\nv.ts\n#EXT-X-ENDLIST\n"
        case "/en.m3u8": isFirst ? head : head + "#EXTINF:60,\ne.ts\n"
        default: "x"
        }
      let type = target.hasSuffix(".m3u8") ? "application/vnd.apple.mpegurl" : "video/mp2t"
      connection.write(
        "HTTP/1.1 200 OK\r\nContent-Type: \(type)\r\nContent-Length: \(body.utf8.count)\r\nConnection: close\r\n\r\n\(body)"
      )
    }
    defer { server.stop() }
    var limits = StreamCheck.Limits()
    limits.whole = .seconds(300)
    let url = "http://127.0.0.1:\(server.port)/live.m3u8"
    let verdict = try await StreamCheck(NetworkSpecification(parsing: url), limits: limits).run()
    #expect(verdict.problems == [], "\(verdict)")
    #expect(requests.all.map(\.target).suffix(3) == ["/en.m3u8", "/en.m3u8", "/e.ts"])
  }

  @Test func `a server that refuses pages of other servers is requested as by a player`() async throws {
    let requests = Requests()
    let server = try LocalServer { connection in
      let head = connection.readHead()
      let origin = head.contains("Origin: ") ? "page" : nil
      requests.append("/", origin: origin)
      let status = origin == nil ? "404 Not Found" : "403 Forbidden"
      connection.write("HTTP/1.1 \(status)\r\nContent-Length: 0\r\nConnection: close\r\n\r\n")
    }
    defer { server.stop() }
    var limits = StreamCheck.Limits()
    limits.whole = .seconds(300)
    let url = "http://127.0.0.1:\(server.port)/live.m3u8"
    let verdict = try await StreamCheck(NetworkSpecification(parsing: url), limits: limits).run()
    #expect(verdict.problems == ["fault live.m3u8: the server does not have it (404)"])
    #expect(requests.all.map { $0.origin == nil } == [false, true])
  }

  @Test func `redirects without end, and those that lead nowhere, are named`() async throws {
    let circle = try await Self.verdict(["/live.m3u8": ("302 Found\r\nLocation: /live.m3u8", "")])
    #expect(circle.problems.count == 1 && circle.problems[0].contains("again and again (302)"), "\(circle)")
    let nowhere = try await Self.verdict(["/live.m3u8": ("301 Moved\r\nLocation: rtsp://other/", "")])
    #expect(nowhere.problems.count == 1 && nowhere.problems[0].contains("not to an address of HTTP"), "\(nowhere)")
  }

  @Test func `behind a redirect to TLS, the check begins again there`() async throws {
    let refusing = try SilentListener(listens: false)
    defer { refusing.close() }
    let place = "127.0.0.1:\(refusing.port)"
    for path in ["live.m3u8", "live/whep"] {
      let response = (head: "302 Found\r\nLocation: https://\(place)/\(path)", body: "")
      let verdict = try await Self.verdict(["/\(path)": response], path: path)
      #expect(
        verdict.problems == ["fault connection to \(place): no server listens there (connection refused)"],
        "\(verdict)")
      #expect(verdict.findings.first?.finding.meaning.hasSuffix("to \(place) over TLS") == true)
    }
  }

  @Test func `a server that accepts, and delivers nothing, is no firewall`() async throws {
    let listener = try SilentListener()
    defer { listener.close() }
    var limits = StreamCheck.Limits()
    limits.whole = .seconds(3)
    for (path, client) in [("live.m3u8", StreamClient.players), ("live/whep", .webRTC)] {
      let url = "http://127.0.0.1:\(listener.port)/\(path)"
      let verdict = try await StreamCheck(NetworkSpecification(parsing: url), limits: limits).run()
      #expect(verdict.problems.count == 1 && verdict.problems[0].contains("accepts the connection"), "\(verdict)")
      #expect(verdict.line(client).hasPrefix("fault: does not play"))
    }
  }
}
