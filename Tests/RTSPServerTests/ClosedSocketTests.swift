import Authentication
import Foundation
import Media
import NIOCore
import NIOPosix
import Serving
import Streaming
import TestSupport
import Testing

@testable import RTSPServer

@Suite("RTSP viewers that close while packets are sent", .timeLimit(.minutes(5)))
struct ClosedSocketTests {
  @Test func `a viewer that has closed since the list of viewers was copied is sent nothing`() async throws {
    let group = MultiThreadedEventLoopGroup(numberOfThreads: 1)
    let access = AccessControl(settings: AccessSettings(), makeRandom: { 1 })
    var settings = RTSPServerSettings(port: 0)
    settings.address = "127.0.0.1"
    let server = RTSPServer(
      settings,
      ServerEnvironment(
        access: access, passwords: PasswordChecker(access: access), group: group, registry: ConnectionRegistry()))
    try await server.start()
    let stream = LiveStream("live")
    server.directory.outputs.serve(stream, descriptions: EmbeddedServer.descriptions)
    let output = try #require(server.directory.outputs.output(of: stream.main))
    let port = try #require(server.ports?.plain)
    var clients: [BlockingConnection] = []
    var received: Int?
    // Another test may be faster to use the descriptor again.
    for _ in 0..<50 where received == nil {
      for _ in 0..<2 {
        let client = try BlockingConnection(port: port, receiveBuffer: 64 * 1024)
        try client.send(
          "SETUP rtsp://h/live/trackID=0 RTSP/1.0\r\nCSeq: 1\r\nTransport: RTP/AVP/TCP;unicast;interleaved=0-1\r\n\r\n"
            + "PLAY rtsp://h/live RTSP/1.0\r\nCSeq: 2\r\n\r\n")
        clients.append(client)
      }
      try await eventually { output.statistics.viewers == 2 }
      let bytesSent = output.statistics.bytesSent
      output.consume(
        EncodedSample(
          kind: .video, payload: ByteBuffer(bytes: [0, 0, 0, 2, 0x65, 0x80]), presentationTime: .zero,
          duration: .milliseconds(33), isKeyframe: true))
      try await eventually { output.statistics.bytesSent > bytesSent }
      let loop = group.next()
      received = try await loop.submit { try Self.sendAfterClose(output, on: loop) }.get()
      clients.removeAll()
      try await eventually { output.statistics.viewers == 0 }
    }
    #expect(received == 0, "bytes for a viewer went to another socket, or its descriptor was never free")
    await server.stop()
    try await group.shutdownGracefully()
  }

  /// Closes a viewer, uses its descriptor for another socket, and sends packets to both viewers, on their event loop.
  ///
  /// - Returns: Number of bytes that arrived at the other socket; nil where another thread has taken the descriptor.
  private static func sendAfterClose(_ output: RTPOutput, on loop: any EventLoop) throws -> Int? {
    let group = output.broadcast.group(on: loop)
    let viewers = group.viewers
    try #require(viewers.count == 2)
    // nil where the keyframe is old already, on a slow machine.
    guard let deliveries = output.broadcast.deliveriesSinceKeyframe() else { return nil }
    let channel = try #require(viewers[0].connection.context?.channel)
    let descriptor = try channel.pipeline.syncOperations.withUnsafeTransportIfAvailable(
      of: NIOBSDSocket.Handle.self, { $0 })
    let handle = try #require(descriptor)
    var pair: [Int32] = [-1, -1]
    try #require(socketpair(AF_UNIX, Int32(SOCK_STREAM.rawValue), 0, &pair) == 0)
    defer { for socket in pair { close(socket) } }
    channel.close(promise: nil)
    let reused = fcntl(pair[0], F_DUPFD, handle)
    defer { if reused >= 0 { close(reused) } }
    guard reused == handle else { return nil }
    _ = group.sender.send(deliveries, to: [viewers[...]], at: .zero)
    var bytes = [UInt8](repeating: 0, count: 4096)
    return max(0, recv(pair[1], &bytes, bytes.count, Int32(MSG_DONTWAIT)))
  }
}
