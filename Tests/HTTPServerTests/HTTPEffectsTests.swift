import Authentication
import Effects
import Media
import NIOCore
import NIOPosix
import Streaming
import Synchronization
import TestSupport
import Testing
import Threading

@testable import HTTPServer

@Suite("Effects and events over HTTP", .timeLimit(.minutes(2)))
struct HTTPEffectsTests {
  /// Effects that remember what they were told.
  private final class FakeEffects: HTTPServerEffects {
    struct Memory {
      var settings = EffectSettings()
      var images: [EffectImageUse: Int] = [:]
      var failure: HTTPServerControl.Failure?
    }

    let memory = Mutex(Memory())

    func effects(of stream: LiveStream) -> EffectSettings? {
      stream.name == "cam/1" ? self.memory.withLock { $0.settings } : nil
    }

    func setEffects(
      _ settings: EffectSettings, of stream: LiveStream, mayEndPrivacy: Bool
    ) async throws(HTTPServerControl.Failure) {
      try self.fail()
      guard mayEndPrivacy || self.memory.withLock({ $0.settings.faces }) != .privacy || settings.faces == .privacy
      else {
        throw HTTPServerControl.Failure(.notPermitted, "they stay covered")
      }
      self.memory.withLock { $0.settings = settings }
    }

    func setImage(
      _ image: [UInt8], for use: EffectImageUse, of stream: LiveStream
    ) async throws(HTTPServerControl.Failure) {
      try self.fail()
      self.memory.withLock { $0.images[use] = image.count }
    }

    private func fail() throws(HTTPServerControl.Failure) {
      if let failure = self.memory.withLock({ $0.failure }) { throw failure }
    }
  }

  private func withEffects(
    _ settings: HTTPServerSettings = HTTPServerSettings(port: 0),
    _ body: (FakeEffects, HTTPServer, _ port: Int) async throws -> Void
  ) async throws {
    let fake = FakeEffects()
    var extras = HTTPServerExtras()
    extras.effects = fake
    try await withServer(settings, extras: extras) { server, port in
      for name in ["cam/1", "other"] { server.publish(LiveStream(name, video: VideoSettings())) }
      try await body(fake, server, port)
    }
  }

  private static let effects = "/api/streams/cam/1/effects"
  private static let events = "/api/streams/cam/1/events"

  private static func put(
    _ body: String, to path: String = Self.effects, type: String = "application/json", host: String = "127.0.0.1",
    port: Int, _ fields: String...
  ) async throws -> Answer {
    let lines =
      [
        "PUT \(path) HTTP/1.1", "Host: \(host)", "Connection: close", "Content-Type: \(type)",
        "Content-Length: \(body.utf8.count)",
      ] + fields
    let text = try await RawClient.connect(port: port).exchange([lines.joined(separator: "\r\n") + "\r\n\r\n" + body])
    let end = try #require(text.firstRange(of: "\r\n\r\n"))
    return Answer(status: String(text.prefix(12).suffix(3)), body: String(text[end.upperBound...]))
  }

  private struct Answer: Sendable {
    var status: String
    var body: String
  }

