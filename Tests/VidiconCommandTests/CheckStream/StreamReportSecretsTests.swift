import Foundation
import Media
import MediaInput
import TestSupport
import Testing

@testable import VidiconCommand

@Suite("Secrets in reports of checks of streams", .timeLimit(.minutes(5)))
struct StreamReportSecretsTests {
  private static let secret = "Xq7Zw9Kp3"

  /// The text of a report on an address.
  private static func report(_ url: String) async throws -> String {
    let specification = try NetworkSpecification(parsing: url)
    var limits = StreamCheck.Limits()
    limits.whole = .seconds(300)
    let verdict = try await StreamCheck(specification, limits: limits).run()
    return StreamCheckReport(
      address: specification.description, report: CheckReport(verdict.sections), observations: verdict.observations
    ).text
  }

  /// A server that responds to the paths of a table, and with 404 to others.
  private static func serve(_ responses: [String: String]) throws -> LocalServer {
    try LocalServer { connection in
      let words = connection.readHead().components(separatedBy: "\r\n")[0].split(separator: " ")
      guard let path = words.dropFirst().first?.prefix(while: { $0 != "?" }) else { return }
      let response = responses[String(path)] ?? "404 Not Found\r\nContent-Length: 0\r\n\r\n"
      connection.write("HTTP/1.1 \(response)")
    }
  }

  private static func playlist(_ text: String) -> String {
    "200 OK\r\nContent-Type: application/vnd.apple.mpegurl\r\nContent-Length: \(text.utf8.count)\r\n"
      + "Connection: close\r\n\r\n\(text)"
  }

  @Test(arguments: [
    "rtsp://anna:SECRET@HOST/live?token=SECRET", "rtmp://anna:SECRET@HOST/live/SECRET",
    "rtmp://HOST/live/door?key=SECRET", "http://anna:SECRET@HOST/live.m3u8?token=SECRET",
    "http://HOST/token=SECRET/live.m3u8", "http://anna:SECRET@HOST/live/whep?token=SECRET",
    "http://anna:SECRET@HOST/mjpeg?SECRET",
  ])
  func `the report on a server that is not there has no secret of the address`(url: String) async throws {
    let refusing = try SilentListener(listens: false)
    defer { refusing.close() }
    let address = url.replacing("SECRET", with: Self.secret).replacing("HOST", with: "127.0.0.1:\(refusing.port)")
    let text = try await Self.report(address)
    #expect(text.contains("no server listens there") && !text.contains(Self.secret), "\(text)")
  }

  @Test func `names of the resources of a playlist are in a report, and their queries are not`() async throws {
    let secret = Self.secret
    let variants =
      "#EXTM3U\n#EXT-X-MEDIA:TYPE=AUDIO,GROUP-ID=\"a\",NAME=\"English\",URI=\"en.m3u8?t=\(secret)\"\n"
      + "#EXT-X-STREAM-INF:BANDWIDTH=1,AUDIO=\"a\"\nvideo.m3u8?t=\(secret)\n"
    let video =
      "#EXTM3U\n#EXT-X-TARGETDURATION:60\n#EXT-X-KEY:METHOD=AES-128,URI=\"k1?t=\(secret)\"\n#EXTINF:60,\n"
      + "a.ts?t=\(secret)\n#EXT-X-ENDLIST\n"
    let server = try Self.serve(["/live.m3u8": Self.playlist(variants), "/video.m3u8": Self.playlist(video)])
    defer { server.stop() }
    let text = try await Self.report("http://anna:\(secret)@127.0.0.1:\(server.port)/live.m3u8?t=\(secret)")
    for name in ["a.ts", "k1", "en.m3u8"] { #expect(text.contains("\(name): the server does not have it"), "\(text)") }
    #expect(!text.contains(secret), "\(text)")
  }

  @Test func `the address that a server redirects to is its host and port`() async throws {
    let refusing = try SilentListener(listens: false)
    defer { refusing.close() }
    let place = "127.0.0.1:\(refusing.port)"
    for location in ["http://\(place)/x?t=\(Self.secret)", "https://\(place)/x?t=\(Self.secret)"] {
      let server = try Self.serve([
        "/live.m3u8": "302 Found\r\nLocation: \(location)\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"
      ])
      defer { server.stop() }
      let text = try await Self.report("http://127.0.0.1:\(server.port)/live.m3u8")
      #expect(text.contains(place) && !text.contains(Self.secret), "\(text)")
    }
  }
}
