package import Bitstreams
package import Media
package import NIOCore

/// Depacketizes VP8 frames from RTP packets, RFC 7741.
///
/// A frame ends at the marker, or where the timestamp changes. After a loss, frames are dropped until the next complete keyframe.
/// The caller passes the packets of one source and payload type, in order.
///
/// Memory is bounded: one frame of ``maximumFrameLength`` bytes.
package struct VP8Depacketizer: Sendable {
  /// A complete frame that can be decoded.
  package struct Output: Hashable, Sendable {
    /// Bytes of the compressed frame, without payload descriptors.
    package var payload: ByteBuffer
    /// The RTP timestamp of its packets, in ticks of 90 kHz; wraps at 32 bits.
    package var timestamp: UInt32
    /// Size of a keyframe, and whether the frame is one.
    package var header: VP8FrameHeader
  }

  private struct Frame {
    var timestamp: UInt32
    var payload = ByteBuffer()
    var isComplete: Bool
  }

  /// Clock rate of VP8, RFC 7741 §6.1.
  package static let clockRate: Int32 = 90_000
  /// Maximum length of a frame in bytes, by default that of ``H264Depacketizer``.
  package let maximumFrameLength: Int
  /// Number of packets that were never received, by the gaps in the sequence numbers.
  package private(set) var lostPacketCount: UInt64 = 0
  /// Number of received packets that were not used: late or malformed.
  package private(set) var droppedPacketCount: UInt64 = 0
  /// Number of frames that were received, in part or completely, and not returned.
  package private(set) var droppedFrameCount: UInt64 = 0
  /// Whether frames are missing that the next frames refer to.
  package private(set) var awaitsKeyframe = true

  private var tracker = SequenceTracker()
  private var frame: Frame?

  /// A depacketizer before the first packet.
  package init(maximumFrameLength: Int = 4 * 1024 * 1024) {
    self.maximumFrameLength = maximumFrameLength
  }

  /// Returns the frames that a packet completes: one at the marker, two when the frame before had no marker, else none.
  ///
  /// - Throws: `ParsingError` when the packet, or the frame that it completes, is malformed; both are dropped and counted.
  package mutating func depacketize(_ packet: RTPPacket) throws(ParsingError) -> [Output] {
    switch self.tracker.handle(packet.header.sequenceNumber) {
    case .next: break
    case .gap(let missing):
      self.lostPacketCount += UInt64(missing)
      self.handleLoss()
    case .late:
      self.droppedPacketCount += 1
      return []
    }
    // A packet with padding only probes the bandwidth.
    guard packet.payload.readableBytes > 0 else { return [] }
    var outputs: [Output] = []
    do {
      if let frame = self.frame, frame.timestamp != packet.header.timestamp {
        if let output = try self.finish() { outputs.append(output) }
      }
      try self.append(packet)
      if packet.header.marker, let output = try self.finish() { outputs.append(output) }
    } catch {
      self.droppedPacketCount += 1
      self.handleLoss()
      // A frame that ended before the failure is still returned.
      guard !outputs.isEmpty else { throw error }
    }
    return outputs
  }

  private mutating func append(_ packet: RTPPacket) throws(ParsingError) {
    var payload = packet.payload
    let isFirst = self.frame == nil
    var frame = self.frame ?? Frame(timestamp: packet.header.timestamp, isComplete: true)
    // The only reference, so that appending copies nothing.
    self.frame = nil
    defer { self.frame = frame }
    let descriptor = try VP8PayloadDescriptor(parsing: &payload)
    // The first packet of a frame is a start, and no other one is.
    if descriptor.startsFrame != isFirst { frame.isComplete = false }
    guard frame.payload.readableBytes + payload.readableBytes <= self.maximumFrameLength else {
      throw ParsingError(.tooLarge, field: "frame")
    }
    // A payload that no start precedes cannot be decoded, and is not kept.
    if frame.isComplete { frame.payload.writeImmutableBuffer(payload) }
  }

  private mutating func handleLoss() {
    self.frame?.isComplete = false
    self.awaitsKeyframe = true
  }

  /// Ends the current frame.
  private mutating func finish() throws(ParsingError) -> Output? {
    guard let frame = self.frame else { return nil }
    self.frame = nil
    guard frame.isComplete else {
      self.droppedFrameCount += 1
      self.awaitsKeyframe = true
      return nil
    }
    do throws(ParsingError) {
      let header = try VP8FrameHeader(parsing: frame.payload)
      guard header.isKeyframe || !self.awaitsKeyframe else {
        self.droppedFrameCount += 1
        return nil
      }
      self.awaitsKeyframe = false
      return Output(payload: frame.payload, timestamp: frame.timestamp, header: header)
    } catch {
      self.droppedFrameCount += 1
      throw error
    }
  }
}
