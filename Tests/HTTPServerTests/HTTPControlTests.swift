import Authentication
import Capture
import Foundation
import HTTPTypes
import Media
import NIOCore
import Streaming
import Synchronization
import Testing

@testable import HTTPServer

@Suite("Streams changed over HTTP", .timeLimit(.minutes(2)))
struct HTTPControlTests {
  /// A stream's control that remembers what it was told.
  final class FakeControl: Sendable {
    struct Memory {
      var state: HTTPServerControl.State
      var replaced: [(sources: HTTPServerControl.Sources, isTrusted: Bool)] = []
      var changes: [HTTPServerControl.Change] = []
      var failure: HTTPServerControl.Failure?
    }

    let memory: Mutex<Memory>

    init() {
      var state = HTTPServerControl.State(
        sources: .init(video: "v4l2:/dev/video0", audio: "mic:"), startSources: .init(video: "plasma", audio: "auto"),
        bitrate: 1_000_000)
      (state.isMirrored, state.rotation, state.isPreviewMirrored, state.hasControls) = (true, .left, true, true)
      (state.peakLevel, state.rmsLevel) = (-3.04, -.infinity)
      self.memory = Mutex(Memory(state: state))
    }

    static let zoom = DeviceControl(
      name: "zoom-absolute", label: "Zoom", kind: .integer, range: 1...9, step: 2, defaultValue: 1, value: 5)
    static let shine = DeviceControl(
      name: "power-line", label: "Power", kind: .menu, range: 0...2, defaultValue: 1, value: 2,
      menu: [.init(value: 0, label: "Off"), .init(value: 2, label: "60 Hz")], isReadOnly: true, isInactive: true)

    var control: HTTPServerControl {
      HTTPServerControl { isTrusted in
        var state = self.memory.withLock { $0.state }
        if !isTrusted { state.sources.video = "v4l2:hidden" }
        return state
      } controls: {
        [Self.zoom, Self.shine]
      } replace: { sources, isTrusted throws(HTTPServerControl.Failure) in
        if let failure = self.memory.withLock({ $0.failure }) { throw failure }
        self.memory.withLock { memory in
          memory.replaced.append((sources, isTrusted))
          if let video = sources.video { memory.state.sources.video = video }
        }
      } change: { change throws(HTTPServerControl.Failure) in
        if let failure = self.memory.withLock({ $0.failure }) { throw failure }
        self.memory.withLock { $0.changes.append(change) }
      }
    }
  }

