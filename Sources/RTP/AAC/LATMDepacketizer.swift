public import Bitstreams
public import Media
internal import NIOCore

/// Depacketizes AAC frames from RTP packets in LATM, RFC 6416 §6, whose configuration is in the session description.
///
/// An element has one or several frames, each behind its length; it fills packets up to the marker. Memory is bounded: one element of
/// ``maximumElementLength`` bytes. The caller passes the packets of one source and payload type.
public struct LATMDepacketizer: Sendable {
  /// Maximum length of an element, in bytes.
  public static let maximumElementLength = 64 * 1024

  /// Samples per frame: the increment of the timestamp from frame to frame.
  public let samplesPerFrame: Int
  /// Number of received packets that were not used: late, malformed, or parts of an incomplete element.
  public private(set) var droppedPacketCount: UInt64 = 0

  private let frameCount: Int
  private var tracker = SequenceTracker()
  /// The element that is not complete; nil where its start was lost.
  private var element: (bytes: ByteBuffer, packets: UInt64)? = (ByteBuffer(), 0)

  /// A depacketizer for a stream configuration.
  public init(_ config: StreamMuxConfig, samplesPerFrame: Int = 1024) {
    self.frameCount = config.frameCount
    self.samplesPerFrame = samplesPerFrame
  }

  /// Returns the frames of the element that a packet completes.
  ///
  /// - Throws: `ParsingError` when the element is malformed or too large; its packets count as dropped.
  public mutating func depacketize(_ packet: RTPPacket) throws(ParsingError) -> [AACDepacketizer.Output] {
    switch self.tracker.handle(packet.header.sequenceNumber) {
    case .next: break
    case .gap:
      // The packet may be the rest of an element; the next one starts behind a marker.
      self.abandon(isStart: packet.header.marker && self.isWhole(packet.payload))
    case .late:
      self.droppedPacketCount += 1
      return []
    }
    guard packet.payload.readableBytes > 0 else { return [] }
    guard var (bytes, packets) = self.element else {
      self.droppedPacketCount += 1
      if packet.header.marker { self.element = (ByteBuffer(), 0) }
      return []
    }
    self.element = nil
    bytes.writeImmutableBuffer(packet.payload)
    packets += 1
    guard bytes.readableBytes <= Self.maximumElementLength else {
      self.droppedPacketCount += packets
      if packet.header.marker { self.element = (ByteBuffer(), 0) }
      throw ParsingError(.tooLarge, field: "audioMuxElement")
    }
    guard packet.header.marker else {
      self.element = (bytes, packets)
      return []
    }
    self.element = (ByteBuffer(), 0)
    do throws(ParsingError) {
      return try self.frames(of: bytes, timestamp: packet.header.timestamp)
    } catch {
      self.droppedPacketCount += packets
      throw error
    }
  }

  private mutating func abandon(isStart: Bool) {
    self.droppedPacketCount += self.element?.packets ?? 0
    self.element = isStart ? (ByteBuffer(), 0) : nil
  }

  /// Whether a packet has the frames of an element and nothing else.
  private func isWhole(_ payload: ByteBuffer) -> Bool {
    guard let frames = try? self.frames(of: payload, timestamp: 0) else { return false }
    return !frames.isEmpty
  }

  /// `PayloadLengthInfo()` and `PayloadMux()` of each frame, ISO/IEC 14496-3 §1.7.3.
  private func frames(of element: ByteBuffer, timestamp: UInt32) throws(ParsingError) -> [AACDepacketizer.Output] {
    var rest = element
    var frames: [AACDepacketizer.Output] = []
    for index in 0..<self.frameCount {
      var length = 0
      var byte: UInt8
      repeat {
        guard let next = rest.readInteger(as: UInt8.self) else {
          throw ParsingError(.truncated, field: "MuxSlotLengthBytes", offset: rest.readerIndex - element.readerIndex)
        }
        byte = next
        length += Int(byte)
      } while byte == 255
      guard let frame = rest.readSlice(length: length) else {
        throw ParsingError(.truncated, field: "payload", offset: rest.readerIndex - element.readerIndex)
      }
      guard length > 0 else { continue }
      let distance = UInt32(truncatingIfNeeded: index &* self.samplesPerFrame)
      frames.append(AACDepacketizer.Output(payload: frame, timestamp: timestamp &+ distance))
    }
    // Some senders append a byte of padding.
    guard rest.readableBytes <= 1 else {
      throw ParsingError(.invalid, field: "payload", offset: rest.readerIndex - element.readerIndex)
    }
    return frames
  }
}
