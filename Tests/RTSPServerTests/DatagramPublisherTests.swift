import Authentication
import CDatagrams
import Capture
import Foundation
import Libc
import Media
import MediaInput
import NIOCore
import NIOPosix
import RTSP
import Serving
import Streaming
import Synchronization
import Testing

@testable import RTSPServer

@Suite("Publishing over RTSP and UDP, on real sockets")
struct DatagramPublisherTests {
  @Test(.timeLimit(.minutes(5)))
  func `datagrams of a publisher reach the source in order, those of others do not`() async throws {
    let token = try #require(AccessToken(parsing: PublishedFrames.key, role: .publisher(stream: "live")))
    var access = AccessSettings()
    access.tokens = [token]
    var settings = RTSPServerSettings(port: 0)
    settings.address = "127.0.0.1"
    settings.offersUDP = true
    let server = RTSPServer(
      settings: settings, access: AccessControl(settings: access, makeRandom: { .random(in: 0...UInt64.max) }))
    let stream = LiveStream("live")
    let source = PublishedSource(
      format: VideoFormat(width: 64, height: 48, pixelFormat: .i420),
      audioFormat: AudioFormat(sampleRate: 48_000, channelCount: 2), scheme: .rtsp)
    stream.attachVideo(source.video)
    server.directory.outputs.serve(stream, descriptions: EmbeddedServer.descriptions)
    try await server.start()
    let port = try #require(server.ports?.plain)
    let samples = SampleCounter()
    try source.video.start(consumer: samples)
    let isReceived = await withCheckedContinuation { continuation in
      Thread.detachNewThread {
        continuation.resume(returning: Result { try Self.publish(to: port, frames: samples) })
      }
    }
    source.video.stop()
    await server.stop()
    #expect(try isReceived.get())
  }

  /// Publishes four frames, two of them in another order, and one from another socket.
  ///
  /// - Returns: Whether the four frames have come.
  private static func publish(to port: Int, frames: SampleCounter) throws -> Bool {
    let connection = try BlockingConnection(port: port, receiveBuffer: 65_536)
    let (socket, other) = (try Datagrams(), try Datagrams())
    let transport = "RTP/AVP;unicast;client_port=\(socket.port)-\(socket.port + 1)"
    var parser = RTSPMessageParser()
    var serverPort: UInt16?
    for request in [
      PublishedFrames.announce("rtsp://127.0.0.1:\(port)/live?key=\(PublishedFrames.key)"),
      PublishedFrames.setUp(transport), PublishedFrames.record,
    ] {
      try connection.send(request)
      var answer: RTSPResponse?
      while answer == nil {
        parser.append(try connection.receive())
        if case .response(let response)? = parser.next() { answer = response }
      }
      guard answer?.status == .ok else { throw BlockingConnection.Failure(call: "request", code: 0) }
      if let value = answer?.headers["Transport"] { serverPort = try RTSPTransport(parsing: value).serverPorts?.rtp }
    }
    guard let serverPort else { throw BlockingConnection.Failure(call: "SETUP", code: 0) }
    // A frame of a stranger would make a gap to those of the publisher.
    try other.send(PublishedFrames.packet(50), to: serverPort)
    for index in [0, 2, 1, 3] { try socket.send(PublishedFrames.packet(index), to: serverPort) }
    return frames.wait(for: 4)
  }
}

/// A pair of UDP sockets of this machine.
private final class Datagrams {
  let port: UInt16
  private var descriptors: [Int32] = [-1, -1]

  init() throws {
    var ports: [UInt16] = [0, 0]
    let code = vidicon_datagrams_open_pair("127.0.0.1", &self.descriptors, &ports)
    self.port = ports[0]
    guard code == 0 else { throw BlockingConnection.Failure(call: "bind", code: code) }
  }

  deinit { for descriptor in self.descriptors { close(descriptor) } }

  func send(_ datagram: ByteBuffer, to port: UInt16) throws {
    let address = try SocketAddress(ipAddress: "127.0.0.1", port: Int(port))
    let sent = address.withSockAddr { pointer, length in
      datagram.withUnsafeReadableBytes {
        sendto(self.descriptors[0], $0.baseAddress, $0.count, 0, pointer, socklen_t(length))
      }
    }
    guard sent == datagram.readableBytes else { throw BlockingConnection.Failure(call: "sendto", code: errno) }
  }
}
