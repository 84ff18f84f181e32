import Media
import NIOCore
import NIOPosix
import Threading

/// A TCP connection to the server.
struct RawClient {
  private let channel: NIOAsyncChannel<ByteBuffer, ByteBuffer>

  static func connect(port: Int) async throws -> RawClient {
    let channel = try await ClientBootstrap(group: MultiThreadedEventLoopGroup.singleton)
      .connectTimeout(.minutes(5))
      .connect(host: "127.0.0.1", port: port) { channel in
        // A server that does not answer fails the test, which would wait for ever.
        let limit = channel.eventLoop.scheduleTask(in: .minutes(5)) { channel.close(promise: nil) }
        channel.closeFuture.whenComplete { _ in limit.cancel() }
        return channel.eventLoop.makeCompletedFuture {
          try NIOAsyncChannel<ByteBuffer, ByteBuffer>(wrappingChannelSynchronously: channel)
        }
      }
    return RawClient(channel: channel)
  }

  /// Sends the pieces, and returns the received text when the server closes, or when `end` was received `times` times.
  func exchange(_ pieces: [String], until end: String? = nil, times: Int = 1) async throws -> String {
    try await self.channel.executeThenClose { inbound, outbound in
      var text = ""
      do {
        // A response that came before a piece could be sent is read too.
        for piece in pieces {
          do { try await outbound.write(ByteBuffer(string: piece)) } catch is ChannelError, is IOError { break }
        }
        // Safe because the connection is closed after five minutes.
        for try await bytes in inbound {
          text += String(buffer: bytes)
          if let end, text.ranges(of: end).count >= times { return text }
        }
      } catch is IOError {
        // A reset counts as a close.
      }
      return text
    }
  }

  /// Sends a piece, runs `body`, sends another piece, and returns the received text when the server closes.
  func exchange(_ first: String, last: String, between body: () async throws -> Void) async throws -> String {
    try await self.channel.executeThenClose { inbound, outbound in
      try await outbound.write(ByteBuffer(string: first))
      try await body()
      try await outbound.write(ByteBuffer(string: last))
      var text = ""
      // Safe because the connection is closed after five minutes.
      for try await bytes in inbound { text += String(buffer: bytes) }
      return text
    }
  }

  /// Sends a request, reads until `end`, runs `body`, and sends the request again on the same connection.
  ///
  /// - Returns: The second response; empty when the server had closed the connection.
  func exchange(
    _ request: String, until end: String, thenAgainAfter body: () async throws -> Void
  ) async throws -> String {
    try await self.channel.executeThenClose { inbound, outbound in
      var iterator = inbound.makeAsyncIterator()
      var text = ""
      for isSecond in [false, true] {
        text = ""
        do {
          try await outbound.write(ByteBuffer(string: request))
          while !text.hasSuffix(end), let bytes = try await iterator.next() { text += String(buffer: bytes) }
        } catch is IOError {
          // A reset counts as a close.
        }
        if !isSecond { try await body() }
      }
      return text
    }
  }

  /// Waits until the server has closed the connection.
  func waitForClose() async {
    _ = try? await self.channel.channel.closeFuture.get()
  }

  var isOpen: Bool { self.channel.channel.isActive }

  func close() async throws {
    try await self.channel.executeThenClose { _, _ in }
  }
}

extension RawClient {
  /// Sends one request on a new connection.
  static func get(
    _ path: String, port: Int, method: String = "GET", _ fields: String...
  ) async throws -> (head: String, body: String) {
    try await self.get(path, port: port, method: method, fields: fields)
  }

  /// Sends one request on a new connection, and another one while the response says that the media are not available in time, for
  /// five minutes at most.
  ///
  /// The server waits two or three seconds for a frame, a segment or an encoder; a busy machine may take longer.
  static func getMedia(
    _ path: String, port: Int, method: String = "GET", _ fields: String...
  ) async throws -> (head: String, body: String) {
    let end = StreamClock.system.now() + .seconds(300)
    while true {
      let response = try await self.get(path, port: port, method: method, fields: fields)
      let isLate = ["503", "504"].contains(response.head.prefix(12).suffix(3))
      if !isLate || StreamClock.system.now() >= end { return response }
    }
  }

  private static func get(
    _ path: String, port: Int, method: String, fields: [String]
  ) async throws -> (head: String, body: String) {
    let lines = ["\(method) \(path) HTTP/1.1", "Host: localhost", "Connection: close"] + fields
    let text = try await RawClient.connect(port: port).exchange([lines.joined(separator: "\r\n") + "\r\n\r\n"])
    guard let end = text.firstRange(of: "\r\n\r\n") else { return (text, "") }
    return (String(text[..<end.lowerBound]), String(text[end.upperBound...]))
  }
}
