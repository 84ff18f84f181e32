import Authentication
import Foundation
import HTTPTypes
import Media
import NIOCore
import StreamControl
import Streaming
import Synchronization
import Testing

@testable import ControlAPI
@testable import HTTPServer
@testable import Recording

@Suite("Recordings over HTTP", .timeLimit(.minutes(5)))
struct HTTPRecordingTests {
  /// Recording control with the state rules of the real one, and files in a temporary folder.
  final class FakeRecorder: Sendable {
    let folder = FileManager.default.temporaryDirectory.appending(path: "vidicon-http-\(UUID().uuidString)")
    private let status = Mutex(RecordingStatus())
    private let files = Mutex<[RecordedFile]>([])

    init() throws {
      try FileManager.default.createDirectory(at: self.folder, withIntermediateDirectories: true)
    }

    deinit { try? FileManager.default.removeItem(at: self.folder) }

    func set(_ status: RecordingStatus) { self.status.withLock { $0 = status } }

    /// Adds a file to the list; also creates it on disk unless `content` is nil.
    @discardableResult
    func add(_ name: String, _ content: String?, isFinished: Bool = true) throws -> String {
      let url = self.folder.appending(path: name)
      if let content {
        try FileManager.default.createDirectory(at: url.deletingLastPathComponent(), withIntermediateDirectories: true)
        try Data(content.utf8).write(to: url)
        // Old enough for `Last-Modified` to be a strong validator.
        try FileManager.default.setAttributes(
          [.modificationDate: Date(timeIntervalSince1970: 784_111_777)], ofItemAtPath: url.path)
      }
      self.files.withLock { files in
        files.append(
          RecordedFile(
            path: url.path, name: name, byteCount: content?.utf8.count ?? 0,
            modificationTime: Int64(1_000_000_000 * files.count), isFinished: isFinished))
      }
      return url.path
    }

    var recorder: RecordingControl {
      RecordingControl { action throws(VidiconError) in
        let isRunning = [.recording, .paused].contains(self.status.withLock { $0.state })
        if action == .start, self.files.withLock({ $0.isEmpty }) {
          throw VidiconError(.noSpace, subject: "/secret/a.mp4", cause: "the disk is full", nextStep: "make room")
        }
        guard isRunning == (action != .start) else {
          throw VidiconError(.wrongState, subject: "/secret/a.mp4", cause: "not now", nextStep: "try later")
        }
        self.status.withLock {
          $0.state = action == .stop ? .idle : action == .pause ? .paused : .recording
        }
      } status: {
        self.status.withLock { $0 }
      } files: {
        self.files.withLock { $0 }
      } file: { name in
        self.files.withLock { files in files.first { $0.name == name } }
      }
    }
  }

  /// Runs a server with the streams `cam/1`, which is recorded, and `other`, which is not.
  func withRecorder(
    _ access: AccessControl = .permissive(), settings: HTTPServerSettings = .patient(),
    _ body: (FakeRecorder, _ port: Int) async throws -> Void
  ) async throws {
    let fake = try FakeRecorder()
    var providers = WebServerProviders()
    providers.controls = { StreamControls(recording: $0.name == "cam/1" ? fake.recorder : nil) }
    providers.file = { page in
      page == .recordings ? .init(body: ByteBuffer(string: "<page>"), mediaType: "text/html", etag: "\"p\"") : nil
    }
    try await withServer(settings, access: access, providers: providers) { server, port in
      for name in ["cam/1", "other"] { server.serve(LiveStream(name, audio: AudioSettings())) }
      try await body(fake, port)
    }
  }

  private static let path = "/api/streams/cam/1/recording"
  private static let orderHead = "POST \(path) HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"

  /// Sends a control request.
  private static func post(
    _ body: String, to path: String = Self.path, type: String = "application/json", port: Int, _ fields: String...
  ) async throws -> (head: String, body: String) {
    let lines =
      [
        "POST \(path) HTTP/1.1", "Host: localhost", "Connection: close", "Content-Type: \(type)",
        "Content-Length: \(body.utf8.count)",
      ] + fields
    let text = try await RawClient.connect(port: port).exchange([lines.joined(separator: "\r\n") + "\r\n\r\n" + body])
    let end = try #require(text.firstRange(of: "\r\n\r\n"))
    return (String(text[..<end.lowerBound]), String(text[end.upperBound...]))
  }

