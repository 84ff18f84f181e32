import Foundation
import HLS
import Media
import NIOCore
import NIOEmbedded
import TestSupport
import Testing
import Threading

@testable import Capture
@testable import ControlAPI
@testable import HLSServer
@testable import HTTPServer
@testable import Streaming

@Suite("Media that are being sent when faces become private", .timeLimit(.minutes(5)))
struct DiscardableTransfersTests {
  /// A client whose system receives a few kilobytes ahead.
  final class Client: Sendable {
    private let descriptor: Int32

    /// - Parameter receiveBuffer: In bytes; nil for the system's.
    init(port: Int, receiveBuffer: Int32? = nil) throws {
      self.descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
      if var size = receiveBuffer {
        setsockopt(self.descriptor, SOL_SOCKET, SO_RCVBUF, &size, socklen_t(MemoryLayout<Int32>.size))
      }
      WaitLimit.apply(to: self.descriptor)
      var address = sockaddr_in()
      address.sin_family = sa_family_t(AF_INET)
      address.sin_port = UInt16(port).bigEndian
      address.sin_addr.s_addr = UInt32(0x7f00_0001).bigEndian
      let isConnected = withUnsafePointer(to: &address) { pointer in
        pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
          connect(self.descriptor, $0, socklen_t(MemoryLayout<sockaddr_in>.size)) == 0
        }
      }
      try #require(isConnected)
    }

    deinit { close(self.descriptor) }

    func request(_ path: String) {
      let text = "GET \(path) HTTP/1.1\r\nHost: localhost\r\n\r\n"
      _ = text.withCString { send(self.descriptor, $0, strlen($0), Int32(MSG_NOSIGNAL)) }
    }

    /// Runs a call that blocks on a thread of its own: the server needs those of tasks.
    private func blocking<Result: Sendable>(_ body: @escaping @Sendable () -> Result) async -> Result {
      await withCheckedContinuation { continuation in
        DispatchQueue(label: "client").async { continuation.resume(returning: body()) }
      }
    }

    /// The head of the response; its body stays in the system.
    func head() async -> String { await self.blocking { self.readHead() } }

    private func readHead() -> String {
      var head: [UInt8] = []
      var byte: UInt8 = 0
      while !head.suffix(4).elementsEqual("\r\n\r\n".utf8), recv(self.descriptor, &byte, 1, 0) == 1 {
        head.append(byte)
      }
      return String(decoding: head, as: UTF8.self)
    }

    /// Reads up to a number of bytes.
    ///
    /// - Returns: The number of bytes until the connection ended, and its error.
    func read(_ count: Int) async -> (count: Int, error: Int32) { await self.blocking { self.readBytes(count) } }

