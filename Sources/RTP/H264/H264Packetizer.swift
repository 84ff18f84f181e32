internal import Bitstreams
public import Media
internal import NIOCore

/// Packetizes H.264 access units, RFC 6184 in packetization mode 1 (non-interleaved), or in mode 0: then all are single NAL unit
/// packets.
///
/// | input                                     | packets |
/// |-------------------------------------------|---------|
/// | parameter sets, before the first NAL unit of a keyframe, once | one STAP-A (§5.7.1) |
/// | a NAL unit that fits                      | a single NAL unit packet (§5.6) |
/// | a longer NAL unit                         | FU-A fragments (§5.8) of equal length; the last may be shorter |
///
/// The marker is set on the last packet of the access unit. Timestamps are presentation times at 90 kHz.
public struct H264Packetizer: Sendable {
  /// SSRC, sequence number and clock, with the counts for sender reports.
  public private(set) var sequence: RTPSenderState
  /// The parameter sets sent before each keyframe; replaced when the encoder's change.
  public var description: H264Description
  /// Maximum payload length in bytes, ``RTPPayloadSize/minimum`` to ``RTPPayloadSize/maximum``.
  public let maximumPayloadLength: Int
  /// Whether there are aggregates and fragments.
  public let mode: H264PacketizationMode

  /// Clock rate of the timestamp, in ticks per second, RFC 6184 §8.2.1.
  public static let clockRate: Int32 = 90_000

  /// A packetizer for one track.
  ///
  /// - Parameters:
  ///   - description: The parameter sets to send before each keyframe.
  ///   - sequence: The sender state; its clock rate must be 90 kHz.
  ///   - maximumPayloadLength: Maximum payload length in bytes.
  ///   - mode: Mode 0 is for encoders whose slices are at most as long.
  public init(
    description: H264Description, sequence: RTPSenderState, maximumPayloadLength: Int = RTPPayloadSize.default,
    mode: H264PacketizationMode = .nonInterleaved
  ) {
    precondition(sequence.clockRate == Self.clockRate, "the RTP clock rate of H.264 is 90 kHz")
    precondition((RTPPayloadSize.minimum...RTPPayloadSize.maximum).contains(maximumPayloadLength))
    self.description = description
    self.sequence = sequence
    self.maximumPayloadLength = maximumPayloadLength
    self.mode = mode
  }

  /// Returns the packets of an access unit.
  ///
  /// Parameter sets, delimiters and filler data in the sample are not sent. Without other NAL units the batch is empty.
  ///
  /// - Throws: `ParsingError` `.truncated` when a NAL unit length exceeds the sample, `.tooLarge` in mode 0 for one that does not
  ///   fit; the sequence number is unchanged.
  public mutating func packetize(_ sample: EncodedSample) throws(ParsingError) -> RTPPacketBatch {
    let nalUnits = try AVCCNALUnits(parsing: sample.payload).filter {
      H264NALUnitType(rawValue: $0.getInteger(at: $0.readerIndex) ?? 0).isSampleData
    }
    let timestamp = self.sequence.timestamp(at: sample.presentationTime)
    var batch = RTPPacketBatch(
      timestamp: timestamp, firstSequenceNumber: self.sequence.nextSequenceNumber, isKeyframe: sample.isKeyframe)
    guard !nalUnits.isEmpty else { return batch }
    if self.mode == .singleNALUnit {
      let sets = [self.description.sequenceParameterSet.count, self.description.pictureParameterSet.count]
      guard (nalUnits.map(\.readableBytes) + sets).allSatisfy({ $0 <= self.maximumPayloadLength }) else {
        throw ParsingError(.tooLarge, field: "NAL unit")
      }
    }
    if sample.isKeyframe { self.appendParameterSets(to: &batch) }
    for (index, nalUnit) in nalUnits.enumerated() {
      self.append(nalUnit, isLast: index == nalUnits.count - 1, to: &batch)
    }
    return batch
  }

