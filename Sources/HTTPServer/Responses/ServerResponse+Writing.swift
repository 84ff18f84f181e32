internal import HTTPTypes
internal import HummingbirdCore
internal import NIOCore
internal import Streaming

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
    case .motionJPEG(let images, let stream):
      stream.countMotionJPEGViewers(1)
      defer { stream.countMotionJPEGViewers(-1) }
      var body = try await writer.writeHead(head)
      try await body.write(ByteBuffer(string: MotionJPEGPart.opening))
      // A write waits until the client reads; meanwhile `images` keeps only the newest image.
      for await image in images {
        if stream.isOver { break }
        // Before the look at the image: where earlier ones are discarded after it, the connection is reset.
        let transfer = stream.hls.transfers.transfer()
        guard stream.stream.snapshots.isCurrent(image), (try? transfer.begin(on: channel)) != nil else { continue }
        defer { transfer.end(on: channel) }
        let length = image.file.readableBytes
        try await body.write(contentsOf: [
          ByteBuffer(string: MotionJPEGPart.head(length: length)), image.file,
          ByteBuffer(string: MotionJPEGPart.delimiter),
        ])
        stream.countBytes(length, of: .mjpeg)
      }
      try await body.write(ByteBuffer(string: MotionJPEGPart.ending))
      try await body.finish(nil)
    case .events(let opening, let events):
      var body = try await writer.writeHead(head)
      try await body.write(opening)
      // A write waits until the client reads; meanwhile `events` drops its oldest messages.
      for await event in events { try await body.write(event) }
      try await body.finish(nil)
    }
  }
}