  @Test func `effects are told, replaced as a whole, and told with the stream`() async throws {
    try await self.withEffects { fake, _, port in
      let answer = try await Self.put(#"{"faces":"track","smooth":0.5}"#, port: port)
      #expect(answer.status == "200" && answer.body.contains(#""faces":"track""#))
      #expect(fake.memory.withLock { $0.settings.smooth } == 0.5)
      #expect(try await Self.put(#"{"mask":"blur"}"#, port: port).body.contains(#""faces":"off""#))
      let told = try await RawClient.get(Self.effects, port: port)
      #expect(told.body.contains(#""mask":"blur""#) && told.body.contains(#""smooth":0"#))
      #expect(told.head.lowercased().contains("cross-origin-resource-policy: same-origin"))
      #expect(try await RawClient.get("/api/streams/cam/1", port: port).body.contains(#""effects":{"clock":false"#))
    }
  }

  @Test(arguments: [
    (#"{"faces":"none"}"#, #""faces""#), (#"{"smooth":2}"#, #""smooth""#), (#"{"nose":1}"#, #""nose""#),
    ("{", "JSON"), ("[]", "object"),
  ])
  func `what cannot be is refused with the key that is wrong`(body: String, named: String) async throws {
    try await self.withEffects { fake, _, port in
      let answer = try await Self.put(body, port: port)
      #expect(answer.status == "400")
      #expect(answer.body.contains(named), "\(answer.body)")
      #expect(fake.memory.withLock { $0.settings } == EffectSettings())
    }
  }

  @Test(arguments: [
    (HTTPServerControl.Failure.Code.invalid, "400"), (.notPermitted, "403"), (.wrongState, "409"), (.failed, "502"),
    (.busy, "503"),
  ])
  func `a failure is told with its status`(code: HTTPServerControl.Failure.Code, status: String) async throws {
    try await self.withEffects { fake, _, port in
      fake.memory.withLock { $0.failure = .init(code, "for a reason") }
      for (path, type) in [(Self.effects, "application/json"), (Self.effects + "/mask", "image/png")] {
        let answer = try await Self.put("{}", to: path, type: type, port: port)
        #expect(answer.status == status && answer.body == "for a reason\n")
      }
    }
  }

  @Test func `privacy is ended on the machine itself or with a password`() async throws {
    try await self.withEffects { fake, _, port in
      fake.memory.withLock { $0.settings.faces = .privacy }
      // Under a name, it may be a page of another server that asks.
      let refused = try await Self.put("{}", host: "camera.local", port: port)
      #expect(refused.status == "403")
      #expect(try await Self.put(#"{"faces":"boxes"}"#, host: "camera.local", port: port).status == "403")
      #expect(fake.memory.withLock { $0.settings.faces } == .privacy)
      #expect(
        try await Self.put(#"{"faces":"privacy","clock":true}"#, host: "camera.local", port: port).status == "200")
      #expect(try await Self.put("{}", port: port).status == "200")
      #expect(fake.memory.withLock { $0.settings.faces } == .off)
    }
  }

  @Test(arguments: ["text/plain", "application/x-www-form-urlencoded", "multipart/form-data; boundary=x", ""])
  func `what a form of another page can send is not taken`(type: String) async throws {
    try await self.withEffects { fake, _, port in
      for path in [Self.effects, Self.effects + "/mask", Self.effects + "/overlay"] {
        let refused = try await Self.put("{}", to: path, type: type, port: port)
        #expect(refused.status == "415")
      }
      #expect(fake.memory.withLock { $0.images.isEmpty })
    }
  }

  @Test func `images are long, up to a limit, and anything else is not`() async throws {
    try await self.withEffects { fake, _, port in
      let image = String(repeating: "x", count: 1 << 20)
      #expect(try await Self.put(image, to: Self.effects + "/mask", type: "image/png", port: port).status == "200")
      let other = try await Self.put("x", to: Self.effects + "/overlay", type: "image/jpeg", port: port)
      #expect(other.status == "200" && other.body.contains(#""faces":"off""#))
      #expect(fake.memory.withLock { $0.images } == [.mask: 1 << 20, .overlay: 1])
      #expect(try await Self.put(image, port: port).status == "413")
      for (path, length, status) in [("/mask", 8 << 20, "100"), ("/mask", 8 << 20 + 1, "413"), ("", 1 << 20, "413")] {
        let request =
          "PUT \(Self.effects)\(path) HTTP/1.1\r\nHost: h\r\nContent-Type: image/png\r\nExpect: 100-continue\r\n"
          + "Content-Length: \(length)\r\n\r\n"
        let text = try await RawClient.connect(port: port).exchange([request], until: "\r\n\r\n")
        #expect(text.prefix(12).suffix(3) == status, "\(path) \(length)")
      }
    }
  }

  @Test func `only so many images come at a time`() async throws {
    try await self.withEffects { _, server, port in
      let request =
        "PUT \(Self.effects)/mask HTTP/1.1\r\nHost: h\r\nContent-Type: image/png\r\nContent-Length: 9\r\n\r\n"
      let uploads = server.responder.imageUploads
      for _ in 0..<4 { #expect(uploads.tryAcquire()) }
      let busy = try await RawClient.connect(port: port).exchange([request + "123456789"])
      #expect(busy.hasPrefix("HTTP/1.1 503"))
      for _ in 0..<4 { uploads.release() }
      let done = try await RawClient.connect(port: port).exchange([request + "123456789"])
      #expect(done.hasPrefix("HTTP/1.1 200"))
    }
  }

  @Test func `who may do what is told, and what cannot be changed is not there`() async throws {
    try await self.withEffects { _, _, port in
      let image = try await RawClient.get(Self.effects + "/mask", port: port)
      #expect(image.head.hasPrefix("HTTP/1.1 405") && image.head.contains("PUT, OPTIONS"))
      #expect(!image.head.contains("GET"))
      for (path, status) in [
        ("/api/streams/other/effects", "501"), ("/api/streams/none/effects", "404"), (Self.effects + "/nose", "404"),
        ("/api/streams/none/events", "404"),
      ] {
        #expect(try await RawClient.get(path, port: port).head.prefix(12).suffix(3) == status, "\(path)")
      }
      #expect(try await Self.put("{}", to: "/api/streams/other/effects", port: port).status == "501")
      #expect(try await Self.put("{}", to: Self.events, port: port).status == "405")
    }
  }

  @Test func `without a password there is nothing`() async throws {
    var settings = HTTPServerSettings(port: 0)
    settings.credentials = [try #require(Credentials(parsing: "eve:secret"))]
    try await self.withEffects(settings) { fake, _, port in
      for path in [Self.effects, Self.events] {
        let refused = try await RawClient.get(path, port: port)
        #expect(refused.head.hasPrefix("HTTP/1.1 401"))
      }
      #expect(try await Self.put(#"{"clock":true}"#, port: port).status == "401")
      #expect(try await Self.put("x", to: Self.effects + "/mask", type: "image/png", port: port).status == "401")
      #expect(fake.memory.withLock { $0.images.isEmpty && !$0.settings.clock })
    }
  }

  @Test func `who listens is told first where the faces are, then what happens, until the stream ends`() async throws {
    try await self.withEffects { _, server, port in
      let stream = try #require(server.streams["cam/1"])
      let start = MediaTime.zero + .seconds(10)
      stream.faces.consume(FaceMessagesTests.picture(at: start, [FaceMessagesTests.face(1)]))
      let request = "GET \(Self.events) HTTP/1.1\r\nHost: h\r\n\r\n"
      let listeners = (0..<3).map { _ in
        Task { try await RawClient.connect(port: port).exchange([request], until: "0\r\n\r\n") }
      }
      try await eventually { stream.faces.listenerCount == 3 }
      let box = Face.Box(x: 1, y: 2, width: 3, height: 4)
      let event = FaceEvent(.blink, face: 1, time: start + .seconds(1), box: box)
      stream.faces.consume(
        FaceMessagesTests.picture(at: start + .seconds(1), [FaceMessagesTests.face(1)], [event]))
      server.unpublish(stream.stream)
      for listener in listeners {
        let text = try await listener.value
        #expect(text.hasPrefix("HTTP/1.1 200"))
        #expect(text.lowercased().contains("content-type: text/event-stream\r\n"))
        #expect(text.lowercased().contains("access-control-allow-origin: *"))
        #expect(text.ranges(of: "event: faces\ndata: {").count == 1)
        #expect(text.ranges(of: #""event":"blink""#).count == 1)
        let (first, second) = (text.firstRange(of: "event: faces"), text.firstRange(of: "event: face\n"))
        #expect(try #require(first).lowerBound < #require(second).lowerBound)
      }
      #expect(stream.faces.listenerCount == 0)
    }
  }

  @Test func `who listens does not keep the server from its end`() async throws {
    var text: Task<String, any Error>?
    try await self.withEffects { _, server, port in
      let stream = try #require(server.streams["cam/1"])
      text = Task {
        try await RawClient.connect(port: port).exchange(["GET \(Self.events) HTTP/1.1\r\nHost: h\r\n\r\n"])
      }
      try await eventually { stream.faces.listenerCount == 1 }
    }
    #expect(try await text?.value.hasSuffix("\r\n0\r\n\r\n") == true)
  }

  @Test func `who does not read loses the oldest`() async throws {
    let feed = FaceFeed(eventLoop: MultiThreadedEventLoopGroup.singleton.any()) { _ in }
    defer { feed.streamEnded() }
    let events = feed.listen().events
    for index in 0..<1000 {
      feed.consume(
        FaceMessagesTests.picture(
          at: .zero + .seconds(Int64(index)), [FaceMessagesTests.face(1, x: Float(index))]))
    }
    feed.streamEnded()
    var told: [String] = []
    for await event in events { told.append(String(buffer: event)) }
    #expect(told.count == 64)
    #expect(try #require(told.first).contains(#""x":936,"#) && #require(told.last).contains(#""x":999,"#))
  }
}
