package import NIOCore

/// Serializes messages as chunks, RTMP 1.0 §5.3.
///
/// The first chunk of each message has the complete header (fmt 0) with an absolute timestamp: the bytes depend on the
/// message alone, so that every viewer of a stream gets the same ones, from any message on. The chunks that follow have
/// fmt 3 and repeat an extended timestamp.
package struct RTMPChunkWriter: Hashable, Sendable {
  /// Maximum length of a chunk's payload, in bytes, 1 to 2³¹ - 1; 128 until the peer was sent Set Chunk Size.
  package private(set) var chunkSize = 128

  /// Chunk size that this implementation announces: an access unit is usually one chunk.
  ///
  /// Wireshark ignores Set Chunk Size from 32,768 bytes on, unless its preference *rtmpt.max_packet_size* is raised, and
  /// finds no message behind it. Larger chunks save next to nothing: a continuation has one byte of header, or five.
  package static let announcedChunkSize = 32_767

  /// A writer at the start of a connection.
  package init() {}

  /// A writer behind Set Chunk Size.
  ///
  /// - Parameter chunkSize: Raised to 1 if it is less.
  package init(chunkSize: Int) {
    self.chunkSize = max(1, chunkSize)
  }

  /// Number of bytes that ``write(_:into:)`` appends.
  package func length(of message: RTMPMessage) -> Int {
    let extended = message.timestamp >= 0xFF_FFFF ? 4 : 0
    let length = message.payload.readableBytes
    let continuations = max(0, length - 1) / self.chunkSize
    return 12 + extended + length + continuations * (1 + extended)
  }

  /// Appends a message; Set Chunk Size is applied to the messages behind it.
  ///
  /// A payload beyond ``RTMPMessage/maximumLength`` is cut: callers drop such messages before.
  package mutating func write(_ message: RTMPMessage, into buffer: inout ByteBuffer) {
    buffer.reserveCapacity(minimumWritableBytes: self.length(of: message))
    let id = Self.chunkStreamID(of: message)
    var payload =
      message.payload.getSlice(
        at: message.payload.readerIndex, length: min(message.payload.readableBytes, RTMPMessage.maximumLength))
      ?? ByteBuffer()
    let isExtended = message.timestamp >= 0xFF_FFFF
    buffer.writeInteger(id)
    buffer.writeUInt24(isExtended ? 0xFF_FFFF : message.timestamp)
    buffer.writeUInt24(UInt32(payload.readableBytes))
    buffer.writeInteger(message.type.rawValue)
    buffer.writeInteger(message.streamID, endianness: .little)
    if isExtended { buffer.writeInteger(message.timestamp) }
    while var part = payload.readSlice(length: min(payload.readableBytes, self.chunkSize)) {
      buffer.writeBuffer(&part)
      if payload.readableBytes == 0 { break }
      buffer.writeInteger(0b1100_0000 | id)
      if isExtended { buffer.writeInteger(message.timestamp) }
    }
    if case .setChunkSize(let size)? = try? RTMPControlMessage(parsing: message) { self.chunkSize = size }
  }

  /// Chunk stream of a message: 2 is for control messages, §5.4; the others are by type, so that a fmt 3 of a peer never
  /// mixes them up.
  private static func chunkStreamID(of message: RTMPMessage) -> UInt8 {
    switch message.type.rawValue {
    case 1...6: 2
    case RTMPMessageType.audio.rawValue: 4
    case RTMPMessageType.video.rawValue: 6
    case RTMPMessageType.dataAMF0.rawValue, RTMPMessageType.dataAMF3.rawValue: 5
    default: 3
    }
  }
}
