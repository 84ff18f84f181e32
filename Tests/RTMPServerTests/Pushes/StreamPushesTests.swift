import Authentication
import Capture
import Containers
import Media
import NIOCore
import Pushing
import RTMP
import Serving
import Streaming
import TestSupport
import Testing

@Suite("Pushes of a stream over loopback", .timeLimit(.minutes(5)))
struct StreamPushesTests {
  private static let key = "SECRET-key-1?token=SECRET-2"

  /// A running stream with its pushes; ends with `body`.
  private static func withPushes(
    hasAudio: Bool = true, _ body: (LiveStream, StreamPushes) async throws -> Void
  ) async throws {
    let stream = LiveStream(
      "test",
      video: VideoSettings(
        bitrate: 300_000,
        renditions: .list([RenditionSettings(name: "low", width: 32, height: 24, bitrate: 50_000)])))
    stream.attachVideo(PlasmaCapturer(width: 64, height: 48, frameRate: 30))
    if hasAudio { stream.attachAudio(ToneCapturer()) }
    try await stream.start()
    // No busy machine needs as long for a step of a connection, or for a name that cannot be resolved.
    let service = PushService(stepTimeout: .seconds(300))
    let pushes = StreamPushes(stream, service: service, allowsLinkLocal: false)
    do {
      try await body(stream, pushes)
    } catch {
      Issue.record(error)
    }
    await pushes.stop()
    await stream.stop()
    await service.stop()
  }

  private static func target(_ port: Int, rendition: String? = nil, bitrate: Int? = nil) throws -> PushTarget {
    try PushTarget(url: "rtmp://127.0.0.1:\(port)/app/\(Self.key)", rendition: rendition, bitrate: bitrate)
  }

  /// Types of messages, keyframes apart: D for metadata, v and a for configurations, K, V, A.
  private static func kinds(_ connection: TestRTMPServer.Connection) -> [String] {
    connection.messages.map { message in
      let bytes = Array(message.payload.readableBytesView.prefix(2))
      guard bytes.count == 2 else { return "?" }
      switch message.type {
      case .video: return bytes[1] == 0 ? "v" : bytes[0] >> 4 == 1 ? "K" : "V"
      case .audio: return bytes[1] == 0 ? "a" : "A"
      default: return "D"
      }
    }
  }

  @Test func `two servers get one encoding, each from a keyframe on, until its push is removed`() async throws {
    let servers = [TestRTMPServer(), TestRTMPServer()]
    let ports = [try await servers[0].start(), try await servers[1].start()]
    try await Self.withPushes { stream, pushes in
      try pushes.add([try Self.target(ports[0]), try Self.target(ports[1])])
      try await eventually { servers.allSatisfy { ($0.connections.first?.messages.count ?? 0) > 100 } }
      for server in servers {
        let connection = try #require(server.connections.first)
        #expect(connection.request?.application == "app" && connection.request?.purpose == .publish)
        #expect(connection.request?.token == Secret("SECRET-2"))
        let kinds = Self.kinds(connection)
        #expect(kinds.prefix(4) == ["D", "v", "a", "K"])
        #expect(kinds.contains("A") && kinds.contains("V") && kinds.count { $0 == "v" } == 1)
        let times = connection.messages.filter { $0.type == .video }.map(\.timestamp)
        #expect(times == times.sorted() && times.first == 0)
        let metadata = try #require(try RTMPMetadata(parsing: connection.messages[0]))
        #expect(metadata.values["width"]?.number == 64 && metadata.values["videodatarate"]?.number == 300)
      }
      #expect(stream.statistics.videoEncoders == 1)
      let reports = pushes.reports
      #expect(reports.map(\.id) == [1, 2] && reports.allSatisfy { $0.status.phase == .sending })
      #expect(reports.allSatisfy { $0.status.sentByteCount > 1000 })
      #expect(onQuietMachine(reports.allSatisfy { $0.status.queueAge < .seconds(1) }))
      #expect(!"\(reports)".contains("SECRET"))
      try pushes.replace(with: [.existing(2)])
      try await eventually { servers[0].connections[0].hasStopped && servers[0].connections[0].hasClosed }
      #expect(pushes.reports.map(\.id) == [2] && !servers[1].connections[0].hasClosed)
    }
    try await eventually { servers[1].connections[0].hasStopped }
    for server in servers { await server.stop() }
  }