  /// The status of a recording of 12 bytes that has lost 2 frames of video and 1 of audio.
  private static func status(_ state: RecordingStatus.State, duration: MediaDuration) -> RecordingStatus {
    var status = RecordingStatus()
    (status.state, status.duration, status.byteCount) = (state, duration, 12)
    (status.videoSamplesDropped, status.audioSamplesDropped) = (2, 1)
    return status
  }

  // MARK: - Control

  @Test func `a recording is started, paused, resumed and stopped, and each response has its state`() async throws {
    try await self.withRecorder { fake, port in
      try fake.add("a.mp4", "x")
      for (action, state) in [("start", "recording"), ("pause", "paused"), ("resume", "recording"), ("stop", "idle")] {
        let response = try await Self.post("{\"action\": \"\(action)\"}", port: port)
        #expect(response.head.hasPrefix("HTTP/1.1 200"), "\(action)")
        #expect(response.body.contains("\"state\":\"\(state)\""))
        #expect(try await RawClient.get(Self.path, port: port).body == response.body)
      }
    }
  }

  @Test func `the state contains everything about a recording except folders`() async throws {
    try await self.withRecorder { fake, port in
      var status = Self.status(.failed, duration: .milliseconds(1500))
      (status.path, status.file, status.partCount) = ("/secret/21 ä/a.mp4", "21 ä/a.mp4", 2)
      status.bitrate = 64_000
      status.error = VidiconError(
        .noSpace, subject: "/secret/21 ä/a.mp4", cause: "the disk is full", nextStep: "make room")
      fake.set(status)
      let response = try await RawClient.get(Self.path, port: port)
      #expect(
        response.body == #"{"bitrate":64000,"bytes":12,"drops":3,"duration":1.5,"error":"the disk is full; make room","#
          + #""file":"/recordings/cam/1/21%20%C3%A4/a.mp4","state":"failed"}"#)
      #expect(try await RawClient.get("/api/streams/cam/1", port: port).body.contains(#""recording":"\#(Self.path)""#))
      #expect(try await !RawClient.get("/api/streams/other", port: port).body.contains("recording"))
    }
  }

  @Test(arguments: [
    (ControlPolicy.operators, RecordingsPolicy.operators, false), (.operators, .viewers, true),
    (.all, .operators, true),
    (.none, .operators, false),
  ])
  func `who may not read recordings sees the state of one only`(
    control: ControlPolicy, recordings: RecordingsPolicy, seesFile: Bool
  ) async throws {
    let access = AccessControl.permissive {
      ($0.control, $0.recordings) = (control, recordings)
    }
    let token = access.makeToken(role: .operator)
    try await self.withRecorder(access) { fake, port in
      var status = Self.status(.recording, duration: .seconds(3))
      (status.path, status.file) = ("/home/me/a.mp4", "a.mp4")
      fake.set(status)
      let seen = try await RawClient.get(Self.path, port: port)
      #expect((seen.body == #"{"state":"recording"}"#) == !seesFile)
      #expect(seen.body.contains("a.mp4") == seesFile)
      let known = try await RawClient.get("\(Self.path)?token=\(token.text)", port: port)
      #expect(known.body.contains(#""file":"/recordings/cam/1/a.mp4""#))
    }
  }

