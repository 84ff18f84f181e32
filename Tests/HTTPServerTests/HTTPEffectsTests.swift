import Authentication
import Capture
import Dispatch
import Foundation
import Media
import NIOCore
import NIOPosix
import StreamControl
import Streaming
import Synchronization
import TestSupport
import Testing
import Threading

@testable import ControlAPI
@testable import Effects
@testable import HLSServer
@testable import HTTPServer

@Suite("Effects and events over HTTP", .timeLimit(.minutes(5)))
struct HTTPEffectsTests {
  /// Runs a server with the streams `cam/1`, whose effects can be changed but have no face models, and `other`.
  private func withEffects(
    _ access: AccessControl = .permissive(),
    _ body: (StreamEffects, WebServer, _ port: Int) async throws -> Void
  ) async throws {
    let stream = LiveStream("cam/1")
    let effects = StreamEffects(stream, factory: EffectFactory(models: FaceModels(folder: "/nowhere")))
    var providers = WebServerProviders()
    providers.controls = { StreamControls(effects: $0 === stream ? effects : nil) }
    try await withServer(access: access, providers: providers) { server, port in
      for stream in [stream, LiveStream("other")] { server.serve(stream) }
      try await body(effects, server, port)
    }
  }

  private static let effects = "/api/streams/cam/1/effects"
  private static let events = "/api/streams/cam/1/events"

  private static func put(
    _ body: String, to path: String = Self.effects, type: String = "application/json", host: String = "127.0.0.1",
    port: Int, _ fields: String...
  ) async throws -> Response {
    let lines =
      [
        "PUT \(path) HTTP/1.1", "Host: \(host)", "Connection: close", "Content-Type: \(type)",
        "Content-Length: \(body.utf8.count)",
      ] + fields
    let text = try await RawClient.connect(port: port).exchange([lines.joined(separator: "\r\n") + "\r\n\r\n" + body])
    let end = try #require(text.firstRange(of: "\r\n\r\n"))
    return Response(status: String(text.prefix(12).suffix(3)), body: String(text[end.upperBound...]))
  }

  private struct Response: Sendable {
    var status: String
    var body: String
  }

  @Test func `metrics contain the restarts of the search for faces`() async throws {
    try await self.withEffects { effects, _, port in
      effects.stream.effects = [PrivacyMask()]
      let text = try await RawClient.get("/metrics", port: port).body
      try await expectMetrics(text)
      for line in [
        "# TYPE vidicon_face_detection_restarts_total counter",
        #"vidicon_face_detection_restarts_total{stream="cam/1",reason="stalled"} 0"#,
        #"vidicon_face_detection_restarts_total{stream="cam/1",reason="failed"} 0"#,
      ] {
        #expect(text.contains("\(line)\n"), "\(line)")
      }
    }
  }

  @Test func `a search that has stalled or failed while the stream runs is counted in the metrics`() async throws {
    let gate = DispatchSemaphore(value: 0)
    let short = MediaDuration.milliseconds(20)
    let limits = PrivacySearch.Limits(frame: short, complete: short, runTimeout: short, threadCount: 1)
    let hanging = PrivacyMask(limits: limits) {
      { _, _ in
        gate.waitWithLimit()
        gate.signal()
        return true
      }
    }
    try await self.withEffects { effects, _, port in
      let stream = effects.stream
      stream.attachVideo(BarsCapturer(width: 64, height: 36))
      stream.effects = [hanging]
      try await stream.start()
      func counts(_ reason: String) async throws -> Int {
        let line = "vidicon_face_detection_restarts_total{stream=\"cam/1\",reason=\"\(reason)\"} "
        let text = try await RawClient.get("/metrics", port: port).body
        let number = text.firstRange(of: line).map { text[$0.upperBound...].prefix { $0.isNumber } }
        return try #require(number.flatMap { Int($0) })
      }
      while try await counts("stalled") == 0 { try Task.checkCancellation() }
      #expect(try await counts("failed") == 0)
      stream.effects = [PrivacyMask(limits: limits) { { _, _ in false } }]
      while try await counts("failed") == 0 { try Task.checkCancellation() }
      await stream.stop()
    }
    gate.signal()
  }

