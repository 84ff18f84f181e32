import Authentication
import Capture
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

extension SourceCatalog {
  /// A catalog without sources and cameras.
  static let none = Self.empty { _ in [] }
}

@Suite("Streams changed over HTTP", .timeLimit(.minutes(5)))
struct HTTPControlTests {
  /// A camera that records the values of its controls.
  final class Camera: ControllableCapturer {
    static let zoom = DeviceControl(
      name: "zoom-absolute", label: "Zoom", kind: .integer, range: 1...9, step: 2, defaultValue: 1, value: 5)
    static let powerLine = DeviceControl(
      name: "power-line", label: "Power", kind: .menu, range: 0...2, defaultValue: 1, value: 2,
      menu: [.init(value: 0, label: "Off"), .init(value: 2, label: "60 Hz")], isReadOnly: true, isInactive: true)

    let format = VideoFormat(width: 64, height: 36)
    let isStarted = false
    let values = Mutex<[String: Int]>([:])

    func start(consumer: any VideoConsumer) {}
    func stop() {}
    var controls: [DeviceControl] { [Self.zoom, Self.powerLine] }
    func setControl(_ name: String, to value: Int) { self.values.withLock { $0[name] = value } }
  }

  /// The stream `cam/1`, and the requests that reach its catalog.
  final class Fixture: Sendable {
    let stream = LiveStream("cam/1", video: VideoSettings(bitrate: 700_000))
    let sources: StreamSources
    private let memory: Memory

    private final class Memory: Sendable {
      let state = Mutex<(opened: [SourceNames], failure: VidiconError?)>(([], nil))
    }

    init() async throws {
      let memory = Memory()
      var catalog = SourceCatalog.none
      catalog.open = { request throws(VidiconError) in
        let failure = memory.state.withLock { state in
          state.opened.append(SourceNames(video: request.video?.name, audio: request.audio?.name))
          return state.failure
        }
        if let failure { throw failure }
        return .init(
          video: request.video.map { _ in Camera() }, audio: request.audio.map { _ in SilenceCapturer() })
      }
      self.memory = memory
      self.stream.attachAudio(SilenceCapturer())
      self.sources = StreamSources(self.stream, video: "plasma", audio: "auto", catalog: catalog)
      try await self.sources.replace(video: "file:/home/me/a.mp4", audio: "mic:")
      (self.stream.isMirrored, self.stream.rotation, self.stream.isPreviewMirrored) = (true, .left, true)
      self.stream.videoBitrate = 1_000_000
      memory.state.withLock { $0.opened = [] }
    }

    /// The sources that were requested of the catalog.
    var opened: [SourceNames] { self.memory.state.withLock { $0.opened } }

    /// Lets the catalog fail.
    func fail(_ error: VidiconError) { self.memory.state.withLock { $0.failure = error } }
  }

  func withControl(
    access: AccessControl = .permissive(), catalog: SourceCatalog? = nil,
    _ body: (Fixture, _ port: Int) async throws -> Void
  ) async throws {
    let fixture = try await Fixture()
    var providers = WebServerProviders()
    providers.controls = { StreamControls(sources: $0 === fixture.stream ? fixture.sources : nil) }
    providers.catalog = catalog
    try await withServer(access: access, providers: providers) { server, port in
      for stream in [fixture.stream, LiveStream("other")] { server.serve(stream) }
      try await body(fixture, port)
    }
  }

  static let stream = "/api/streams/cam/1"
  static let source = "/api/streams/cam/1/source"

  static func send(
    _ method: String, _ body: String, to path: String, type: String = "application/json", host: String = "127.0.0.1",
    port: Int, _ fields: String...
  ) async throws -> (head: String, body: String) {
    let lines =
      [
        "\(method) \(path) HTTP/1.1", "Host: \(host)", "Connection: close", "Content-Type: \(type)",
        "Content-Length: \(body.utf8.count)",
      ] + fields
    let text = try await RawClient.connect(port: port).exchange([lines.joined(separator: "\r\n") + "\r\n\r\n" + body])
    let end = try #require(text.firstRange(of: "\r\n\r\n"))
    return (String(text[..<end.lowerBound]), String(text[end.upperBound...]))
  }