  /// The frames that each server has got since the first keyframe that all have; empty without one.
  private static func commonFrames(of servers: [TestRTMPServer]) -> [ArraySlice<ByteBuffer>] {
    // Without the configuration. Audio is left out: the frames between beeps are all the same.
    let frames = servers.map { server in
      (server.connections.first?.messages ?? [])
        .filter { $0.type == .video && $0.payload.readableBytesView.dropFirst().first == 1 }.map(\.payload)
    }
    // Each begins at a keyframe of its own: all have that of the last one to begin.
    let first = frames.compactMap(\.first).first { first in frames.allSatisfy { $0.contains(first) } }
    return frames.map { $0.drop { $0 != first } }
  }

  @Test func `the query of a URL names the rendition, which the server does not get`() async throws {
    let server = TestRTMPServer()
    let port = try await server.start()
    try await Self.withPushes { _, pushes in
      func target(_ rendition: String) throws -> PushTarget {
        // The value of `key` in a query is what the server takes for a token.
        try PushTarget(url: "rtmp://127.0.0.1:\(port)/app/SECRET-1?rendition=\(rendition)&key=SECRET-2")
      }
      let unknown = #expect(throws: VidiconError.self) { try pushes.add([target("SECRET-3")]) }
      let named = #expect(throws: VidiconError.self) { try pushes.add([Self.target(port, rendition: "none")]) }
      #expect(unknown == named && unknown?.code == .notFound)
      #expect(unknown?.description.contains("SECRET") == false)
      try pushes.add([target("low")])
      try await eventually { (server.connections.first?.messages.count ?? 0) > 10 }
      let request = try #require(server.connections[0].request)
      #expect(request.name == Secret("SECRET-1") && request.token == Secret("SECRET-2"))
      let metadata = try #require(try RTMPMetadata(parsing: server.connections[0].messages[0]))
      #expect(metadata.values["width"]?.number == 32)
      #expect(pushes.reports.map(\.rendition) == ["low"])
    }
    await server.stop()
  }