  @Test func `effects are replaced as a whole, and are part of the stream's state`() async throws {
    try await self.withEffects { effects, _, port in
      let response = try await Self.put(#"{"clock":true,"color":{"brightness":0.5}}"#, port: port)
      #expect(response.status == "200" && response.body.contains(#""brightness":0.5"#))
      #expect(effects.settings.color.brightness == 0.5 && effects.settings.clock)
      #expect(try await Self.put(#"{"clock":true}"#, port: port).status == "200")
      #expect(effects.settings.color.brightness == 0)
      let shown = try await RawClient.get(Self.effects, port: port)
      #expect(shown.body.contains(#""clock":true"#) && shown.body.contains(#""faces":"off""#))
      #expect(shown.head.lowercased().contains("cross-origin-resource-policy: same-origin"))
      #expect(try await RawClient.get("/api/streams/cam/1", port: port).body.contains(#""effects":{"clock":true"#))
      #expect(effects.stream.effects.map(\.name) == ["TextClock"])
    }
  }

  @Test(arguments: [
    (#"{"faces":"none"}"#, #""faces""#), (#"{"smooth":2}"#, #""smooth""#), (#"{"nose":1}"#, #""nose""#),
    ("{", "JSON"), ("[]", "object"),
  ])
  func `invalid effects are refused with the key that is wrong`(body: String, named: String) async throws {

    try await self.withEffects { effects, _, port in
      let response = try await Self.put(body, port: port)
      #expect(response.status == "400")
      #expect(response.body.contains(named), "\(response.body)")
      #expect(effects.settings == EffectSettings())
    }
  }

  @Test func `missing images are conflicts, missing models bad gateways`() async throws {
    try await self.withEffects { effects, _, port in
      for (body, status) in [
        (#"{"overlay":{}}"#, "409"), (#"{"mask":"image"}"#, "502"), (#"{"faces":"track"}"#, "502"),
      ] {
        let response = try await Self.put(body, port: port)
        #expect(response.status == status, "\(body)")
      }
      for image in ["", "no image"] {
        let response = try await Self.put(image, to: Self.effects + "/mask", type: "image/png", port: port)
        #expect(response.status == "400")
      }
      #expect(effects.settings == EffectSettings())
    }
  }

  @Test func `with --control all, privacy is ended on the server's machine only`() async throws {
    try await self.withEffects(.permissive { $0.control = .all }) { effects, _, port in
      // Without models, privacy covers the whole frame.
      let covered = try await Self.put(#"{"faces":"privacy"}"#, port: port)
      #expect(covered.status == "502" && covered.body.hasSuffix("the whole frame is covered\n"))
      // Under a host name, the request may come from a page of another origin.
      #expect(try await Self.put("{}", host: "camera.local", port: port).status == "403")
      #expect(try await Self.put(#"{"faces":"boxes"}"#, host: "camera.local", port: port).status == "403")
      #expect(effects.settings.faces == .privacy)
      let kept = try await Self.put(#"{"faces":"privacy","clock":true}"#, host: "camera.local", port: port)
      #expect(kept.status == "502" && effects.settings.faces == .privacy)
      #expect(try await Self.put("{}", port: port).status == "200")
      #expect(effects.settings.faces == .off)
    }
  }

  @Test(arguments: ["text/plain", "application/x-www-form-urlencoded", "multipart/form-data; boundary=x", ""])
  func `content types that an HTML form can send are refused`(type: String) async throws {

    try await self.withEffects { effects, _, port in
      for path in [Self.effects, Self.effects + "/mask", Self.effects + "/overlay"] {
        let refused = try await Self.put("{}", to: path, type: type, port: port)
        #expect(refused.status == "415")
      }
      #expect(effects.settings == EffectSettings())
    }
  }

  /// A PNG file of one pixel.
  private static let pixel =
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="

  @Test func `images have a larger size limit than settings`() async throws {
    try await self.withEffects { effects, _, port in
      try await effects.setImage([UInt8](#require(Data(base64Encoded: Self.pixel))), for: .overlay)
      #expect(try await Self.put(#"{"overlay":{}}"#, port: port).status == "200")
      // A body of 1 MiB is accepted, and refused as not being an image.
      let image = String(repeating: "x", count: 1 << 20)
      #expect(try await Self.put(image, to: Self.effects + "/mask", type: "image/png", port: port).status == "400")
      #expect(try await Self.put(image, port: port).status == "413")
      for (path, length, status) in [("/mask", 8 << 20, "100"), ("/mask", 8 << 20 + 1, "413"), ("", 1 << 20, "413")] {
        let request =
          "PUT \(Self.effects)\(path) HTTP/1.1\r\nHost: localhost\r\nContent-Type: image/png\r\nExpect: 100-continue\r\n"
          + "Content-Length: \(length)\r\n\r\n"
        let text = try await RawClient.connect(port: port).exchange([request], until: "\r\n\r\n")
        #expect(text.prefix(12).suffix(3) == status, "\(path) \(length)")
      }
    }
  }

  @Test func `an address uploads one image at a time`() async throws {
    try await self.withEffects { _, server, port in
      let request =
        "PUT \(Self.effects)/mask HTTP/1.1\r\nHost: localhost\r\nContent-Type: image/png\r\nContent-Length: 9\r\n\r\n"
      let uploads = server.responder.imageUploads
      let first = try await RawClient.connect(port: port)
      // The body is not complete until the second client was answered.
      let response = try await first.exchange(request + "1234", last: "56789") {
        try await eventually { uploads.byteCount == 18 }
        let busy = try await RawClient.connect(port: port).exchange([request + "123456789"])
        #expect(busy.hasPrefix("HTTP/1.1 429"))
        #expect(busy.lowercased().contains("retry-after: 5"))
      }
      #expect(response.hasPrefix("HTTP/1.1 400"))
      #expect(uploads.byteCount == 0)
      let done = try await RawClient.connect(port: port).exchange([request + "123456789"])
      #expect(done.hasPrefix("HTTP/1.1 400"))
      let refusals = server.responder.access.refusals
      #expect(refusals[.overLimit] == 1 && refusals[.malformed] == 2)
    }
  }

  @Test func `the state contains the caller's permissions, and other resources are not found`() async throws {
    try await self.withEffects { _, _, port in
      let image = try await RawClient.get(Self.effects + "/mask", port: port)
      #expect(image.head.hasPrefix("HTTP/1.1 405") && image.head.contains("PUT, OPTIONS"))
      #expect(!image.head.contains("GET"))
      for (path, status) in [
        ("/api/streams/other/effects", "404"), ("/api/streams/none/effects", "404"), (Self.effects + "/nose", "404"),
        ("/api/streams/none/events", "404"),
      ] {
        #expect(try await RawClient.get(path, port: port).head.prefix(12).suffix(3) == status, "\(path)")
      }
      #expect(try await Self.put("{}", to: "/api/streams/other/effects", port: port).status == "404")
      #expect(try await Self.put("{}", to: Self.events, port: port).status == "405")
    }
  }

  @Test func `effects and events require the password`() async throws {
    let access = AccessControl.permissive {
      $0.users = [Credentials(user: "eve", password: "secret")]
      $0.control = .operators
    }
    try await self.withEffects(access) { effects, _, port in
      for path in [Self.effects, Self.events] {
        let refused = try await RawClient.get(path, port: port)
        #expect(refused.head.hasPrefix("HTTP/1.1 401"))
      }
      #expect(try await Self.put(#"{"clock":true}"#, port: port).status == "401")
      #expect(try await Self.put("x", to: Self.effects + "/mask", type: "image/png", port: port).status == "401")
      #expect(effects.settings == EffectSettings())
    }
  }

  @Test func `an event stream begins with the face positions, then sends events until the stream ends`() async throws {
    try await self.withEffects { _, server, port in
      let stream = try #require(server.hls.streams["cam/1"]?.stream)
      let faces = try #require(server.responder.controlled[stream]?.faces)
      let start = MediaTime.zero + .seconds(10)
      faces.consume(FaceMessagesTests.frame(at: start, [FaceMessagesTests.face(1)]))
      let request = "GET \(Self.events) HTTP/1.1\r\nHost: localhost\r\n\r\n"
      let listeners = (0..<3).map { _ in
        Task { try await RawClient.connect(port: port).exchange([request], until: "0\r\n\r\n") }
      }
      try await eventually { faces.listenerCount == 3 }
      let box = Face.Box(x: 1, y: 2, width: 3, height: 4)
      let event = FaceEvent(.blink, face: 1, time: start + .seconds(1), box: box)
      faces.consume(
        FaceMessagesTests.frame(at: start + .seconds(1), [FaceMessagesTests.face(1)], [event]))
      server.stopServing(stream)
      for listener in listeners {
        let text = try await listener.value
        #expect(text.hasPrefix("HTTP/1.1 200"))
        #expect(text.lowercased().contains("content-type: text/event-stream\r\n"))
        #expect(!text.lowercased().contains("access-control-"))
        #expect(text.ranges(of: "event: faces\ndata: {").count == 1)
        #expect(text.ranges(of: #""event":"blink""#).count == 1)
        let (first, second) = (text.firstRange(of: "event: faces"), text.firstRange(of: "event: face\n"))
        #expect(try #require(first).lowerBound < #require(second).lowerBound)
      }
      #expect(faces.listenerCount == 0)
    }
  }

  @Test func `an open event stream does not prevent the server from stopping`() async throws {
    var text: Task<String, any Error>?
    try await self.withEffects { _, server, port in
      let stream = try #require(server.hls.streams["cam/1"]?.stream)
      let faces = try #require(server.responder.controlled[stream]?.faces)
      text = Task {
        try await RawClient.connect(port: port).exchange(["GET \(Self.events) HTTP/1.1\r\nHost: localhost\r\n\r\n"])
      }
      try await eventually { faces.listenerCount == 1 }
    }
    #expect(try await text?.value.hasSuffix("\r\n0\r\n\r\n") == true)
  }

  @Test func `a listener that does not read loses the oldest messages`() async throws {
    let feed = FaceEventOutput(eventLoop: MultiThreadedEventLoopGroup.singleton.any()) { _ in }
    defer { feed.streamEnded() }
    let events = feed.listen().events
    for index in 0..<1000 {
      feed.consume(
        FaceMessagesTests.frame(
          at: .zero + .seconds(Int64(index)), [FaceMessagesTests.face(1, x: Float(index))]))
    }
    feed.streamEnded()
    var received: [String] = []
    for await event in events { received.append(String(buffer: event)) }
    #expect(received.count == 64)
    #expect(try #require(received.first).contains(#""x":936,"#) && #require(received.last).contains(#""x":999,"#))
  }
}
