import Authentication
import Capture
import Foundation
import HTTPTypes
import Media
import NIOCore
import Streaming
import Synchronization
import Testing
import Waiting

@testable import HTTPServer

@Suite("Streams changed over HTTP", .timeLimit(.minutes(2)))
struct HTTPControlTests {
  /// A stream's control that remembers what it was told.
  private final class FakeControl: Sendable {
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

  private func withControl(
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

  private static let stream = "/api/streams/cam/1"
  private static let source = "/api/streams/cam/1/source"

  private static func send(
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
  private static func expectSource(_ expected: String, _ host: String, port: Int, _ fields: String...) async throws {
    let lines = ["GET \(Self.source) HTTP/1.1", "Host: \(host)", "Connection: close"] + fields
    let text = try await RawClient.connect(port: port).exchange([lines.joined(separator: "\r\n") + "\r\n\r\n"])
    let seen = text.contains(#""video":"v4l2:/dev/video0""#) ? "all" : "hidden"
    #expect(seen == expected, "\(lines)")
  }

  private static func status(_ answer: (head: String, body: String)) -> String {
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

  @Test func `more is told to this machine than to others, to proxies, and to pages of other servers`() async throws {
    try await self.withControl { _, port in
      for host in ["127.0.0.1", "127.0.0.1:8080", "localhost", "LOCALHOST:1", "[::1]:8080", "192.168.1.5"] {
        try await Self.expectSource("all", host, port: port)
      }
      for host in ["evil.example", "localhost.evil", "1.2.3", "1.2.3.4.5", "256.1.1.1", "1.2.3.4a", "cam"] {
        try await Self.expectSource("hidden", host, port: port)
      }
      for field in ["Via: 1.1 p", "Forwarded: for=10.0.0.1", "X-Forwarded-For: 10.0.0.1", "X-Real-IP: 10.0.0.1"] {
        try await Self.expectSource("hidden", "127.0.0.1", port: port, field)
      }
      try await Self.expectSource("all", "127.0.0.1:1", port: port, "Origin: http://127.0.0.1:1")
      try await Self.expectSource("hidden", "127.0.0.1:1", port: port, "Origin: http://127.0.0.1:2")
      try await Self.expectSource("hidden", "127.0.0.1:1", port: port, "Origin: null")
    }
  }

  // Sources.

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

  @Test(
    arguments: [
      (.all, "127.0.0.1", true), (.local, "127.0.0.1", true), (.local, "a.b", false), (.none, "127.0.0.1", false),
    ]
      as [(HTTPServerSettings.Control, String, Bool)])
  func `who may change streams can be limited`(
    control: HTTPServerSettings.Control, host: String, isAllowed: Bool
  ) async throws {
    var settings = HTTPServerSettings(port: 0)
    settings.control = control
    try await self.withControl(settings) { fake, port in
      for (method, path) in [("PUT", Self.source), ("PATCH", Self.stream), ("POST", "\(Self.stream)/recording")] {
        let answer = try await Self.send(
          method, method == "PUT" ? #"{"video":"x"}"# : "{}", to: path, host: host, port: port)
        // There is no recorder.
        #expect(Self.status(answer) == (!isAllowed ? "403" : method == "POST" ? "501" : "200"), "\(method)")
      }
      #expect(fake.memory.withLock { $0.replaced.count + $0.changes.count } == (isAllowed ? 2 : 0))
      let entry = try await Self.send("GET", "", to: Self.stream, host: host, port: port)
      #expect(entry.body.contains(#""steerable":\#(isAllowed)"#))
      #expect(Self.status(entry) == "200")
    }
  }

  @Test func `behind a proxy nobody is trusted by address`() async throws {
    var settings = HTTPServerSettings(port: 0)
    settings.trustsThisMachine = false
    try await self.withControl(settings) { _, port in
      try await Self.expectSource("hidden", "127.0.0.1", port: port)
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

  @Test func `pages of other servers may not change anything, nor see what the machine has`() async throws {
    try await self.withControl(devices: HTTPServerDevices { _ in .init() }) { _, port in
      for (path, method) in [(Self.source, "PUT"), (Self.stream, "PATCH"), ("/api/devices", "GET")] {
        let preflight = try await RawClient.get(
          path, port: port, method: "OPTIONS", "Origin: http://evil", "Access-Control-Request-Method: \(method)")
        // That of a stream may be read from anywhere.
        let allowed = path == Self.stream ? "Access-Control-Allow-Methods: GET, HEAD, OPTIONS\r\n" : ""
        #expect(preflight.head.contains("Access-Control") == !allowed.isEmpty)
        #expect(allowed.isEmpty || preflight.head.contains(allowed))
      }
      for answer in [
        try await RawClient.get(Self.source, port: port), try await RawClient.get("/api/devices", port: port),
        try await Self.send("PUT", #"{"video":"x"}"#, to: Self.source, port: port),
        try await Self.send("PATCH", "{}", to: Self.stream, port: port),
      ] {
        #expect(Self.status(answer) == "200")
        #expect(!answer.head.contains("Access-Control"))
        #expect(answer.head.contains("Cross-Origin-Resource-Policy: same-origin"))
      }
    }
  }

  @Test func `with passwords only those who have one change and see, and they are trusted from anywhere`() async throws
  {
    var settings = HTTPServerSettings(port: 0)
    settings.credentials = [try #require(Credentials(parsing: "us:pw"))]
    let devices = HTTPServerDevices { isTrusted in .init(isRestricted: !isTrusted) }
    try await self.withControl(settings, devices: devices) { fake, port in
      for (method, path) in [
        ("PUT", Self.source), ("PATCH", Self.stream), ("GET", Self.source), ("GET", "/api/devices"),
        ("GET", "\(Self.stream)/level"),
      ] {
        let answer = try await Self.send(method, #"{"video":"x"}"#, to: path, port: port)
        #expect(Self.status(answer) == "401", "\(method) \(path)")
      }
      #expect(fake.memory.withLock { $0.replaced.isEmpty })
      let login = "Authorization: Basic dXM6cHc="
      let answer = try await Self.send("PUT", #"{"video":"x"}"#, to: Self.source, host: "a.b", port: port, login)
      #expect(Self.status(answer) == "200")
      #expect(fake.memory.withLock { $0.replaced.map(\.isTrusted) } == [true])
      #expect(try await RawClient.get("/api/devices", port: port, login).body.contains(#""restricted":false"#))
    }
  }

  // Devices.

  @Test func `devices are listed with their formats and controls`() async throws {
    let camera = CaptureDevice(
      kind: .camera, specification: "v4l2:/dev/video0", name: "Café \"Cam\"", stableName: "usb-1",
      formats: [
        .init(name: "YUYV", width: 640, height: 480, frameRates: .discrete([30, FrameRate(15, over: 2)])),
        .init(name: "MJPG", width: nil, height: nil, frameRates: .range(FrameRate(1)...60)),
      ], controls: [FakeControl.zoom], position: .front)
    let microphone = CaptureDevice(
      kind: .microphone, specification: "mic:hw", name: "Mic", stableName: "hw",
      formats: [.init(name: "S16_LE", sampleRate: 48_000, channels: 2)], problem: "it is busy; end the other program")
    let devices = HTTPServerDevices { isTrusted in
      .init(
        devices: isTrusted ? [camera, microphone] : [], generators: [.init(.video, "plasma", name: "Plasma")],
        isRestricted: !isTrusted)
    }
    try await self.withControl(devices: devices) { _, port in
      let answer = try await Self.send("GET", "", to: "/api/devices", port: port)
      #expect(
        answer.body == #"{"devices":[{"controls":[{"defaultValue":1,"inactive":false,"kind":"integer","label":"Zoom","#
          + #""maximum":9,"minimum":1,"name":"zoom-absolute","readOnly":false,"step":2,"value":5}],"formats":["#
          + #"{"frameRates":[30,7.5],"height":480,"name":"YUYV","width":640},"#
          + #"{"frameRateRange":{"maximum":60,"minimum":1},"name":"MJPG"}],"kind":"camera","name":"Café \"Cam\"","#
          + #""position":"front","specification":"v4l2:/dev/video0","stableName":"usb-1"},{"controls":[],"#
          + #""formats":[{"channels":2,"name":"S16_LE","sampleRate":48000}],"kind":"microphone","name":"Mic","#
          + #""problem":"it is busy; end the other program","specification":"mic:hw","stableName":"hw"}],"#
          + #""generators":[{"kind":"video","name":"Plasma","specification":"plasma"}],"restricted":false}"#)
      let elsewhere = try await RawClient.get("/api/devices", port: port)
      #expect(elsewhere.body.contains(#""devices":[]"#))
      #expect(elsewhere.body.contains(#""restricted":true"#))
    }
  }

  @Test func `one question to the devices serves all who ask meanwhile`() async throws {
    let count = Atomic(0)
    let gate = Gate()
    let question = SharedQuestion<Int>(named: "test", within: .seconds(20))
    let work: @Sendable () -> Int = {
      gate.wait()
      return count.add(1, ordering: .relaxed).newValue
    }
    let answers = try await withThrowingTaskGroup(of: Int?.self) { group in
      for _ in 0..<50 { group.addTask { await question.ask(work) } }
      try await eventually { gate.waiting > 0 }
      gate.open()
      return try await group.reduce(into: []) { $0.append($1) }
    }
    #expect(answers.count == 50 && !answers.contains(nil))
    // Those who were there first, and those who came while these were served.
    #expect(count.load(ordering: .relaxed) <= 50)
    #expect(await question.ask(work) == count.load(ordering: .relaxed))
  }

  @Test func `nobody waits for ever for a device that does not answer`() async {
    let gate = Gate()
    let question = SharedQuestion<Int>(named: "test", within: .milliseconds(20))
    #expect(
      await question.ask {
        gate.wait()
        return 1
      } == nil)
    // Another thread asks then; when that hangs too nobody does any more.
    #expect(await question.ask { 2 } == 2)
    #expect(
      await question.ask {
        gate.wait()
        return 3
      } == nil)
    #expect(await question.ask { 4 } == nil)
    gate.open()
    // Those who waited are gone, and there is room again.
    while await question.ask({ 5 }) == nil {}
  }
}

/// Holds threads up until it is opened.
private final class Gate: Sendable {
  private let state = Monitor((isOpen: false, waiting: 0))

  var waiting: Int { self.state.withLock { $0.waiting } }

  func open() { self.state.withLock { $0.isOpen = true } }

  func wait() {
    self.state.withLock { $0.waiting += 1 }
    _ = self.state.wait { $0.isOpen ? true : nil }
  }
}
