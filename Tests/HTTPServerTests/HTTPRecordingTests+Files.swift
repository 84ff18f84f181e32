import Authentication
import Foundation
import HTTPTypes
import Media
import NIOCore
import StreamControl
import Streaming
import Synchronization
import Testing
import Threading

@testable import ControlAPI
@testable import HTTPServer
@testable import Recording

/// Downloads of recorded files: ranges, validators, memory and descriptors.
extension HTTPRecordingTests {
  @Test func `a file is sent with length, type, date and entity tag`() async throws {
    try await self.withRecorder { fake, port in
      try fake.add("day/\"ä\".mp4", "0123456789")
      let response = try await RawClient.get("/recordings/cam/1/day/%22%C3%A4%22.mp4", port: port)
      #expect(response.body == "0123456789")
      for field in [
        "HTTP/1.1 200 OK", "Content-Type: video/mp4", "Content-Length: 10", "Accept-Ranges: bytes", "ETag: \"",
        "Last-Modified: Sun, 06 Nov 1994 08:49:37 GMT", "Cache-Control: private, no-cache",
        "Content-Disposition: attachment; filename=\"___.mp4\"; filename*=UTF-8''%22%C3%A4%22.mp4",
        "X-Content-Type-Options: nosniff",
      ] {
        #expect(response.head.contains(field), "\(field)")
      }
      let head = try await RawClient.get("/recordings/cam/1/day/%22%C3%A4%22.mp4", port: port, method: "HEAD")
      #expect(head.body == "")
      #expect(head.head.contains("Content-Length: 10"))
      for method in ["POST", "PUT", "DELETE"] {
        let refused = try await RawClient.get("/recordings/cam/1/day/%22%C3%A4%22.mp4", port: port, method: method)
        #expect(refused.head.hasPrefix("HTTP/1.1 405"))
      }
    }
  }