  private mutating func appendParameterSets(to batch: inout RTPPacketBatch) {
    let sets = [self.description.sequenceParameterSet, self.description.pictureParameterSet].filter { !$0.isEmpty }
    let length = sets.reduce(1) { $0 + 2 + $1.count }
    guard self.mode == .nonInterleaved, sets.count > 1, length <= self.maximumPayloadLength else {
      for set in sets { self.append(ByteBuffer(bytes: set), isLast: false, to: &batch) }
      return
    }
    // The header has the maximum nal_ref_idc of its NAL units, §5.7; that of parameter sets is never 0.
    let importance = sets.reduce(0) { max($0, $1[0] & H264PayloadHeader.nalRefIDCMask) }
    var payload = [importance | H264PayloadHeader.singleTimeAggregationPacketA]
    payload.reserveCapacity(length)
    for set in sets {
      payload.append(UInt8(truncatingIfNeeded: set.count >> 8))
      payload.append(UInt8(truncatingIfNeeded: set.count))
      payload.append(contentsOf: set)
    }
    self.append(payloadHeader: payload, body: ByteBuffer(), marker: false, to: &batch)
  }

  /// Appends a NAL unit of at least one byte, complete or in fragments.
  private mutating func append(_ nalUnit: ByteBuffer, isLast: Bool, to batch: inout RTPPacketBatch) {
    guard nalUnit.readableBytes > self.maximumPayloadLength else {
      self.append(payloadHeader: [], body: nalUnit, marker: isLast, to: &batch)
      return
    }
    // The NAL unit's header byte is not sent: its bits are in the two bytes before each fragment.
    var rest = nalUnit
    let header = rest.readInteger(as: UInt8.self) ?? 0
    let indicator = header & H264PayloadHeader.nalRefIDCMask | H264PayloadHeader.fragmentationUnitA
    let maximumLength = self.maximumPayloadLength - 2
    let count = (rest.readableBytes + maximumLength - 1) / maximumLength
    let fragmentLength = (rest.readableBytes + count - 1) / count
    var position = H264PayloadHeader.fragmentStart
    while rest.readableBytes > 0, let fragment = rest.readSlice(length: min(fragmentLength, rest.readableBytes)) {
      if rest.readableBytes == 0 { position |= H264PayloadHeader.fragmentEnd }
      self.append(
        payloadHeader: [indicator, position | header & H264PayloadHeader.typeMask],
        body: fragment, marker: isLast && rest.readableBytes == 0, to: &batch)
      position = 0
    }
  }

  private mutating func append(
    payloadHeader: some Collection<UInt8>, body: ByteBuffer, marker: Bool, to batch: inout RTPPacketBatch
  ) {
    let header = self.sequence.nextHeader(
      marker: marker, timestamp: batch.timestamp, payloadLength: payloadHeader.count + body.readableBytes)
    batch.append(header: header, payloadHeader: payloadHeader, body: body)
  }
}

/// Packetization of NAL units: `packetization-mode` of RFC 6184 §8.1. Mode 2, in which NAL units are interleaved, is not supported.
public enum H264PacketizationMode: Int, Hashable, Sendable, CaseIterable {
  /// One NAL unit in each packet, §6.2: each is to fit. Formats without the parameter have this mode.
  case singleNALUnit = 0
  /// Aggregates and fragments beside them, §6.3.
  case nonInterleaved = 1
}

/// The bits of the first two bytes of an H.264 payload, RFC 6184 §5.3, §5.8.
enum H264PayloadHeader {
  /// F and NRI of the first byte: forbidden_zero_bit and nal_ref_idc.
  static let nalRefIDCMask: UInt8 = 0b1110_0000
  /// The type in the first byte, and in the FU header.
  static let typeMask: UInt8 = 0b0001_1111

  /// STAP-A: several NAL units of the same time, each with a 16-bit length, §5.7.1.
  static let singleTimeAggregationPacketA: UInt8 = 24
  /// FU-A: a fragment of a NAL unit, §5.8.
  static let fragmentationUnitA: UInt8 = 28

  /// S in the FU header: the first fragment.
  static let fragmentStart: UInt8 = 0b1000_0000
  /// E in the FU header: the last fragment.
  static let fragmentEnd: UInt8 = 0b0100_0000
}