    private func readBytes(_ count: Int) -> (count: Int, error: Int32) {
      var room = [UInt8](repeating: 0, count: 65_536)
      var sum = 0
      while sum < count {
        let received = recv(self.descriptor, &room, min(room.count, count - sum), 0)
        if received <= 0 { return (sum, received < 0 ? errno : 0) }
        sum += received
      }
      return (sum, 0)
    }
  }

  static func length(_ head: String) throws -> Int {
    let match = try #require(head.firstMatch(of: #/Content-Length: ([0-9]+)/#), "\(head)")
    return try #require(Int(match.1))
  }

  /// A server with a stream of noise, and the path of one of its segments.
  static func withSegment(
    _ body: (_ stream: LiveStream, _ served: ServedStream, _ port: Int, _ segment: String) async throws -> Void
  ) async throws {
    try await Self.withServerOfSegment { server, port, segment in
      let served = try #require(server.hls.streams["a"])
      try await body(served.stream, served, port, segment)
    }
  }

  /// A server with a stream of noise named "a", and the path of one of its segments.
  static func withServerOfSegment(
    _ body: (_ server: WebServer, _ port: Int, _ segment: String) async throws -> Void
  ) async throws {
    try await withServer { server, port in
      let stream = LiveStream(
        "a", video: VideoSettings(width: 192, height: 144, frameRate: 10, bitrate: 4_000_000))
      stream.attachVideo(NoiseCapturer(width: 192, height: 144, frameRate: 10))
      try await stream.start()
      server.serve(stream)
      do {
        let playlist = try await RawClient.getMedia("/a/playlist.m3u8", port: port).body
        let segment = try #require(playlist.split(separator: "\n").last { $0.hasSuffix(".ts") })
        try await body(server, port, "/a/\(segment)")
      } catch {
        await stream.stop()
        throw error
      }
      await stream.stop()
    }
  }

  /// The path of a segment of more than 100 kB: on a busy machine one may lack most of its frames.
  static func longSegment(of served: ServedStream) async throws -> String {
    var path: String?
    try await eventually {
      let now = StreamClock.system.now()
      func file(_ name: String) -> ByteBuffer? {
        guard let request = HLSRequest(file: name, arrival: now),
          case .content(let content)? = served.hls.respondAtOnce(to: request)
        else { return nil }
        return content.body
      }
      let playlist = file("playlist.m3u8").map { String(buffer: $0) } ?? ""
      let names = playlist.split(separator: "\n").map(String.init).filter { $0.hasSuffix(".ts") }
      path = names.last { (file($0)?.readableBytes ?? 0) > 100_000 }.map { "/a/\($0)" }
      return path != nil
    }
    return try #require(path)
  }

  @Test func `a segment that a client reads slowly is cut off, and a connection whose client has read it goes on`()
    async throws
  {
    try await Self.withSegment { stream, served, port, _ in
      let segment = try await Self.longSegment(of: served)
      let slow = try Client(port: port, receiveBuffer: 4096)
      let quick = try Client(port: port)
      for client in [slow, quick] { client.request(segment) }
      let length = try Self.length(await slow.head())
      try #require(length > 100_000)
      _ = await quick.head()
      #expect(await quick.read(length).count == length)
      // The next request acknowledges it.
      quick.request("/health")
      #expect(await quick.head().hasPrefix("HTTP/1.1 200"))
      #expect(await quick.read(3).count == 3)
      #expect(served.hls.transfers.connectionCount == 2)
      stream.discardEarlier()
      // Not before: this client could read faster than the server resets its connection.
      try await eventually { served.hls.transfers.connectionCount == 1 }
      let rest = await slow.read(length)
      #expect(rest.count < length / 2 && rest.error == ECONNRESET, "\(rest) of \(length)")
      quick.request("/health")
      #expect(await quick.head().hasPrefix("HTTP/1.1 200"))
      #expect(await quick.read(3).count == 3)
      quick.request(segment)
      #expect(await quick.head().contains("410"))
    }
  }

  @Test func `motion JPEG that a client has not read is cut off`() async throws {
    try await Self.withSegment { stream, served, port, _ in
      let client = try Client(port: port, receiveBuffer: 4096)
      client.request("/a/mjpeg")
      #expect(await client.head().hasPrefix("HTTP/1.1 200"))
      try await eventually { stream.snapshots.statistics.imagesEncoded >= 5 }
      // The event loop may be behind the encoder.
      try await eventually { served.hls.transfers.connectionCount == 1 }
      stream.discardEarlier()
      try await eventually { served.hls.transfers.connectionCount == 0 }
      let rest = await client.read(.max)
      #expect(rest.error == ECONNRESET && rest.count < 40_000, "\(rest)")
    }
  }

  @Test func `media that were taken from the stream before are not written after`() throws {
    let (transfers, channel) = (DiscardableTransfers(), EmbeddedChannel())
    let (before, other) = (transfers.transfer(), transfers.transfer())
    try before.begin(on: channel)
    transfers.discardEarlier()
    #expect(throws: DiscardableTransfers.Discarded.self) { try other.begin(on: channel) }
    #expect(throws: DiscardableTransfers.Discarded.self) { try other.beginAtOnce(on: channel) }
    try transfers.transfer().begin(on: channel)
    try transfers.transfer().beginAtOnce(on: channel)
    #expect(transfers.connectionCount == 1)
    _ = try channel.finish()
    channel.embeddedEventLoop.run()
    #expect(transfers.connectionCount == 0)
  }
}