  @Test(
    arguments: [
      ("bytes=2-4", "206", "234", "bytes 2-4/10"), ("bytes=8-", "206", "89", "bytes 8-9/10"),
      ("bytes=-3", "206", "789", "bytes 7-9/10"), ("bytes=0-99", "206", "0123456789", "bytes 0-9/10"),
      ("bytes=10-", "416", "the file has only 10 bytes\n", "bytes */10"),
      ("bytes=1-2,4-5", "200", "0123456789", nil), ("bytes=x", "200", "0123456789", nil),
    ] as [(String, String, String, String?)])
  func `ranges of a file`(range: String, status: String, body: String, contentRange: String?) async throws {

    try await self.withRecorder { fake, port in
      try fake.add("a.mp4", "0123456789")
      let response = try await RawClient.get("/recordings/cam/1/a.mp4", port: port, "Range: \(range)")
      #expect(response.head.prefix(12).suffix(3) == status)
      #expect(response.body == body)
      #expect(response.head.contains("Content-Length: \(body.utf8.count)"))
      #expect(response.head.contains("Content-Range: ") == (contentRange != nil))
      if let contentRange { #expect(response.head.contains("Content-Range: \(contentRange)")) }
    }
  }

  @Test func `a client resumes a download while the file is unchanged`() async throws {
    try await self.withRecorder { fake, port in
      let (path, date) = ("/recordings/cam/1/a.mp4", "Sun, 06 Nov 1994 08:49:37 GMT")
      let file = try fake.add("a.mp4", "0123456789")
      func status(_ fields: String...) async throws -> String {
        let lines = ["GET \(path) HTTP/1.1", "Host: localhost", "Connection: close", "Range: bytes=1-2"] + fields
        let text = try await RawClient.connect(port: port).exchange([lines.joined(separator: "\r\n") + "\r\n\r\n"])
        return String(text.prefix(12).suffix(3))
      }
      let head = try await RawClient.get(path, port: port).head
      let etag = try #require(head.firstMatch(of: #/ETag: (".*")/#)?.output.1)
      #expect(try await status("If-Range: \(etag)") == "206")
      #expect(try await status("If-Range: \(date)") == "206")
      #expect(try await status("If-Range: Sun, 06 Nov 1994 08:49:38 GMT") == "200")
      #expect(try await status("If-Range: W/\(etag)") == "200")
      #expect(try await status("If-None-Match: \(etag)") == "304")
      #expect(try await status("If-Modified-Since: \(date)") == "304")
      #expect(try await status("If-None-Match: \"x\"", "If-Modified-Since: \(date)") == "206")
      // The file is replaced. Its time is ahead, so that it is not old enough however long the test takes.
      try Data("abcdefghij".utf8).write(to: URL(filePath: file))
      try FileManager.default.setAttributes([.modificationDate: Date.now.addingTimeInterval(600)], ofItemAtPath: file)
      #expect(try await status("If-Range: \(etag)") == "200")
      let now = try #require(
        try await RawClient.get(path, port: port).head.firstMatch(of: #/Last-Modified: (.*)/#)?.output.1)
      #expect(try await status("If-Range: \(now.trimmingCharacters(in: .whitespacesAndNewlines))") == "200")
    }
  }

  @Test(arguments: [
    "/recordings/cam/1/../../../etc/passwd", "/recordings/cam/1/%2e%2e/a.mp4", "/recordings/cam/1/..%2fsecret",
    "/recordings/cam/1//etc/passwd", "/recordings/cam/1/%2fetc%2fpasswd", "/recordings/cam/1/a.mp4%00",
    "/recordings/cam/1/A.MP4", "/recordings/cam/1/secret", "/recordings/cam/1/.", "/recordings/cam/1/link.mp4",
    "/recordings/cam/1/pipe.mp4", "/recordings/cam/1/folder.mp4", "/recordings/cam/1/gone.mp4",
    "/recordings/cam/1", "/recordings/other/a.mp4", "/recordings/cam/a.mp4", "/recordings/cam/1/a.mp4/x",
    "/recordings/cam/1/..%5csecret",
  ])
  func `only regular files of the list are sent`(path: String) async throws {

    try await self.withRecorder { fake, port in
      try fake.add("a.mp4", "x")
      try fake.add("gone.mp4", nil)
      let secret = fake.folder.appending(path: "secret").path
      try Data("secret".utf8).write(to: URL(filePath: secret))
      try FileManager.default.createSymbolicLink(
        atPath: try fake.add("link.mp4", nil), withDestinationPath: secret)
      #expect(mkfifo(try fake.add("pipe.mp4", nil), 0o600) == 0)
      try FileManager.default.createDirectory(
        atPath: try fake.add("folder.mp4", nil), withIntermediateDirectories: false)
      let refused = try await RawClient.get(path, port: port)
      #expect(["400", "404"].contains(refused.head.prefix(12).suffix(3)) && !refused.body.contains("secret"))
      #expect(try await RawClient.get("/recordings/cam/1/a.mp4", port: port).body == "x")
    }
  }

  @Test func `a large file is sent completely, and a growing one up to its length at the request`() async throws {
    try await self.withRecorder { fake, port in
      let content = String(repeating: "0123456789abcdef", count: 100_000)
      let file = try fake.add("a.mp4", content, isFinished: false)
      #expect(try await RawClient.get("/recordings/cam/1/a.mp4", port: port).body == content)
      let handle = try FileHandle(forWritingTo: URL(filePath: file))
      try handle.seekToEnd()
      try handle.write(contentsOf: Data("more".utf8))
      try handle.close()
      let tail = try await RawClient.get("/recordings/cam/1/a.mp4", port: port, "Range: bytes=1599998-")
      #expect(tail.body == "efmore")
      #expect(tail.head.contains("Content-Range: bytes 1599998-1600003/1600004"))
    }
  }

  @Test func `a download that is not read uses bounded memory and is closed`() async throws {
    var settings = HTTPServerSettings.patient()
    settings.limits.stallTime = .milliseconds(1)
    settings.limits.downloads = 1
    try await self.withRecorder(settings: settings) { fake, port in
      let path = try fake.add("a.mp4", "")
      // A sparse file: large, and takes no disk space.
      #expect(truncate(path, 1 << 40) == 0)
      let request = "GET /recordings/cam/1/a.mp4 HTTP/1.1\r\nHost: localhost\r\n\r\n"
      let client = try await RawClient.connect(port: port)
      let text = try await client.exchange([request], until: "\r\n\r\n")
      #expect(text.contains("Content-Length: 1099511627776"))
      // The client has disconnected; its slot becomes free eventually.
      var head = ""
      let end = ContinuousClock.now + .seconds(300)
      repeat {
        head = try await RawClient.get("/recordings/cam/1/a.mp4", port: port, method: "HEAD").head
      } while head.hasPrefix("HTTP/1.1 503") && ContinuousClock.now < end
      #expect(head.hasPrefix("HTTP/1.1 200"))
    }
  }

  @Test func `a file is closed after its last download, and open files are limited`() async throws {
    let fake = try FakeRecorder()
    let path = try fake.add("a.mp4", "0123456789")
    let files = OpenFiles(most: 1)
    var file: OpenFile? = try await files.open(path)
    await #expect(throws: OpenFile.Failure.tooMany) { try await files.open(path) }
    let bytes = try await file?.read(2..<5)
    #expect(bytes == ByteBuffer(string: "234"))
    #expect(truncate(path, 3) == 0)
    let shortened = file
    await #expect(throws: OpenFile.Failure.unreadable) { _ = try await shortened?.read(2..<5) }
    file = nil
    await #expect(throws: OpenFile.Failure.tooMany) { try await files.open(path) }
    withExtendedLifetime(shortened) {}
  }

  @Test func `a network has half of the downloads, and the last quarter is for operators`() async throws {
    let fake = try FakeRecorder()
    let path = try fake.add("a.mp4", "0123456789")
    let files = OpenFiles(most: 8)
    var open: [OpenFile] = []
    for (host, count) in [(0, 4), (1, 2)] {
      for _ in 0..<count { open.append(try await files.open(path, for: .v4(UInt32(host)))) }
      await #expect(throws: OpenFile.Failure.tooMany) { try await files.open(path, for: .v4(UInt32(host))) }
    }
    await #expect(throws: OpenFile.Failure.tooMany) { try await files.open(path, for: .v4(0), isOperator: true) }
    for _ in 0..<2 { open.append(try await files.open(path, for: .v4(9), isOperator: true)) }
    await #expect(throws: OpenFile.Failure.tooMany) { try await files.open(path, for: .v4(8), isOperator: true) }
    #expect(open.count == 8)
    open.removeFirst()
    // The thread that has opened a file may hold it a moment longer than its work.
    let end = StreamClock.system.now() + .seconds(300)
    while open.count < 8, StreamClock.system.now() < end {
      if let file = try? await files.open(path, for: .v4(8), isOperator: true) { open.append(file) }
    }
    #expect(open.count == 8)
    withExtendedLifetime(fake) {}
  }

  @Test func `a file that cannot be opened occupies no slot`() async throws {
    let files = OpenFiles(most: 1)
    for _ in 0..<2 {
      await #expect(throws: OpenFile.Failure.notFound) { try await files.open("/nowhere/at/all") }
    }
  }
}