  @Test func `links to recordings have a ticket, and no cache keeps the files`() async throws {
    let access = AccessControl.permissive { $0.control = .operators }
    let token = access.makeToken(role: .operator)
    try await self.withRecorder(access) { fake, port in
      try fake.add("a.mp4", "film")
      try fake.add("b.mp4", "other")
      let list = try await RawClient.get("/api/recordings?token=\(token.text)", port: port).body
      #expect(!list.contains(token.text))
      let tickets = list.matches(of: #/"ticket":"([0-9a-f]{48})"/#).map { String($0.1) }
      #expect(tickets.count == 2)
      // The newest file is the first.
      let link = "/recordings/cam/1/a.mp4?ticket=\(tickets[1])"
      let film = try await RawClient.get(link, port: port)
      #expect(film.head.hasPrefix("HTTP/1.1 200") && film.body == "film")
      #expect(film.head.contains("Cache-Control: private, no-cache"))
      for path in [
        "/recordings/cam/1/a.mp4", "/recordings/cam/1/a.mp4?ticket=\(tickets[0])",
        "/api/recordings?ticket=\(tickets[1])",
      ] {
        #expect(try await RawClient.get(path, port: port).head.hasPrefix("HTTP/1.1 401"), "\(path)")
      }
      // A user who was removed from the user file downloads nothing more.
      access.setUserFile(try UserFile(parsing: ""))
      #expect(try await RawClient.get(link, port: port).head.hasPrefix("HTTP/1.1 401"))
    }
    try await self.withRecorder(.permissive { ($0.control, $0.recordings) = (.operators, .viewers) }) { fake, port in
      try fake.add("a.mp4", "film")
      #expect(try await !RawClient.get("/api/recordings", port: port).body.contains("ticket"))
      let film = try await RawClient.get("/recordings/cam/1/a.mp4", port: port)
      #expect(film.head.contains("Cache-Control: private, no-cache"))
    }
  }

  @Test(arguments: [
    (#"{"action":"stop"}"#, "application/json", "409"),
    (#"{"action":"start"}"#, "Application/JSON; charset=utf-8", "500"),
    (#"{"action":"start"}"#, "text/plain", "415"), (#"{"action":"start"}"#, "application/x-www-form-urlencoded", "415"),
    (#"{"action":"start"}"#, "application/jsonx", "415"), (#"{"action":"start"}"#, "", "415"),
    (#"{"action":"toggle"}"#, "application/json", "400"), (#"{"action":1}"#, "application/json", "400"),
    ("{}", "application/json", "400"), ("[]", "application/json", "400"), ("", "application/json", "400"),
    ("{\"action\":\"start\"", "application/json", "400"),
    (String(repeating: "[", count: 1000), "application/json", "400"),
    (String(repeating: " ", count: 1025), "application/json", "413"),
  ])
  func `an invalid action is refused`(body: String, type: String, status: String) async throws {

    try await self.withRecorder { _, port in
      let response = try await Self.post(body, type: type, port: port)
      #expect(response.head.prefix(12).suffix(3) == status)
      #expect(!response.body.contains("secret"))
    }
  }

  @Test func `a body without an end, and one that is too long, are refused`() async throws {
    var settings = HTTPServerSettings.patient()
    settings.limits.bodyTime = .milliseconds(1)
    try await self.withRecorder(settings: settings) { _, port in
      let late = try await RawClient.connect(port: port).exchange([Self.orderHead + "Content-Length: 9\r\n\r\n{"])
      #expect(late.hasPrefix("HTTP/1.1 408"))
    }
    try await self.withRecorder { _, port in
      let endless = try await RawClient.connect(port: port)
        .exchange([
          Self.orderHead + "Transfer-Encoding: chunked\r\n\r\nffff\r\n" + String(repeating: " ", count: 0xFFFF)
        ])
      #expect(endless.hasPrefix("HTTP/1.1 413"))
    }
  }

  @Test(arguments: [
    ("other", "GET", "404"), ("other", "POST", "404"), ("none", "GET", "404"), ("none", "POST", "404"),
    ("cam/1", "PUT", "405"), ("cam/1", "DELETE", "405"), ("cam/1", "HEAD", "200"),
  ])
  func `other streams and methods get their error status`(name: String, method: String, status: String) async throws {

    try await self.withRecorder { _, port in
      let response = try await RawClient.get("/api/streams/\(name)/recording", port: port, method: method)
      #expect(response.head.prefix(12).suffix(3) == status)
      if method == "PUT" { #expect(response.head.contains("Allow: GET, HEAD, POST, OPTIONS")) }
    }
  }

  @Test func `pages of other origins can neither control nor read recordings`() async throws {
    try await self.withRecorder { fake, port in
      try fake.add("a.mp4", "x")
      let preflight = try await RawClient.get(
        Self.path, port: port, method: "OPTIONS", "Origin: http://evil", "Access-Control-Request-Method: POST",
        "Access-Control-Request-Headers: content-type")
      #expect(preflight.head.hasPrefix("HTTP/1.1 403"))
      for path in [Self.path, "/api/recordings", "/recordings/", "/recordings/cam/1/a.mp4", "/recordings/cam/1/none"] {
        let response = try await RawClient.get(path, port: port, "Origin: http://evil")
        #expect(response.head.hasPrefix("HTTP/1.1 403"), "\(path)")
        #expect(!response.head.contains("Access-Control"), "\(path)")
        #expect(response.head.contains("Cross-Origin-Resource-Policy: same-origin"), "\(path)")
      }
      #expect(!preflight.head.contains("Access-Control"))
      #expect(try await !Self.post(#"{"action":"start"}"#, port: port, "Origin: http://evil").head.contains("Access-"))
      #expect(try await !RawClient.get("/api/streams", port: port).head.contains("Access-Control"))
    }
  }

  @Test func `recording, listing and downloading require an operator`() async throws {
    let access = AccessControl.permissive {
      $0.users = [Credentials(user: "eve", password: "x"), Credentials(user: "us", password: "pw", role: .operator)]
    }
    try await self.withRecorder(access) { fake, port in
      try fake.add("a.mp4", "content")
      let command = #"{"action":"start"}"#
      #expect(try await Self.post(command, port: port).head.hasPrefix("HTTP/1.1 401"))
      for path in [Self.path, "/api/recordings", "/recordings", "/recordings/", "/recordings/cam/1/a.mp4"] {
        #expect(try await RawClient.get(path, port: port).head.hasPrefix("HTTP/1.1 401"), "\(path)")
        #expect(
          try await RawClient.get(path, port: port, "Authorization: Basic dXM6cHc=").head.hasPrefix("HTTP/1.1 200"))
      }
      #expect(
        try await Self.post(command, port: port, "Authorization: Basic dXM6cHc=").head.hasPrefix("HTTP/1.1 200"))
    }
  }

  // MARK: - Files

  @Test func `files are listed newest first, and an HTML page exists`() async throws {
    try await self.withRecorder { fake, port in
      #expect(try await RawClient.get("/api/recordings", port: port).body == #"{"bytes":0,"recordings":[],"total":0}"#)
      try fake.add("a.mp4", "12345")
      try fake.add("day/b c.mp4", "1", isFinished: false)
      #expect(
        try await RawClient.get("/api/recordings", port: port).body
          == #"{"bytes":6,"recordings":[{"bytes":1,"file":"/recordings/cam/1/day/b%20c.mp4","finished":false,"#
          + #""modifiedAt":"1970-01-01T00:00:01.000Z","name":"day/b c.mp4","stream":"cam/1"},"#
          + #"{"bytes":5,"file":"/recordings/cam/1/a.mp4","finished":true,"#
          + #""modifiedAt":"1970-01-01T00:00:00.000Z","name":"a.mp4","stream":"cam/1"}],"total":2}"#)
      for path in ["/recordings/", "/recordings"] {
        #expect(try await RawClient.get(path, port: port).body == "<page>")
      }
    }
  }

  @Test func `the list is paginated and contains the total`() async throws {
    try await self.withRecorder { fake, port in
      for index in 0..<1003 { try fake.add("\(index).mp4", nil) }
      func names(_ query: String) async throws -> [String] {
        let body = try await RawClient.get("/api/recordings\(query)", port: port).body
        #expect(body.hasSuffix(#""total":1003}"#))
        return body.matches(of: #/"name":"(\d+)\.mp4"/#).map { String($0.output.1) }
      }
      #expect(try await names("") == (3..<1003).reversed().map { "\($0)" })
      #expect(try await names("?limit=2&offset=1") == ["1001", "1000"])
      #expect(try await names("?offset=1000") == ["2", "1", "0"])
      #expect(try await names("?offset=1000000000") == [])
      for query in ["?limit=0", "?limit=1001", "?limit=x", "?offset=-1", "?offset=99999999999999999999"] {
        #expect(
          try await RawClient.get("/api/recordings\(query)", port: port).head.hasPrefix("HTTP/1.1 400"), "\(query)")
      }
    }
  }

  @Test func `metrics contain the state of a recording`() async throws {
    try await self.withRecorder { fake, port in
      fake.set(Self.status(.paused, duration: .milliseconds(1500)))
      let text = try await RawClient.get("/metrics", port: port).body
      for line in [
        #"vidicon_recording_state{stream="cam/1",state="paused"} 1"#,
        #"vidicon_recording_state{stream="cam/1",state="recording"} 0"#,
        #"vidicon_recording_seconds{stream="cam/1"} 1.5"#, #"vidicon_recording_bytes{stream="cam/1"} 12"#,
        #"vidicon_recording_drops{stream="cam/1"} 3"#,
      ] {
        #expect(text.contains("\(line)\n"), "\(line)")
      }
      #expect(text.matches(of: #/vidicon_recording\w*\{stream="cam/1",state="\w+"\} 1/#).count == 1)
      #expect(!text.contains(#"recording_state{stream="other""#))
    }
  }

  @Test func `those who may not list recordings find only in the metrics that there is one`() async throws {
    let access = AccessControl.permissive { $0.control = .operators }
    let token = access.makeToken(role: .operator).text
    try await self.withRecorder(access) { fake, port in
      fake.set(Self.status(.recording, duration: .milliseconds(1500)))
      let names = ["recording_seconds{", "recording_bytes{", "recording_drops{"]
      let open = try await RawClient.get("/metrics", port: port).body
      #expect(open.contains(#"vidicon_recording_state{stream="cam/1",state="recording"} 1"#))
      #expect(!names.contains(where: open.contains), "\(open)")
      let all = try await RawClient.get("/metrics?token=\(token)", port: port).body
      try await expectMetrics(all)
      #expect(names.allSatisfy(all.contains), "\(all)")
    }
  }

  @Test func `a client that sends Expect is answered`() async throws {
    try await self.withRecorder { fake, port in
      try fake.add("a.mp4", "x")
      let head = Self.orderHead + "Connection: close\r\nExpect: 100-continue\r\n"
      let body = #"{"action":"start"}"#
      let client = try await RawClient.connect(port: port)
      let word = try await client.exchange([head + "Content-Length: \(body.utf8.count)\r\n\r\n"], until: "\r\n\r\n")
      #expect(word.hasPrefix("HTTP/1.1 100 Continue\r\n"))
      let tooLong = try await RawClient.connect(port: port).exchange([head + "Content-Length: 2000000\r\n\r\n"])
      #expect(tooLong.hasPrefix("HTTP/1.1 413"))
      // HTTP/1.0 has no 100 Continue, and requests whose body is not read get their final response.
      let old = try await RawClient.connect(port: port)
        .exchange([head.replacing("HTTP/1.1", with: "HTTP/1.0") + "Content-Length: \(body.utf8.count)\r\n\r\n" + body])
      #expect(old.hasPrefix("HTTP/1.") && old.prefix(12).suffix(3) == "200")
      let get = try await RawClient.connect(port: port)
        .exchange(["GET /health HTTP/1.1\r\nHost: localhost\r\nExpect: 100-continue\r\nContent-Length: 5\r\n\r\n"])
      #expect(get.hasPrefix("HTTP/1.1 200"))
      // A pipelined request gets its 100 Continue after the response to the request before it.
      let second = try await RawClient.connect(port: port)
        .exchange(
          ["GET /health HTTP/1.1\r\nHost: localhost\r\n\r\n" + head + "Content-Length: \(body.utf8.count)\r\n\r\n"],
          until: "100 Continue")
      #expect(second.hasPrefix("HTTP/1.1 200"))
    }
  }
}
