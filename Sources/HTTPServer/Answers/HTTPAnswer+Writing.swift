internal import HTTPTypes
internal import HummingbirdCore
internal import NIOCore

extension HTTPAnswer {
  /// Bytes of a body that are handed over at a time under HTTP/2, where one client's slowness is seen by how long it takes
  /// for that many.
  private static let multiplexedSlice = 64 * 1024
  /// Bytes of a file that are read at a time, and are all that is held of it.
  private static let fileSlice = 256 * 1024

  /// Writes the answer; returns when it is handed to the system or waits for the client, in bounded size.
  ///
  /// Head and body go to the system in one call, the body as the buffer that all share.
  @concurrent consuming func write(to writer: consuming ResponseWriter, on channel: any Channel) async throws {
    let head = HTTPResponse(status: self.status, headerFields: self.fields)
    switch self.body {
    case .empty: try await writer.writeResponse(head)
    case .bytes(var bytes):
      // A stream of HTTP/2 has the connection above it, and that the listener.
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
      let most = channel.parent?.parent != nil ? Self.multiplexedSlice : Self.fileSlice
      var body = try await writer.writeHead(head)
      while !range.isEmpty {
        let slice = range.prefix(most)
        // When it fails, the connection ends before all that was promised has come, by which the client knows.
        try await body.write(try await file.read(slice))
        range = slice.upperBound..<range.upperBound
      }
      try await body.finish(nil)
    case .pictures(let pictures, let stream):
      stream.countMotionJPEGViewers(1)
      defer { stream.countMotionJPEGViewers(-1) }
      var body = try await writer.writeHead(head)
      try await body.write(ByteBuffer(string: MotionJPEGPart.opening))
      // While a client does not take what was written, this waits here, and the pictures that come are dropped but for the
      // newest.
      for await picture in pictures {
        if stream.isOver { break }
        try await body.write(contentsOf: [
          ByteBuffer(string: MotionJPEGPart.head(length: picture.readableBytes)), picture,
          ByteBuffer(string: MotionJPEGPart.delimiter),
        ])
        stream.countBytes(picture.readableBytes, of: .mjpeg)
      }
      try await body.write(ByteBuffer(string: MotionJPEGPart.ending))
      try await body.finish(nil)
    case .events(let opening, let events):
      var body = try await writer.writeHead(head)
      try await body.write(opening)
      // Of a client that does not take them, the oldest are lost meanwhile.
      for await event in events { try await body.write(event) }
      try await body.finish(nil)
    }
  }
}
