import Authentication
import Capture
import Foundation
import Media
import NIOCore
import NIOEmbedded
import NIOSSL
import Pushing
import RTMP
import Serving
import Synchronization
import TestSupport
import Testing
import Threading

@testable import RTMPServer
@testable import Streaming

@Suite("Connections of a push", .timeLimit(.minutes(5)))
struct PushConnectionTests {
  /// A running stream with one push; ends with `body`.
  ///
  /// - Parameter stepTimeout: Maximum time of each step of a connection: no busy machine needs that of the default.
  private static func withPush(
    _ url: String, authorityFile: String? = nil, stepTimeout: MediaDuration = .seconds(300),
    allowsLinkLocal: Bool = false,
    _ body: (LiveStream, StreamPushes) async throws -> Void
  ) async throws {
    let stream = LiveStream("test", video: VideoSettings(bitrate: 2_000_000))
    stream.attachVideo(NoiseCapturer(width: 320, height: 240, frameRate: 30))
    try await stream.start()
    let service = PushService(authorityFile: authorityFile, stepTimeout: stepTimeout)
    let pushes = StreamPushes(stream, service: service, allowsLinkLocal: allowsLinkLocal)
    do {
      try pushes.add([try PushTarget(url: url)])
      try await body(stream, pushes)
    } catch {
      Issue.record(error)
    }
    await pushes.stop()
    await stream.stop()
    await service.stop()
  }

  /// Lets faces become private once samples have waited for half a second.
  ///
  /// On a thread of its own: a connection without progress is given up after ten seconds, for which other tests may keep all threads
  /// of tasks busy.
  ///
  /// - Returns: Number of bytes that were passed to the connection before.
  private static func discardWaiting(of stream: LiveStream, _ pushes: StreamPushes) async -> Int {
    await withCheckedContinuation { continuation in
      Thread.detachNewThread {
        let end = StreamClock.system.now() + .seconds(300)
        let nothing = Monitor(())
        while pushes.reports[0].status.queueAge < .milliseconds(500), StreamClock.system.now() < end {
          let _: Never? = nothing.wait(until: StreamClock.system.now() + .milliseconds(1)) { _ in nil }
        }
        let count = pushes.reports[0].status.sentByteCount
        stream.discardEarlier()
        continuation.resume(returning: count)
      }
    }
  }

  @Test func `what a server has not read when faces become private is never sent to it`() async throws {
    let server = TestRTMPServer(stopsReading: true)
    let port = try await server.start()
    try await Self.withPush("rtmp://127.0.0.1:\(port)/app/key") { stream, pushes in
      // More than the connection holds of it is queued.
      let count = await Self.discardWaiting(of: stream, pushes)
      try await eventually { server.connections.count >= 2 }
      await server.resumeReading()
      try await eventually { server.connections[0].hasClosed }
      #expect(server.connections[0].wasReset)
      #expect(server.connections[0].byteCount < count, "the rest was discarded")
      #expect(pushes.reports[0].status.lastFailure == nil)
      try await eventually { pushes.reports[0].status.phase == .sending }
      #expect(pushes.reports[0].status.reconnects == 1)
    }
    await server.stop()
  }

