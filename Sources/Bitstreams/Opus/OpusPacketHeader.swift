package import Media
package import NIOCore

/// The table-of-contents byte of an Opus packet with the number of its frames, RFC 6716 §3.1 and §3.2.
///
/// ```
/// | config (5) |s| c (2) |     config: mode, bandwidth, frame duration; s: stereo; c: code
///   code 0: 1 frame   1, 2: 2 frames   3: the next byte has M, the number, in 6 bits
/// ```
package struct OpusPacketHeader: Hashable, Sendable {
  /// Whether the packet has two channels; a decoder makes any number of channels of it.
  package var isStereo: Bool
  /// Duration of all frames in samples at 48 kHz: 120 to 5760.
  package var sampleCount: Int

  /// Clock rate of Opus in RTP, whatever the bandwidth, RFC 7587 §4.1.
  package static let sampleRate: Int32 = 48_000
  /// Maximum duration of a packet: 120 ms, in samples at 48 kHz.
  package static let maximumSampleCount = 5760

  /// Parses the start of a packet.
  ///
  /// - Throws: `ParsingError`: `.truncated` without the bytes, `.invalid` for no frames or for more than 120 ms.
  package init(parsing packet: ByteBuffer) throws(ParsingError) {
    guard let contents = packet.getInteger(at: packet.readerIndex, as: UInt8.self) else {
      throw ParsingError(.truncated, field: "TOC")
    }
    self.isStereo = contents & 0b100 != 0
    let frameCount: Int
    switch contents & 0b11 {
    case 0: frameCount = 1
    case 1, 2: frameCount = 2
    default:
      guard let count = packet.getInteger(at: packet.readerIndex + 1, as: UInt8.self) else {
        throw ParsingError(.truncated, field: "frame count", offset: 1)
      }
      frameCount = Int(count & 0b11_1111)
    }
    self.sampleCount = frameCount * Self.samplesPerFrame(configuration: contents >> 3)
    guard (1...Self.maximumSampleCount).contains(self.sampleCount) else {
      throw ParsingError(.invalid, field: "frame count", offset: 1)
    }
  }

  /// Duration of a frame in samples at 48 kHz, RFC 6716 table 2.
  private static func samplesPerFrame(configuration: UInt8) -> Int {
    switch configuration {
    // SILK: 10, 20, 40, 60 ms.
    case 0..<12: [480, 960, 1920, 2880][Int(configuration & 0b11)]
    // Hybrid: 10, 20 ms.
    case 12..<16: [480, 960][Int(configuration & 0b1)]
    // CELT: 2.5, 5, 10, 20 ms.
    default: [120, 240, 480, 960][Int(configuration & 0b11)]
    }
  }
}