  /// Checks whether a request under a host name gets the folder of the source.
  static func expectSource(_ expected: String, _ host: String, port: Int, _ fields: String...) async throws {
    let lines = ["GET \(Self.source) HTTP/1.1", "Host: \(host)", "Connection: close"] + fields
    let text = try await RawClient.connect(port: port).exchange([lines.joined(separator: "\r\n") + "\r\n\r\n"])
    let seen = text.contains(#""video":"file:/home/me/a.mp4""#) ? "all" : "hidden"
    #expect(seen == expected, "\(lines)")
  }

  static func status(_ response: (head: String, body: String)) -> String {
    String(response.head.prefix(12).suffix(3))
  }

  // MARK: - State

  @Test func `the state of a stream contains the controls of its camera`() async throws {
    try await self.withControl { _, port in
      let response = try await RawClient.get(Self.stream, port: port)
      for part in [
        #""source":{"audio":"mic:","insecure":false,"started":{"audio":"auto","video":"plasma"},"video":"file:/home/me/a.mp4"}"#,
        #""bitrate":1000000"#, #""mirror":true"#, #""rotation":270"#, #""mute":false"#, #""pause":false"#,
        #""previewMirrored":true"#, #""level":{"peak":-120,"rms":-120}"#,
        #""controls":{"power-line":2,"zoom-absolute":5}"#,
        #"{"defaultValue":1,"inactive":false,"kind":"integer","label":"Zoom","maximum":9,"minimum":1,"#
          + #""name":"zoom-absolute","readOnly":false,"step":2,"value":5}"#,
        #""menu":[{"label":"Off","value":0},{"label":"60 Hz","value":2}]"#,
      ] {
        #expect(response.body.contains(part), "\(part) in \(response.body)")
      }
      let list = try await RawClient.get("/api/streams", port: port)
      #expect(list.body.contains(#""rotation":270"#))
      #expect(!list.body.contains("zoom"))
      let level = try await RawClient.get("\(Self.stream)/level", port: port)
      #expect(level.body == #"{"peak":-120,"rms":-120}"#)
      #expect(try await !RawClient.get("/api/streams/other", port: port).body.contains("mirror"))
    }
  }

  @Test func `levels are rounded to tenths between -120 and 0 dBFS`() {
    let level = StreamEntry.Level(AudioLevel(peak: -3.04, rms: -.infinity))
    #expect((level.peak, level.rms) == (-3, -120))
    #expect(StreamEntry.Level(AudioLevel(peak: 1, rms: -0.06)).peak == 0)
  }

  @Test func `sources are replaced, and the response is the new state of the stream`() async throws {
    try await self.withControl(access: .permissive { $0.control = .all }) { fixture, port in
      let response = try await Self.send("PUT", #"{"video": "bars"}"#, to: Self.source, port: port)
      #expect(Self.status(response) == "200")
      #expect(response.body.contains(#""video":"bars""#))
      // Mirroring belongs to the previous source.
      #expect(response.body.contains(#""mirror":false"#))
      _ = try await Self.send("PUT", #"{"audio":"tone","video":"é"}"#, to: Self.source, host: "cam", port: port)
      #expect(fixture.opened == [.init(video: "bars"), .init(video: "é", audio: "tone")])
      for source in ["file:/home/me/b.mp4", "screen:", "mic:"] {
        let body = #"{"audio":"\#(source)"}"#
        let refused = try await Self.send("PUT", body, to: Self.source, host: "cam", port: port)
        #expect(Self.status(refused) == "403" && !refused.body.contains("/home"))
        let status = Self.status(try await Self.send("PUT", body, to: Self.source, port: port))
        // Files are chosen from given folders only, by operators too.
        #expect(status == (source.hasPrefix("file:") ? "403" : "200"))
      }
    }
  }

  @Test(arguments: [
    ("", "the body is no JSON"), ("{", "the body is no JSON"), (#"{"video":"#, "the body is no JSON"),
    ("[]", #"the body is {"video": SPEC, "audio": SPEC}"#), ("null", #"the body is {"video": SPEC, "audio": SPEC}"#),
    ("{}", #"the body is {"video": SPEC, "audio": SPEC}, at least one of them"#),
    (#"{"video":1}"#, #""video" is a source, as text"#), (#"{"audio":null}"#, #""audio" is a source, as text"#),
    (#"{"audio":["mic:"]}"#, #""audio" is a source, as text"#),
    (#"{"video":"plasma","sound":"tone"}"#, #""sound" is not a key; the keys are video, audio"#),
    (#"{"video":"a\nb"}"#, #""video" contains a control character"#),
    (#"{"video":"a\u0000"}"#, #""video" contains a control character"#),
    (String(repeating: "[", count: 9000), "the body is no JSON"),
  ])
  func `a body that names no sources is refused with the reason`(body: String, reason: String) async throws {

    try await self.withControl { fixture, port in
      let response = try await Self.send("PUT", body, to: Self.source, port: port)
      #expect(Self.status(response) == "400")
      #expect(response.body == reason + "\n")
      #expect(fixture.opened.isEmpty)
    }
  }

  @Test(
    arguments: [
      (.invalidSpecification, "400"), (.notFound, "502"), (.notPermitted, "502"), (.busy, "502"), (.failed, "502"),
    ] as [(VidiconError.Code, String)])
  func `a source that fails is a bad gateway, an unknown one a bad request`(
    code: VidiconError.Code, status: String
  ) async throws {
    try await self.withControl { fixture, port in
      fixture.fail(VidiconError(code, subject: "x", cause: "it cannot be", nextStep: "do otherwise"))
      let response = try await Self.send("PUT", #"{"video":"x"}"#, to: Self.source, port: port)
      #expect(Self.status(response) == status)
      #expect(response.body == "x: it cannot be; do otherwise\n")
      #expect(fixture.sources.video == "file:/home/me/a.mp4")
    }
  }

  @Test(
    arguments: [
      (.notPermitted, 403), (.wrongState, 409), (.timedOut, 502), (.busy, 503),
    ] as [(VidiconError.Code, Int)])
  func `a refused change has the status of its code`(code: VidiconError.Code, status: Int) {

    let error = HTTPRefusal(VidiconError(code, subject: "x", cause: "it cannot be", nextStep: "do otherwise"))
    let response = error.response
    #expect(response.status.code == status)
    #expect(error.reason == "x: it cannot be; do otherwise")
    #expect(response.fields[.retryAfter] == (code == .busy ? "5" : nil))
  }

  // MARK: - Settings

  @Test func `every setting is changed, and null restores its default`() async throws {
    try await self.withControl { fixture, port in
      let stream = fixture.stream
      let camera = try #require(stream.videoSource as? Camera)
      for body in [
        #"{"bitrate":50000,"mirror":false,"rotation":180,"mute":true,"pause":true,"controls":{"zoom-absolute":7}}"#,
        "{}",
      ] {
        let response = try await Self.send(
          "PATCH", body, to: Self.stream, type: "application/merge-patch+json", port: port)
        #expect(Self.status(response) == "200")
        #expect(response.body.contains(#""zoom-absolute":5"#))
        #expect((stream.videoBitrate, stream.isMirrored, stream.rotation) == (50_000, false, .down))
        #expect(stream.isMuted && stream.isEncodingPaused)
        #expect(camera.values.withLock { $0 } == ["zoom-absolute": 7])
      }
      let null = #"{"bitrate":null,"mirror":null,"rotation":null,"mute":null,"pause":null,"controls":null}"#
      #expect(Self.status(try await Self.send("PATCH", null, to: Self.stream, port: port)) == "200")
      #expect((stream.videoBitrate, stream.isMirrored, stream.rotation) == (700_000, false, .up))
      #expect(!stream.isMuted && !stream.isEncodingPaused)
      #expect(camera.values.withLock { $0 } == ["zoom-absolute": 1])
      // All or none.
      let invalid = #"{"mirror":true,"controls":{"zoom-absolute":10}}"#
      #expect(Self.status(try await Self.send("PATCH", invalid, to: Self.stream, port: port)) == "400")
      #expect(!stream.isMirrored)
    }
  }

  @Test func `values of controls are numbers, booleans, or null for the default`() throws {
    let json = try #require(
      JSONValue(parsing: ByteBuffer(string: #"{"controls":{"a":-3,"b":true,"c":null}}"#)))
    #expect(try StreamChange(json, startBitrate: 1).controls == ["a": -3, "b": 1, "c": nil])
  }

  @Test(arguments: [
    (#"{"mirror":1}"#, #""mirror" is true or false"#), (#"{"mute":"true"}"#, #""mute" is true or false"#),
    (#"{"pause":[]}"#, #""pause" is true or false"#),
    (#"{"rotation":45}"#, #""rotation" is 0, 90, 180 or 270, clockwise"#),
    (#"{"rotation":360}"#, #""rotation" is 0, 90, 180 or 270, clockwise"#),
    (#"{"rotation":"90"}"#, #""rotation" is 0, 90, 180 or 270, clockwise"#),
    (#"{"bitrate":9999}"#, #""bitrate" is a whole number from 10000 to 200000000, in bits per second"#),
    (#"{"bitrate":1e300}"#, #""bitrate" is a whole number from 10000 to 200000000, in bits per second"#),
    (#"{"bitrate":true}"#, #""bitrate" is a whole number from 10000 to 200000000, in bits per second"#),
    (#"{"bitrate":50000.5}"#, #""bitrate" is a whole number from 10000 to 200000000, in bits per second"#),
    (#"{"controls":[]}"#, #""controls" is an object of names and values"#),
    (#"{"controls":{"zoom":1.5}}"#, #""controls": "zoom" is a whole number, true or false"#),
    (
      #"{"name":"x","mirror":true}"#,
      #""name" is not a key; the keys are bitrate, mirror, rotation, mute, pause, controls"#
    ),
    (#"{"a\nb":1}"#, #""a\nb" is not a key; the keys are bitrate, mirror, rotation, mute, pause, controls"#),
    ("[]", "the body is an object"), ("3", "the body is an object"),
  ])
  func `an invalid change is refused with its key`(body: String, reason: String) async throws {

    try await self.withControl { fixture, port in
      let response = try await Self.send("PATCH", body, to: Self.stream, port: port)
      #expect(Self.status(response) == "400")
      #expect(response.body == reason + "\n")
      #expect(fixture.stream.isMirrored && fixture.stream.videoBitrate == 1_000_000)
    }
  }

  // MARK: - Methods, content types, sizes, origins, passwords

  @Test func `other content types, bodies that are too long, and other methods are refused`() async throws {
    try await self.withControl { fixture, port in
      for type in ["text/plain", "application/x-www-form-urlencoded", "multipart/form-data", ""] {
        let put = try await Self.send("PUT", #"{"video":"x"}"#, to: Self.source, type: type, port: port)
        #expect(Self.status(put) == "415")
        #expect(put.head.contains("Accept: application/json"))
        let patch = try await Self.send("PATCH", "{}", to: Self.stream, type: type, port: port)
        #expect(Self.status(patch) == "415")
        #expect(patch.head.contains("Accept-Patch: application/merge-patch+json, application/json"))
      }
      let long = #"{"video":"\#(String(repeating: "a", count: 17_000))"}"#
      for (method, path) in [("PUT", Self.source), ("PATCH", Self.stream)] {
        let response = try await Self.send(method, long, to: path, port: port)
        #expect(Self.status(response) == "413")
      }
      for (path, allowed) in [
        (Self.source, "GET, HEAD, PUT, OPTIONS"), (Self.stream, "GET, HEAD, PATCH, OPTIONS"),
        ("\(Self.stream)/level", "GET, HEAD, OPTIONS"), ("/api/devices", "GET, HEAD, OPTIONS"),
      ] {
        let refused = try await RawClient.get(path, port: port, method: "DELETE")
        #expect(Self.status(refused) == "405")
        #expect(refused.head.contains("\r\nAllow: \(allowed)\r\n"))
        let options = try await RawClient.get(path, port: port, method: "OPTIONS")
        #expect(Self.status(options) == "204")
        #expect(options.head.contains("\r\nAllow: \(allowed)\r\n"))
        let head = try await RawClient.get(path, port: port, method: "HEAD")
        #expect(head.body.isEmpty)
      }
      for (method, path, status) in [
        ("PUT", "/api/streams/none/source", "404"), ("PUT", "/api/streams/other/source", "404"),
        ("PATCH", "/api/streams/other", "404"), ("GET", "/api/streams/other/source", "404"),
        ("GET", "/api/streams/other/level", "404"), ("GET", "/api/streams/none/source", "404"),
        ("GET", "/api/devices", "404"), ("PATCH", "/api/streams", "405"), ("POST", Self.source, "405"),
      ] {
        let response = try await Self.send(method, "{}", to: path, port: port)
        #expect(Self.status(response) == status, "\(method) \(path)")
      }
      #expect(fixture.opened.isEmpty && fixture.stream.isMirrored)
    }
  }

  @Test(arguments: [("PUT", "/source", #"{"video":"x"}"#), ("PATCH", "", "{}")])
  func `a client that sends Expect gets 100 Continue`(method: String, path: String, body: String) async throws {

    try await self.withControl { _, port in
      let client = try await RawClient.connect(port: port)
      let text = try await client.exchange([
        "\(method) \(Self.stream)\(path) HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\n"
          + "Connection: close\r\nExpect: 100-continue\r\nContent-Length: \(body.utf8.count)\r\n\r\n" + body
      ])
      #expect(text.hasPrefix("HTTP/1.1 100 Continue\r\n"), "\(text)")
      #expect(text.contains("HTTP/1.1 200 OK\r\n"))
    }
  }

}