  func withControl(
    _ settings: HTTPServerSettings = HTTPServerSettings(port: 0), devices: HTTPServerDevices? = nil,
    _ body: (FakeControl, _ port: Int) async throws -> Void
  ) async throws {
    let fake = FakeControl()
    var extras = HTTPServerExtras()
    extras.control = { $0.name == "cam/1" ? fake.control : nil }
    extras.devices = devices
    try await withServer(settings, extras: extras) { server, port in
      for name in ["cam/1", "other"] { server.publish(LiveStream(name, video: VideoSettings(bitrate: 700_000))) }
      try await body(fake, port)
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

  /// Checks whether a request under a host's name is told all of the source.
  static func expectSource(_ expected: String, _ host: String, port: Int, _ fields: String...) async throws {
    let lines = ["GET \(Self.source) HTTP/1.1", "Host: \(host)", "Connection: close"] + fields
    let text = try await RawClient.connect(port: port).exchange([lines.joined(separator: "\r\n") + "\r\n\r\n"])
    let seen = text.contains(#""video":"v4l2:/dev/video0""#) ? "all" : "hidden"
    #expect(seen == expected, "\(lines)")
  }

  static func status(_ answer: (head: String, body: String)) -> String {
    String(answer.head.prefix(12).suffix(3))
  }

  // What is told.

  @Test func `a stream tells how it stands, and the controls of its camera`() async throws {
    try await self.withControl { _, port in
      let answer = try await RawClient.get(Self.stream, port: port)
      for part in [
        #""source":{"audio":"mic:","started":{"audio":"auto","video":"plasma"},"video":"v4l2:hidden"}"#,
        #""bitrate":1000000"#, #""mirror":true"#, #""rotation":270"#, #""mute":false"#, #""pause":false"#,
        #""previewMirrored":true"#, #""level":{"peak":-3,"rms":-120}"#,
        #""controls":{"power-line":2,"zoom-absolute":5}"#,
        #"{"defaultValue":1,"inactive":false,"kind":"integer","label":"Zoom","maximum":9,"minimum":1,"#
          + #""name":"zoom-absolute","readOnly":false,"step":2,"value":5}"#,
        #""menu":[{"label":"Off","value":0},{"label":"60 Hz","value":2}]"#,
      ] {
        #expect(answer.body.contains(part), "\(part) in \(answer.body)")
      }
      let list = try await RawClient.get("/api/streams", port: port)
      #expect(list.body.contains(#""rotation":270"#))
      #expect(!list.body.contains("zoom"))
      let level = try await RawClient.get("\(Self.stream)/level", port: port)
      #expect(level.body == #"{"peak":-3,"rms":-120}"#)
      #expect(try await !RawClient.get("/api/streams/other", port: port).body.contains("mirror"))
    }
  }

  @Test func `sources are replaced, and the stream as it is then is the answer`() async throws {
    try await self.withControl { fake, port in
      let answer = try await Self.send("PUT", #"{"video": "bars"}"#, to: Self.source, port: port)
      #expect(Self.status(answer) == "200")
      #expect(answer.body.contains(#""video":"bars""#))
      #expect(answer.body.contains(#""mirror":true"#))
      _ = try await Self.send("PUT", #"{"audio":"mic:","video":"é"}"#, to: Self.source, host: "a.b", port: port)
      let replaced = fake.memory.withLock { $0.replaced }
      #expect(replaced.map(\.sources) == [.init(video: "bars"), .init(video: "é", audio: "mic:")])
      #expect(replaced.map(\.isTrusted) == [true, false])
    }
  }

  @Test(arguments: [
    ("", "the body is no JSON"), ("{", "the body is no JSON"), (#"{"video":"#, "the body is no JSON"),
    ("[]", #"the body is {"video": SPEC, "audio": SPEC}"#), ("null", #"the body is {"video": SPEC, "audio": SPEC}"#),
    ("{}", #"the body is {"video": SPEC, "audio": SPEC}, of which one may be left out"#),
    (#"{"video":1}"#, #""video" is a source, as text"#), (#"{"audio":null}"#, #""audio" is a source, as text"#),
    (#"{"audio":["mic:"]}"#, #""audio" is a source, as text"#),
    (#"{"video":"plasma","sound":"tone"}"#, #""sound" is no key here; the keys are video, audio"#),
    (#"{"video":"a\nb"}"#, #""video" holds a control character"#),
    (#"{"video":"a\u0000"}"#, #""video" holds a control character"#),
    (String(repeating: "[", count: 9000), "the body is no JSON"),
  ])
  func `a body that names no sources is refused with the reason`(body: String, reason: String) async throws {
    try await self.withControl { fake, port in
      let answer = try await Self.send("PUT", body, to: Self.source, port: port)
      #expect(Self.status(answer) == "400")
      #expect(answer.body == reason + "\n")
      #expect(fake.memory.withLock { $0.replaced.isEmpty })
    }
  }

  @Test(
    arguments: [
      (.invalid, "400"), (.notPermitted, "403"), (.wrongState, "409"), (.failed, "502"), (.busy, "503"),
    ] as [(HTTPServerControl.Failure.Code, String)])
  func `a change that fails says why`(code: HTTPServerControl.Failure.Code, status: String) async throws {
    try await self.withControl { fake, port in
      fake.memory.withLock { $0.failure = .init(code, "it cannot be; do otherwise") }
      for (method, path, body) in [("PUT", Self.source, #"{"video":"x"}"#), ("PATCH", Self.stream, "{}")] {
        let answer = try await Self.send(method, body, to: path, port: port)
        #expect(Self.status(answer) == status)
        #expect(answer.body == "it cannot be; do otherwise\n")
        #expect(answer.head.contains("Retry-After: 5") == (code == .busy))
      }
    }
  }

  // Settings.

  @Test func `all that can be changed is, and what is null goes back to its default`() async throws {
    try await self.withControl { fake, port in
      for body in [
        #"{"bitrate":50000,"mirror":false,"rotation":180,"mute":true,"pause":true,"controls":{"a":-3,"b":true,"c":null}}"#,
        #"{"bitrate":null,"mirror":null,"rotation":null,"mute":null,"pause":null,"controls":null}"#, "{}",
      ] {
        let answer = try await Self.send(
          "PATCH", body, to: Self.stream, type: "application/merge-patch+json", port: port)
        #expect(Self.status(answer) == "200")
        #expect(answer.body.contains(#""zoom-absolute":5"#))
      }
      var (all, null) = (HTTPServerControl.Change(), HTTPServerControl.Change())
      (all.bitrate, all.isMirrored, all.rotation, all.isMuted, all.isPaused) = (50_000, false, .down, true, true)
      all.controls = ["a": -3, "b": 1, "c": nil]
      (null.bitrate, null.isMirrored, null.rotation, null.isMuted, null.isPaused) = (700_000, false, .up, false, false)
      null.resetsControls = true
      #expect(fake.memory.withLock { $0.changes } == [all, null, .init()])
    }
  }

  @Test(arguments: [
    (#"{"mirror":1}"#, #""mirror" is true or false"#), (#"{"mute":"true"}"#, #""mute" is true or false"#),
    (#"{"pause":[]}"#, #""pause" is true or false"#),
    (#"{"rotation":45}"#, #""rotation" is 0, 90, 180 or 270, clockwise"#),
    (#"{"rotation":360}"#, #""rotation" is 0, 90, 180 or 270, clockwise"#),
    (#"{"rotation":"90"}"#, #""rotation" is 0, 90, 180 or 270, clockwise"#),
    (#"{"bitrate":9999}"#, #""bitrate" is a whole number from 10000 to 200000000, in bits a second"#),
    (#"{"bitrate":1e300}"#, #""bitrate" is a whole number from 10000 to 200000000, in bits a second"#),
    (#"{"bitrate":true}"#, #""bitrate" is a whole number from 10000 to 200000000, in bits a second"#),
    (#"{"bitrate":50000.5}"#, #""bitrate" is a whole number from 10000 to 200000000, in bits a second"#),
    (#"{"controls":[]}"#, #""controls" is an object of names and values"#),
    (#"{"controls":{"zoom":1.5}}"#, #""controls": "zoom" is a whole number, true or false"#),
    (
      #"{"name":"x","mirror":true}"#,
      #""name" is no key here; the keys are bitrate, mirror, rotation, mute, pause, controls"#
    ),
    (#"{"a\nb":1}"#, #""a\nb" is no key here; the keys are bitrate, mirror, rotation, mute, pause, controls"#),
    ("[]", "the body is an object"), ("3", "the body is an object"),
  ])
  func `a change that is none is refused with its key`(body: String, reason: String) async throws {
    try await self.withControl { fake, port in
      let answer = try await Self.send("PATCH", body, to: Self.stream, port: port)
      #expect(Self.status(answer) == "400")
      #expect(answer.body == reason + "\n")
      #expect(fake.memory.withLock { $0.changes.isEmpty })
    }
  }

  // Methods, types, sizes, origins, passwords.

  @Test func `other types of body, bodies too long, and other methods are refused`() async throws {
    try await self.withControl { fake, port in
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
        let answer = try await Self.send(method, long, to: path, port: port)
        #expect(Self.status(answer) == "413")
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
        ("PUT", "/api/streams/none/source", "405"), ("PUT", "/api/streams/other/source", "501"),
        ("PATCH", "/api/streams/other", "501"), ("GET", "/api/streams/other/source", "501"),
        ("GET", "/api/streams/other/level", "501"), ("GET", "/api/streams/none/source", "404"),
        ("GET", "/api/devices", "501"), ("PATCH", "/api/streams", "405"), ("POST", Self.source, "405"),
      ] {
        let answer = try await Self.send(method, "{}", to: path, port: port)
        #expect(Self.status(answer) == status, "\(method) \(path)")
      }
      #expect(fake.memory.withLock { $0.replaced.isEmpty && $0.changes.isEmpty })
    }
  }

  @Test(arguments: [("PUT", "/source", #"{"video":"x"}"#), ("PATCH", "", "{}")])
  func `a client that asks before it sends a body is let`(method: String, path: String, body: String) async throws {
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
