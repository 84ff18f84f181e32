internal import HTTPTypes
internal import HummingbirdCore
internal import NIOCore

extension ServerResponse {
  /// Bytes written at a time to an HTTP/2 stream; a client is stalled when it does not read one slice in time.
  static let multiplexedSlice = 64 * 1024
  /// Bytes of a file read, and held in memory, at a time.
  private static let fileSlice = 256 * 1024

  /// Writes the response, in slices of bounded size where it is long.
  ///
  /// A short head and body are written by one system call; the body is the shared buffer, not a copy.
  @concurrent consuming func write(to writer: consuming ResponseWriter, on channel: any Channel) async throws {
    // An error ends the connection: the client requests the file again, and learns that it is gone.
    try self.transfer?.begin(on: channel)
    let transfer = self.transfer
    defer { transfer?.end(on: channel) }
    let head = self.head
    switch self.body {
    case .empty: try await writer.writeResponse(head)
    case .bytes(var bytes):
      // The parent of an HTTP/2 stream's channel is the connection, whose parent is the listener.
      guard channel.parent?.parent != nil, bytes.readableBytes > Self.multiplexedSlice else {
        return try await writer.write(response: head, body: ResponseBody(byteBuffer: bytes))
      }
      var body = try await writer.writeHead(head)
      while let slice = bytes.readSlice(length: min(bytes.readableBytes, Self.multiplexedSlice)),
        slice.readableBytes > 0
      {
        try await body.write(slice)
      }
      try await body.finish(nil)
    case .file(let file, var range):
      let maximumBytes = channel.parent?.parent != nil ? Self.multiplexedSlice : Self.fileSlice
      var body = try await writer.writeHead(head)
      while !range.isEmpty {
        let slice = range.prefix(maximumBytes)
        // An error ends the connection before `Content-Length` bytes, which the client detects.
        try await body.write(try await file.read(slice))
        range = slice.upperBound..<range.upperBound
      }
      try await body.finish(nil)
    case .streamed(let content):
      var body = BodyWriter(try await writer.writeHead(head), on: channel)
      try await content.write(to: &body)
      try await body.finish()
    }
  }
}