  @Test func `a server that is killed over TLS has closed the connection`() async throws {
    let folder = FileManager.default.temporaryDirectory.appendingPathComponent("push-tls-\(UUID().uuidString)")
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(at: folder) }
    let (certificate, key) = (folder.path + "/certificate.pem", folder.path + "/key.pem")
    let making = Process()
    making.executableURL = URL(fileURLWithPath: "/usr/bin/env")
    making.arguments =
      ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", "/CN=127.0.0.1"]
      + ["-addext", "subjectAltName=IP:127.0.0.1", "-keyout", key, "-out", certificate]
    making.standardError = FileHandle.nullDevice
    try making.run()
    making.finish()
    let tls = try NIOSSLContext(
      configuration: .makeServerConfiguration(
        certificateChain: NIOSSLCertificate.fromPEMFile(certificate).map { .certificate($0) },
        privateKey: .privateKey(NIOSSLPrivateKey(file: key, format: .pem))))
    let server = TestRTMPServer(tls: tls)
    let port = try await server.start()
    try await Self.withPush("rtmps://127.0.0.1:\(port)/app/key", authorityFile: certificate) { _, pushes in
      try await eventually { (server.connections.first?.messages.count ?? 0) > 10 }
      try await server.crash()
      try await eventually { pushes.reports[0].status.lastFailure != nil }
      #expect(pushes.reports[0].status.lastFailure == "the server has closed the connection")
      try await eventually { (server.connections.last?.messages.count ?? 0) > 10 && server.connections.count == 2 }
    }
    await server.stop()
  }

  @Test(arguments: [
    ("rtmp", "no RTMP server there: the server does not respond"),
    ("rtmps", "the server does not complete the TLS handshake"),
  ])
  func `a server that accepts connections and says nothing fails each attempt, and is tried again`(
    scheme: String, reason: String
  ) async throws {
    let listener = try SilentListener()
    defer { listener.close() }
    try await Self.withPush("\(scheme)://127.0.0.1:\(listener.port)/app/key", stepTimeout: .milliseconds(200)) {
      _, pushes in
      var reasons: Set<String> = []
      try await eventually {
        let status = pushes.reports[0].status
        if let failure = status.lastFailure { reasons.insert(failure) }
        return status.failedAttempts >= 2 && status.lastFailure == reason
      }
      // The reason of an attempt whose connection a busy machine does not make within 200 ms.
      #expect(reasons.isSubset(of: [reason, "the server does not respond"]))
    }
  }

  @Test func `a server that answers no connection fails each attempt, and is tried again`() async throws {
    let listener = try SilentListener(isFull: true)
    defer { listener.close() }
    try await Self.withPush("rtmp://127.0.0.1:\(listener.port)/app/key", stepTimeout: .milliseconds(200)) { _, pushes in
      try await eventually { pushes.reports[0].status.failedAttempts >= 2 }
      #expect(pushes.reports[0].status.lastFailure == "the server does not respond")
    }
  }

  @Test(arguments: [
    (CutServer.Step.handshake, "no RTMP server there: the server has closed the connection"),
    (.connect, "the application is refused: the server has closed the connection"),
    (.request, "the stream key is refused: the server has closed the connection"),
  ])
  func `a server that closes amid its answer fails each attempt, with the step in one line, and is tried again`(
    step: CutServer.Step, reason: String
  ) async throws {
    let server = try await CutServer(at: step)
    try await Self.withPush("rtmp://127.0.0.1:\(server.port)/app/key") { _, pushes in
      try await eventually { pushes.reports[0].status.failedAttempts >= 2 }
      let status = pushes.reports[0].status
      #expect(status.lastFailure == reason && status.sentByteCount == 0)
      #expect(status.phase != .sending)
    }
    await server.stop()
  }

  private static func redirect(to url: String) -> RTMPCommand {
    RTMPCommand(
      "_error", transactionID: 5,
      arguments: [
        .object([
          "level": "error", "code": "NetConnection.Connect.Rejected", "description": "elsewhere",
          "ex": .object(["code": 302, "redirect": .string(url)]),
        ])
      ])
  }

  @Test func `a redirect is followed, once, and a request to connect again too`() async throws {
    let other = TestRTMPServer()
    let otherPort = try await other.start()
    let server = TestRTMPServer(answers: [Self.redirect(to: "rtmp://127.0.0.1:\(otherPort)/live?x=1")])
    let port = try await server.start()
    try await Self.withPush("rtmp://127.0.0.1:\(port)/app/key") { _, pushes in
      try await eventually { (other.connections.first?.messages.count ?? 0) > 10 }
      #expect(other.connections[0].request?.name == Secret("key"))
      #expect(server.connections.count == 1 && pushes.reports[0].address == "rtmp://127.0.0.1:\(port)/app")
      // Within 5 s it is another failure, after which the target's own address is used.
      try await other.send(
        RTMPCommand(
          "onStatus",
          arguments: [RTMPStatus(code: "NetConnection.Connect.ReconnectRequest", description: "restart").value]))
      try await eventually { (server.connections.last?.messages.count ?? 0) > 10 }
      // The name is released; the two servers have threads of their own.
      try await eventually { other.connections[0].hasStopped }
    }
    await server.stop()
    await other.stop()
  }

  @Test func `no redirect leads to a link-local address, even where the owner may choose one`() async throws {
    let server = TestRTMPServer(answers: [Self.redirect(to: "rtmp://169.254.169.254/live")])
    let port = try await server.start()
    try await Self.withPush("rtmp://127.0.0.1:\(port)/app/key", allowsLinkLocal: true) { _, pushes in
      try await eventually {
        pushes.reports[0].status.lastFailure == "its address is link-local, which only the owner may choose"
      }
      try await eventually { (server.connections.last?.messages.count ?? 0) > 10 }
    }
    await server.stop()
  }

  /// Keeps the promises of writes, as a connection whose peer does not read.
  private final class StalledConnection: ChannelOutboundHandler {
    typealias OutboundIn = ByteBuffer
    var isStalled = false
    var writes: [(bytes: ByteBuffer, promise: EventLoopPromise<Void>?)] = []
    var readCount = 0

    func write(context: ChannelHandlerContext, data: NIOAny, promise: EventLoopPromise<Void>?) {
      guard self.isStalled else { return context.write(data, promise: promise) }
      self.writes.append((self.unwrapOutboundIn(data), promise))
    }

    func read(context: ChannelHandlerContext) {
      self.readCount += 1
      context.read()
    }
  }

  @Test func `a server that asks for responses and does not read them is not read from`() throws {
    let (channel, stalled) = (EmbeddedChannel(), StalledConnection())
    var server = RTMPServerSession(now: .zero, makeRandom: { 1 })
    // Safe because the time of an embedded channel stands.
    let handler = RTMPPushHandler(url: try RTMPURL(parsing: "rtmp://h/app/key"), timeout: .seconds(10)) { _ in }
    try channel.pipeline.syncOperations.addHandlers(stalled, handler)
    try channel.connect(to: SocketAddress(ipAddress: "127.0.0.1", port: 1935)).wait()
    while let bytes = try channel.readOutbound(as: ByteBuffer.self) {
      var actions = server.receive(bytes, now: .zero)
      if server.isDeciding { actions += server.accept(now: .zero) }
      for case .send(let answer) in actions { try channel.writeInbound(answer) }
    }
    stalled.isStalled = true
    var (writer, pings) = (RTMPChunkWriter(chunkSize: RTMPChunkWriter.announcedChunkSize), ByteBuffer())
    for _ in 0..<1000 { writer.write(RTMPControlMessage.pingRequest(1).message, into: &pings) }
    var count = 0
    repeat {
      stalled.readCount = 0
      try channel.writeInbound(pings)
      channel.read()
      count += 1
    } while stalled.readCount > 0 && count < 100
    #expect(count < 10)
    let held = stalled.writes.reduce(0) { $0 + $1.bytes.readableBytes }
    #expect(((64 << 10)...(96 << 10)).contains(held))
    for write in stalled.writes { write.promise?.succeed() }
    #expect(stalled.readCount == 1)
    _ = try channel.finish(acceptAlreadyClosed: true)
  }
}
