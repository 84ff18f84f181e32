package import Media
package import NIOCore

/// Assembles messages from the chunks of a connection, RTMP 1.0 §5.3.
///
/// ```
/// basic header    fmt (2 bits), chunk stream ID: 6 bits; 0: 64 + 8 bits follow; 1: 64 + 16 bits follow, the low byte first
/// message header  fmt 0  timestamp (24), length (24), type (8), message stream ID (32, little-endian)
///                 fmt 1  timestamp delta (24), length (24), type (8)
///                 fmt 2  timestamp delta (24)
///                 fmt 3  nothing: the next chunk of a message, or a message like the previous one
/// extended timestamp  32 bits where the timestamp or delta is 0xFFFFFF
/// payload         at most the chunk size, 128 bytes until Set Chunk Size
/// ```
///
/// Bytes are accepted in pieces of any size. Set Chunk Size and Abort are applied when they are complete, also between the
/// chunks of another message. Payloads are copied only where several chunks form a message.
///
/// Deviations that senders need:
/// - Behind fmt 3 the extended timestamp is skipped only where it repeats the value of the header, which may be a delta, or is
///   the message's timestamp: senders do either, and some leave it out.
/// - A message with fmt 3 behind one with fmt 0 has the same timestamp, as librtmp (OBS) and nginx-rtmp have it; §5.3.1.2.4
///   would add the timestamp to itself.
/// - The first chunk of a chunk stream may have fmt 1, with a delta from 0 on message stream 0.
/// - A new message header in the midst of a message discards the unfinished one.
///
/// Memory is bounded by ``Limits``; no memory is reserved for bytes that have not arrived.
package struct RTMPChunkReader: Sendable {
  /// Limits of the memory that a connection may occupy.
  package struct Limits: Hashable, Sendable {
    /// Maximum length of a message, in bytes.
    package var messageLength: Int
    /// Maximum length of all unfinished messages together, in bytes.
    package var unfinishedLength: Int
    /// Maximum number of chunk streams; 64 by default, clients use less than 10.
    package var chunkStreams = 64

    /// Creates limits; unfinished messages may be twice as long as one message.
    package init(messageLength: Int) {
      self.messageLength = messageLength
      self.unfinishedLength = 2 * messageLength
    }

    /// Limits for clients that may be strangers: commands only, 64 KiB.
    package static let commands = Limits(messageLength: 64 << 10)
    /// Limits for publishers and servers: access units of 8 MiB.
    package static let media = Limits(messageLength: 8 << 20)
  }

  /// The limits; they may be raised when a publisher is accepted.
  package var limits: Limits

  /// A chunk stream's last header, and the message that is being received.
  private struct ChunkStream {
    var id: UInt32
    var message = RTMPMessage(type: RTMPMessageType(rawValue: 0), payload: ByteBuffer())
    var length = 0
    var delta: UInt32 = 0
    /// The value of the extended timestamp field; nil when the header has none.
    var extendedTimestamp: UInt32?
    /// Whether chunks of `message` are missing.
    var isUnfinished = false

    /// The same without the payload, so that a copy of it does not copy the payload when it grows.
    var header: Self {
      var header = self
      header.message.payload = ByteBuffer()
      return header
    }
  }

  private var streams: [ChunkStream] = []
  private var buffer = ByteBuffer()
  private var chunkSize = 128
  /// The chunk whose payload is being received: index in `streams`, and missing bytes.
  private var chunk: (stream: Int, missing: Int)?
  private var unfinishedLength = 0
  private var error: ParsingError?

  /// Number of bytes appended so far.
  package private(set) var receivedByteCount: UInt64 = 0
  /// Number of unfinished messages that were discarded.
  package private(set) var discardedMessageCount = 0

  /// A reader at the first byte behind the handshake.
  package init(limits: Limits) {
    self.limits = limits
  }

  /// Number of bytes held: unread ones, and those of unfinished messages.
  package var heldByteCount: Int { self.buffer.readableBytes + self.unfinishedLength }

  /// Appends bytes received behind the handshake; ignored after an error.
  package mutating func append(_ bytes: ByteBuffer) {
    self.receivedByteCount &+= UInt64(bytes.readableBytes)
    guard self.error == nil else { return }
    if self.buffer.readableBytes == 0 {
      self.buffer = bytes
    } else {
      if self.buffer.readerIndex > self.buffer.readableBytes { self.buffer.discardReadBytes() }
      self.buffer.writeImmutableBuffer(bytes)
    }
  }

  /// Returns the next complete message, or nil when more bytes are needed. Set Chunk Size and Abort are applied and returned.
  ///
  /// - Throws: `.tooLarge` beyond the limits; `.invalid` for a chunk without a header to refer to, or invalid contents of
  ///   Set Chunk Size and Abort. The framing is lost then: each further call throws the same error.
  package mutating func next() throws(ParsingError) -> RTMPMessage? {
    if let error { throw error }
    do {
      return try self.parse()
    } catch {
      self.error = error
      self.buffer = ByteBuffer()
      self.streams = []
      self.unfinishedLength = 0
      throw error
    }
  }

  private mutating func parse() throws(ParsingError) -> RTMPMessage? {
    while true {
      guard let chunk = self.chunk else {
        guard try self.readHeader() else { return nil }
        continue
      }
      guard let message = try self.readPayload(of: chunk) else {
        if self.chunk != nil { return nil }
        continue
      }
      switch try RTMPControlMessage(leniently: message) {
      case .setChunkSize(let size)?: self.chunkSize = size
      case .abort(let id)?: self.discard(id)
      default: break
      }
      return message
    }
  }

  /// Appends payload to the message of a chunk.
  ///
  /// - Returns: The message when it is complete. Without one, ``chunk`` is nil when the chunk is complete.
  private mutating func readPayload(of chunk: (stream: Int, missing: Int)) throws(ParsingError) -> RTMPMessage? {
    let (index, missing) = chunk
    let available = min(missing, self.buffer.readableBytes)
    let received = self.streams[index].message.payload.readableBytes
    if available == missing, received == 0, missing == self.streams[index].length {
      // A message of one chunk that has arrived is a slice of the received bytes, without a copy.
      self.streams[index].message.payload = self.buffer.readSlice(length: missing) ?? ByteBuffer()
      return self.finish(index)
    }
    guard available > 0 else { return nil }
    self.unfinishedLength += available
    guard self.unfinishedLength <= self.limits.unfinishedLength else {
      throw ParsingError(.tooLarge, field: "unfinished messages")
    }
    if var bytes = self.buffer.readSlice(length: available) {
      self.streams[index].message.payload.writeBuffer(&bytes)
    }
    guard available == missing else {
      self.chunk = (index, missing - available)
      return nil
    }
    guard received + available == self.streams[index].length else {
      self.chunk = nil
      return nil
    }
    self.unfinishedLength -= self.streams[index].length
    return self.finish(index)
  }

  private mutating func finish(_ index: Int) -> RTMPMessage {
    self.chunk = nil
    self.streams[index].isUnfinished = false
    let message = self.streams[index].message
    self.streams[index].message.payload = ByteBuffer()
    return message
  }

  private mutating func discard(_ id: UInt32) {
    guard let index = self.streams.firstIndex(where: { $0.id == id }) else { return }
    self.discardUnfinished(index)
  }

  private mutating func discardUnfinished(_ index: Int) {
    guard self.streams[index].isUnfinished else { return }
    self.discardedMessageCount += 1
    self.unfinishedLength -= self.streams[index].message.payload.readableBytes
    self.streams[index].message.payload = ByteBuffer()
    self.streams[index].isUnfinished = false
  }

  /// Reads a chunk's headers once they are complete.
  ///
  /// - Returns: false when more bytes are needed.
  private mutating func readHeader() throws(ParsingError) -> Bool {
    var bytes = self.buffer
    guard let first = bytes.readInteger(as: UInt8.self) else { return false }
    let format = first >> 6
    var id = UInt32(first & 0b0011_1111)
    if id == 0 {
      guard let low = bytes.readInteger(as: UInt8.self) else { return false }
      id = 64 + UInt32(low)
    } else if id == 1 {
      guard let low = bytes.readInteger(endianness: .little, as: UInt16.self) else { return false }
      id = 64 + UInt32(low)
    }
    guard bytes.readableBytes >= [11, 7, 3, 0][Int(format)] else { return false }
    let known = self.streams.firstIndex { $0.id == id }
    guard known != nil || format <= 1 else { throw ParsingError(.invalid, field: "fmt") }
    var stream = known.map { self.streams[$0].header } ?? ChunkStream(id: id)
    guard self.readMessageHeader(format, of: &stream, from: &bytes) else { return false }
    if format == 3, known.map({ self.streams[$0].isUnfinished }) == true {
      self.buffer = bytes
      self.continueMessage(known ?? 0)
      return true
    }
    guard stream.length <= self.limits.messageLength else { throw ParsingError(.tooLarge, field: "message length") }
    let index = try self.index(of: stream, known: known)
    self.discardUnfinished(index)
    self.buffer = bytes
    self.streams[index] = stream
    self.streams[index].isUnfinished = true
    self.chunk = (index, min(self.chunkSize, stream.length))
    return true
  }

  /// Index of a chunk stream, which is added when it is new.
  private mutating func index(of stream: ChunkStream, known: Int?) throws(ParsingError) -> Int {
    if let known { return known }
    guard self.streams.count < self.limits.chunkStreams else { throw ParsingError(.tooLarge, field: "chunk streams") }
    self.streams.append(stream)
    return self.streams.count - 1
  }

  /// The next chunk of a message that is being received.
  private mutating func continueMessage(_ index: Int) {
    let missing = self.streams[index].length - self.streams[index].message.payload.readableBytes
    self.chunk = (index, min(self.chunkSize, missing))
  }

  /// Reads the message header and the extended timestamp.
  ///
  /// - Returns: false when more bytes are needed.
  private func readMessageHeader(
    _ format: UInt8, of stream: inout ChunkStream, from bytes: inout ByteBuffer
  ) -> Bool {
    guard format < 3 else {
      if !stream.isUnfinished { stream.message.timestamp &+= stream.delta }
      if let expected = stream.extendedTimestamp {
        guard let value = bytes.getInteger(at: bytes.readerIndex, as: UInt32.self) else { return false }
        if value == expected || value == stream.message.timestamp { bytes.moveReaderIndex(forwardBy: 4) }
      }
      return true
    }
    var time = bytes.readUInt24() ?? 0
    if format <= 1 {
      stream.length = Int(bytes.readUInt24() ?? 0)
      stream.message.type = RTMPMessageType(rawValue: bytes.readInteger() ?? 0)
    }
    if format == 0 { stream.message.streamID = bytes.readInteger(endianness: .little) ?? 0 }
    stream.extendedTimestamp = nil
    if time == 0xFF_FFFF {
      guard let extended = bytes.readInteger(as: UInt32.self) else { return false }
      stream.extendedTimestamp = extended
      time = extended
    }
    if format == 0 {
      stream.message.timestamp = time
      stream.delta = 0
    } else {
      stream.message.timestamp &+= time
      stream.delta = time
    }
    return true
  }
}

extension ByteBuffer {
  /// Reads an unsigned number of 24 bits, big-endian.
  mutating func readUInt24() -> UInt32? {
    guard let (high, low) = self.readMultipleIntegers(as: (UInt8, UInt16).self) else { return nil }
    return UInt32(high) << 16 | UInt32(low)
  }

  /// Writes the lower 24 bits of a number, big-endian.
  mutating func writeUInt24(_ number: UInt32) {
    self.writeMultipleIntegers(UInt8(truncatingIfNeeded: number >> 16), UInt16(truncatingIfNeeded: number))
  }
}
