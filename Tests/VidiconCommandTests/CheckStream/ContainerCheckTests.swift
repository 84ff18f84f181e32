import Foundation
import Media
import MediaInput
import NIOCore
import TestSupport
import Testing

@testable import VidiconCommand

@Suite("Check of media over HTTP that has no playlist", .timeLimit(.minutes(5)))
struct ContainerCheckTests {
  /// The verdict on a resource whose server sends these bytes.
  ///
  /// - Parameters:
  ///   - length: `Content-Length`; nil for the number of bytes, 0 for none.
  ///   - received: Number of bytes that are received at least.
  private static func verdict(
    _ type: String, _ bytes: Data, length: Int? = nil, receiving received: Int? = nil
  ) async throws -> StreamVerdict {
    let length = length ?? bytes.count
    let head = "HTTP/1.1 200 OK\r\nContent-Type: \(type)\r\nConnection: close\r\n"
    let server = try LocalServer { connection in
      _ = connection.readHead()
      connection.write(head + (length > 0 ? "Content-Length: \(length)\r\n\r\n" : "\r\n"))
      connection.write(bytes)
      connection.waitForEnd()
    }
    defer { server.stop() }
    var limits = StreamCheck.Limits()
    (limits.whole, limits.response) = (.seconds(300), .seconds(300))
    if let received { limits.responseLength = received }
    let url = "http://127.0.0.1:\(server.port)/live"
    return try await StreamCheck(NetworkSpecification(parsing: url), limits: limits).run()
  }

  /// A file of H.264 and AAC in the format that its name ends with.
  private static func media(_ format: String) throws -> Data {
    let path = try TestMedia.flashAndBeep("check-media.\(format)", ["-c:v", "libx264", "-c:a", "aac"])
    return try Data(contentsOf: URL(filePath: path))
  }

  @Test(arguments: [
    ("ts", "text/vnd.trolltech.linguist", "MPEG-TS"), ("mp4", "video/mp4", "MP4"),
    ("mkv", "application/octet-stream", "Matroska"),
    ("flv", "video/x-flv", "FLV"),
  ])
  func `a file plays by what it has`(format: String, type: String, name: String) async throws {
    let verdict = try await Self.verdict(type, Self.media(format))
    #expect(verdict.problems == [] && verdict.line(.players) == "ok: plays", "\(verdict)")
    #expect(verdict.findings.contains { $0.finding.meaning.hasPrefix("\(name) with h264 and aac, ") }, "\(verdict)")
    #expect(verdict.line(.browsers) == "none")
  }

  @Test func `a live transport stream plays, without a length and amid a packet at the end`() async throws {
    let bytes = try Self.media("ts")
    let verdict = try await Self.verdict("video/mp2t", bytes, length: 0, receiving: bytes.count - 100)
    #expect(verdict.problems == [] && verdict.line(.players) == "ok: plays", "\(verdict)")
  }

  @Test func `a file of MP4 whose index comes last is not judged by its beginning`() async throws {
    let file = try Self.media("mp4")
    let bytes = file.prefix(file.count / 2)
    let verdict = try await Self.verdict("video/mp4", bytes, length: file.count, receiving: bytes.count)
    #expect(verdict.problems == [] && verdict.line(.players).hasPrefix("ok: not judged: the index"), "\(verdict)")
    // One whose server ends it early is a fault all the same.
    var result = HTTPResult(status: 200)
    result.pieces = [.init(time: 0.1, bytes: ByteBuffer(bytes: bytes.prefix(40)))]
    result.ending = .closed
    for content in [ContainerObservation.Content.indexBehindMedia, .unknown] {
      let early = ContainerObservation(result, content: content).verdict
      #expect(early.problems == ["fault media: the server ends the response after 40 bytes, before its end"])
    }
    // One that was received as a whole, and has none, is damaged.
    let cut = try await Self.verdict("video/mp4", bytes)
    #expect(cut.problems.count == 1 && cut.problems[0].hasPrefix("fault media: "), "\(cut)")
  }

  @Test func `media that ffmpeg does not open is a fault, and a description of DASH is not judged`() async throws {
    let garbage = try await Self.verdict("video/mp2t", Data(repeating: 0x78, count: 10_000))
    #expect(garbage.problems.count == 1 && garbage.problems[0].contains("have neither video nor audio"), "\(garbage)")
    #expect(garbage.line(.players).hasPrefix("fault: does not play"))
    let dash = try await Self.verdict("application/dash+xml", Data("<?xml version=\"1.0\"?><MPD/>".utf8))
    #expect(dash.problems == [] && dash.line(.players) == "ok: not judged: it is MPEG-DASH", "\(dash)")
    // Other text is what it was: no playlist.
    let page = try await Self.verdict("text/html", Data("<html>".utf8))
    #expect(page.problems == ["fault playlist: the response does not start with #EXTM3U; it is text/html"], "\(page)")
  }
}
