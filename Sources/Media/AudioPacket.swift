public import NIOCore

/// The packet of AAC that a block of sound was decoded from, for a stream that can send it as it came.
public struct AudioPacket: Sendable {
  /// One `raw_data_block` (ISO/IEC 14496-3), without ADTS header.
  public var payload: ByteBuffer
  /// What a decoder of it must know.
  public var description: AACDescription

  /// A packet.
  public init(payload: ByteBuffer, description: AACDescription) {
    self.payload = payload
    self.description = description
  }
}