  @Test func `eight servers get the bytes of one encoding`() async throws {
    let servers = (0..<8).map { _ in TestRTMPServer() }
    var targets: [PushTarget] = []
    for server in servers { targets.append(try Self.target(try await server.start())) }
    try await Self.withPushes { stream, pushes in
      try pushes.add(targets)
      try await eventually { servers.allSatisfy { ($0.connections.first?.messages.count ?? 0) > 200 } }
      // A server whose thread is late has fewer of them.
      try await eventually { Self.commonFrames(of: servers).allSatisfy { $0.count > 30 } }
      #expect(stream.statistics.videoEncoders == 1 && stream.renditions.allSatisfy { $0.statistics.users == 0 })
      #expect(pushes.reports.count == 8)
      #expect(onQuietMachine(pushes.reports.allSatisfy { $0.status.droppedFrames == 0 }))
      let common = Self.commonFrames(of: servers)
      let count = common.map(\.count).min() ?? 0
      #expect(count > 30)
      for other in common { #expect(other.prefix(count).elementsEqual(common[0].prefix(count))) }
    }
    for server in servers { await server.stop() }
  }

  @Test func `a server that was killed gets configuration and keyframe again`() async throws {
    let server = TestRTMPServer()
    let port = try await server.start()
    try await Self.withPushes { _, pushes in
      try pushes.add([try Self.target(port)])
      for round in 1...3 {
        try await eventually {
          server.connections.contains { $0.request != nil && !$0.hasClosed && $0.messages.count > 20 }
        }
        #expect(pushes.reports[0].status.reconnects == round - 1)
        await server.kill()
        try await eventually { if case .waiting = pushes.reports[0].status.phase { true } else { false } }
        try await server.start(port: port)
      }
      for connection in server.connections where connection.messages.count > 4 {
        #expect(Self.kinds(connection).prefix(4) == ["D", "v", "a", "K"])
      }
    }
    await server.stop()
  }

  @Test func `a name that is in use is tried again, and no text has the key`() async throws {
    let server = TestRTMPServer(refusal: .alreadyPublished)
    let port = try await server.start()
    try await Self.withPushes { _, pushes in
      try pushes.add([try Self.target(port)])
      try await eventually { server.connections.count >= 3 }
      let report = pushes.reports[0]
      #expect(report.status.failedAttempts >= 2)
      let failure = try #require(report.status.lastFailure)
      #expect(failure.contains("BadName") && !failure.contains("SECRET") && !"\(pushes.reports)".contains("SECRET"))
      var iterator = pushes.events.makeAsyncIterator()
      let event = await iterator.next()
      guard case .failed(let reason, _)? = event?.kind else {
        Issue.record("no failure was reported")
        return
      }
      #expect(reason == failure && event?.address == "rtmp://127.0.0.1:\(port)/app")
    }
    await server.stop()
  }

  @Test func `a rendition is encoded while it is pushed, and not before`() async throws {
    let server = TestRTMPServer()
    let port = try await server.start()
    try await Self.withPushes(hasAudio: false) { stream, pushes in
      #expect(throws: VidiconError.self) { try pushes.add([try Self.target(port, rendition: "none")]) }
      #expect(pushes.reports.isEmpty)
      try pushes.add([try Self.target(port, rendition: "low")])
      try await eventually { (server.connections.first?.messages.count ?? 0) > 60 }
      let connection = server.connections[0]
      #expect(Self.kinds(connection).prefix(4) == ["D", "v", "a", "K"])
      let metadata = try #require(try RTMPMetadata(parsing: connection.messages[0]))
      #expect(metadata.values["width"]?.number == 32 && metadata.values["audiocodecid"]?.number == 10)
      #expect(Self.kinds(connection).contains("A"))
      #expect(stream.renditions[0].statistics.users == 1)
      try pushes.replace(with: [])
      try await eventually { stream.renditions[0].statistics.users == 0 }
    }
    await server.stop()
  }

  @Test func `a push with a bitrate has an encoding of its own, and two at most have one`() async throws {
    let servers = [TestRTMPServer(), TestRTMPServer(), TestRTMPServer()]
    var targets: [PushTarget] = []
    for server in servers { targets.append(try Self.target(try await server.start(), bitrate: 60_000)) }
    try await Self.withPushes { stream, pushes in
      try pushes.add(targets)
      try await eventually { servers.allSatisfy { ($0.connections.first?.messages.count ?? 0) > 60 } }
      try await eventually { pushes.reports.count { $0.status.hasOwnEncoding } == 2 }
      #expect(stream.renditions.map(\.name) == ["low"])
      let waiting = try #require(pushes.reports.first { !$0.status.hasOwnEncoding })
      let first = try #require(pushes.reports.first { $0.status.hasOwnEncoding })
      try pushes.replace(with: pushes.reports.filter { $0.id != first.id }.map { .existing($0.id) })
      // Its encoding is the next one's.
      try await eventually { pushes.reports.first { $0.id == waiting.id }?.status.hasOwnEncoding == true }
      let server = servers[waiting.id - 1]
      // Audio goes on while the encoder is opened.
      try await eventually { Self.kinds(server.connections[0]).count { $0 == "v" } >= 2 }
      let count = server.connections[0].messages.count
      try await eventually { server.connections[0].messages.count > count + 60 }
      #expect(Self.kinds(server.connections[0]).count { $0 == "v" } == 2)
    }
    for server in servers { await server.stop() }
  }

  @Test func `lists that cannot be change nothing`() async throws {
    let server = TestRTMPServer()
    let port = try await server.start()
    try await Self.withPushes { stream, pushes in
      try pushes.add([try Self.target(port)])
      let target = try Self.target(port)
      let lists: [[PushEntry]] = [
        [.existing(7)], [.existing(1), .existing(1)], [.new(target), .existing(0)],
        Array(repeating: .new(target), count: 9),
      ]
      for list in lists { #expect(throws: VidiconError.self) { try pushes.replace(with: list) } }
      #expect(pushes.reports.map(\.id) == [1])
      await stream.stop()
      #expect(throws: VidiconError.self) { try pushes.add([target]) }
    }
    await server.stop()
  }

  @Test func `what cannot be reached is one line`() async throws {
    try await Self.withPushes { _, pushes in
      let closed = try SilentListener(listens: false)
      defer { closed.close() }
      try pushes.replace(with: [.new(try Self.target(Int(closed.port)))])
      try await eventually { pushes.reports[0].status.lastFailure != nil }
      #expect(pushes.reports[0].status.lastFailure == "connection refused")
      try pushes.replace(with: [.new(try PushTarget(url: "rtmp://no-such-host.invalid/app/\(Self.key)"))])
      try await eventually { pushes.reports[0].status.lastFailure != nil }
      #expect(pushes.reports[0].status.lastFailure == "the host name cannot be resolved")
    }
  }

  @Test(arguments: [
    "rtmp://169.254.169.254/app/key", "rtmps://169.254.1.1/app/key", "rtmp://[fe80::1]/app/key",
    "rtmp://[::ffff:169.254.169.254]/app/key",
  ])
  func `link-local addresses that an operator chose over HTTP are not connected to`(url: String) async throws {
    try await Self.withPushes { _, pushes in
      try pushes.replace(with: [.new(try PushTarget(url: url))])
      try await eventually { pushes.reports[0].status.lastFailure != nil }
      #expect(pushes.reports[0].status.lastFailure == "its address is link-local, which only the owner may choose")
    }
  }
}
