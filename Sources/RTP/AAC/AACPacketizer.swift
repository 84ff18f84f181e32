public import Media
internal import NIOCore

/// Packetizes AAC frames, RFC 3640 in mode AAC-hbr (§3.3.6).
///
/// ```
/// +---------------------+------------------------+--------------+------------------
/// | AU-headers-length   | AU-header: AU-size 13, | … one header | the access units
/// | 16 bits, in bits    | AU-Index(-delta) 3     | for each     | themselves
/// +---------------------+------------------------+--------------+------------------
/// ```
///
/// One frame per packet is the default: it has the minimum latency. A frame that does not fit is fragmented (§3.2.3):
/// each fragment has a header with the size of the whole frame. The marker is set on a packet that ends a frame (§3.1).
public struct AACPacketizer: Sendable {
  /// SSRC, sequence number and clock, with the counts for sender reports.
  public private(set) var sequence: RTPSenderState
  /// Samples per frame: the increment of the timestamp from frame to frame.
  public let samplesPerFrame: Int
  /// Maximum number of frames per packet; with more than 1, frames wait for the packet to fill.
  public let framesPerPacket: Int
  /// Maximum payload length in bytes, ``RTPPayloadSize/minimum`` to ``RTPPayloadSize/maximum``.
  public let maximumPayloadLength: Int

  private var pending: [ByteBuffer] = []
  private var pendingTimestamp: UInt32 = 0

  /// Maximum frame length: the 13 bits of AU-size, in bytes.
  public static let maximumFrameLength = 0x1FFF

  /// A packetizer for one track.
  ///
  /// - Parameters:
  ///   - description: The AAC configuration.
  ///   - sequence: The sender state; its clock rate must be the sample rate.
  ///   - framesPerPacket: Maximum number of frames per packet, 1 to 64.
  ///   - maximumPayloadLength: Maximum payload length in bytes.
  public init(
    description: AACDescription, sequence: RTPSenderState, framesPerPacket: Int = 1,
    maximumPayloadLength: Int = RTPPayloadSize.default
  ) {
    precondition(Int(sequence.clockRate) == description.format.sampleRate, "AAC has its sample rate as clock rate")
    precondition((RTPPayloadSize.minimum...RTPPayloadSize.maximum).contains(maximumPayloadLength))
    precondition((1...64).contains(framesPerPacket))
    self.samplesPerFrame = description.samplesPerFrame
    self.sequence = sequence
    self.framesPerPacket = framesPerPacket
    self.maximumPayloadLength = maximumPayloadLength
  }

  /// Returns the packets that a frame completes: one batch per frame, or with several frames per packet none until the
  /// packet is full.
  ///
  /// A frame that does not continue the pending frames in time, or does not fit, flushes them first.
  ///
  /// - Throws: `ParsingError` `.tooLarge` when the frame is longer than ``maximumFrameLength``.
  public mutating func packetize(_ sample: EncodedSample) throws(ParsingError) -> [RTPPacketBatch] {
    let length = sample.payload.readableBytes
    guard length <= Self.maximumFrameLength else { throw ParsingError(.tooLarge, field: "AU-size") }
    guard length > 0 else { return [] }
    let timestamp = self.sequence.timestamp(at: sample.presentationTime)
    var batches: [RTPPacketBatch] = []
    if !self.pending.isEmpty, !self.follows(timestamp) || !self.fits(length) {
      batches += self.flush()
    }
    guard 4 + length <= self.maximumPayloadLength else {
      batches.append(self.fragments(of: sample.payload, timestamp: timestamp))
      return batches
    }
    if self.pending.isEmpty { self.pendingTimestamp = timestamp }
    self.pending.append(sample.payload)
    if self.pending.count >= self.framesPerPacket { batches += self.flush() }
    return batches
  }

  /// Returns the packet of the pending frames, at the end of the stream; at most one.
  public mutating func flush() -> [RTPPacketBatch] {
    guard let first = self.pending.first else { return [] }
    defer { self.pending.removeAll(keepingCapacity: true) }
    var payloadHeader: [UInt8] = []
    Self.append(UInt16(self.pending.count * 16), to: &payloadHeader)
    for frame in self.pending { Self.append(UInt16(frame.readableBytes) << 3, to: &payloadHeader) }
    var body = first
    if self.pending.count > 1 {
      body = ByteBuffer()
      body.reserveCapacity(self.pending.reduce(0) { $0 + $1.readableBytes })
      for frame in self.pending { body.writeImmutableBuffer(frame) }
    }
    var batch = self.makeBatch(timestamp: self.pendingTimestamp)
    self.append(payloadHeader: payloadHeader, body: body, marker: true, to: &batch)
    return [batch]
  }

  /// Whether the timestamp is the one that a receiver computes for the next frame, within one tick.
  private func follows(_ timestamp: UInt32) -> Bool {
    let expected = self.pendingTimestamp &+ UInt32(truncatingIfNeeded: self.pending.count * self.samplesPerFrame)
    return abs(Int64(Int32(bitPattern: timestamp &- expected))) <= 1
  }

  private func fits(_ length: Int) -> Bool {
    self.pending.reduce(2 + 2 + length) { $0 + 2 + $1.readableBytes } <= self.maximumPayloadLength
  }

  private mutating func fragments(of frame: ByteBuffer, timestamp: UInt32) -> RTPPacketBatch {
    var payloadHeader: [UInt8] = []
    Self.append(16, to: &payloadHeader)
    Self.append(UInt16(frame.readableBytes) << 3, to: &payloadHeader)
    let maximumLength = self.maximumPayloadLength - payloadHeader.count
    let count = (frame.readableBytes + maximumLength - 1) / maximumLength
    let fragmentLength = (frame.readableBytes + count - 1) / count
    var rest = frame
    var batch = self.makeBatch(timestamp: timestamp)
    while rest.readableBytes > 0, let fragment = rest.readSlice(length: min(fragmentLength, rest.readableBytes)) {
      self.append(payloadHeader: payloadHeader, body: fragment, marker: rest.readableBytes == 0, to: &batch)
    }
    return batch
  }

  private func makeBatch(timestamp: UInt32) -> RTPPacketBatch {
    RTPPacketBatch(
      timestamp: timestamp, firstSequenceNumber: self.sequence.nextSequenceNumber, isKeyframe: true)
  }

  private mutating func append(
    payloadHeader: [UInt8], body: ByteBuffer, marker: Bool, to batch: inout RTPPacketBatch
  ) {
    let header = self.sequence.nextHeader(
      marker: marker, timestamp: batch.timestamp, payloadLength: payloadHeader.count + body.readableBytes)
    batch.append(header: header, payloadHeader: payloadHeader, body: body)
  }

  private static func append(_ value: UInt16, to bytes: inout [UInt8]) {
    bytes.append(UInt8(truncatingIfNeeded: value >> 8))
    bytes.append(UInt8(truncatingIfNeeded: value))
  }
}
