public import Bitstreams
public import Media
internal import NIOCore

/// Depacketizes H.264 access units from RTP packets, RFC 6184: single NAL units, STAP-A and FU-A.
///
/// An access unit ends at the marker, or where the timestamp changes. After a loss, access units are dropped until the
/// next complete one at which decoding can start, unless ``dropsUntilKeyframe`` is false: a keyframe, a recovery point or an intra
/// frame, and any after ``maximumDroppedCount``, since encoders with intra refresh may send neither. The caller passes the packets
/// of one source and payload type.
///
/// Memory is bounded: one access unit of ``maximumAccessUnitLength`` bytes, and 32 parameter sets of each kind.
public struct H264Depacketizer: Sendable {
  /// A received access unit, with its timestamp and whether it is complete.
  public struct Output: Hashable, Sendable {
    /// The NAL units, with the parameter sets of dropped access units before it.
    public var accessUnit: H264AccessUnit
    /// The RTP timestamp of its packets, in ticks of 90 kHz (RFC 6184 §8.2.1); wraps at 32 bits.
    public var timestamp: UInt32
    /// Whether no part is known to be missing.
    public var isComplete: Bool

    /// An access unit with its timestamp.
    public init(accessUnit: H264AccessUnit, timestamp: UInt32, isComplete: Bool) {
      self.accessUnit = accessUnit
      self.timestamp = timestamp
      self.isComplete = isComplete
    }
  }

  /// Whether access units are dropped until a complete keyframe, at the start and after each loss.
  public internal(set) var dropsUntilKeyframe: Bool
  /// Maximum length of an access unit, in bytes.
  public let maximumAccessUnitLength: Int
  /// Number of packets that were never received, by the gaps in the sequence numbers.
  public private(set) var lostPacketCount: UInt64 = 0
  /// Number of received packets that were not used: late, malformed, or fragments without a start.
  public private(set) var droppedPacketCount: UInt64 = 0
  /// Number of access units that were received, in part or completely, and not returned.
  public private(set) var droppedAccessUnitCount: UInt64 = 0

  private var tracker = SequenceTracker()
  private var unit = H264AccessUnit()
  private var timestamp: UInt32?
  private var isComplete = true
  /// Whether packets were lost and no slice was received since: the next slice may not be the first of its frame.
  private var followsLoss = false
  /// Whether frames are missing that the next frames depend on.
  private var awaitsKeyframe = true
  /// Number of access units that were dropped since the last one that was returned.
  private var droppedCount = 0
  /// The unfinished NAL unit: offset of its length field in the payload, and its header byte.
  private var fragment: (start: Int, header: UInt8)?

  /// Number of access units in a row that are dropped at most: 20 s at 30 frames per second.
  static let maximumDroppedCount = 600
  private static let maximumParameterSets = 32

  /// A depacketizer before the first packet.
  ///
  /// - Parameters:
  ///   - dropsUntilKeyframe: Whether access units that cannot be decoded without artifacts are dropped.
  ///   - maximumAccessUnitLength: Maximum length in bytes; 4 MiB is ten times a keyframe of 4K video at high quality.
  public init(dropsUntilKeyframe: Bool = true, maximumAccessUnitLength: Int = 4 * 1024 * 1024) {
    self.dropsUntilKeyframe = dropsUntilKeyframe
    self.maximumAccessUnitLength = maximumAccessUnitLength
  }

  /// Returns the access units that a packet completes: one at the marker, two when the previous marker was lost, else
  /// none.
  ///
  /// - Throws: `ParsingError` when the packet is malformed or of a type that mode 1 does not have (STAP-B, MTAP, FU-B).
  ///   The packet is counted as dropped, and its access unit is incomplete; later packets are accepted. When the packet
  ///   also ended the previous access unit, that one is returned, and only the count shows the failure.
  public mutating func depacketize(_ packet: RTPPacket) throws(ParsingError) -> [Output] {
    switch self.tracker.handle(packet.header.sequenceNumber) {
    case .next: break
    case .gap(let missing):
      self.lostPacketCount += UInt64(missing)
      self.handleLoss()
    case .late:
      self.droppedPacketCount += 1
      return []
    }
    // A packet with padding only is keep-alive.
    guard packet.payload.readableBytes > 0 else { return [] }
    var outputs: [Output] = []
    do {
      let content = try H264PacketContent(parsing: packet.payload)
      if let timestamp = self.timestamp, timestamp != packet.header.timestamp { outputs += self.finish() }
      if self.timestamp == nil {
        self.timestamp = packet.header.timestamp
        self.isComplete = true
      }
      try self.handle(content)
    } catch {
      self.droppedPacketCount += 1
      self.handleLoss()
      // An access unit that ended before the failure is still returned.
      guard !outputs.isEmpty else { throw error }
    }
    if packet.header.marker { outputs += self.finish() }
    return outputs
  }

  private mutating func handle(_ content: H264PacketContent) throws(ParsingError) {
    switch content {
    case .nalUnits(let nalUnits):
      self.abandonFragment()
      for nalUnit in nalUnits { try self.append(nalUnit) }
    case .fragment(let header, let isStart, let isEnd, let bytes):
      if isStart {
        self.abandonFragment()
        try self.checkLength(adding: 5 + bytes.readableBytes)
        self.fragment = (self.unit.payload.writerIndex, header)
        self.unit.payload.writeMultipleIntegers(UInt32(0), header)
      } else {
        guard self.fragment?.header == header else {
          self.abandonFragment()
          self.isComplete = false
          self.droppedPacketCount += 1
          return
        }
        try self.checkLength(adding: bytes.readableBytes)
      }
      self.unit.payload.writeImmutableBuffer(bytes)
      if isEnd { self.finishFragment() }
    }
  }

  private mutating func append(_ nalUnit: ByteBuffer) throws(ParsingError) {
    guard let header = nalUnit.getInteger(at: nalUnit.readerIndex, as: UInt8.self) else { return }
    let type = H264NALUnitType(rawValue: header)
    guard type.isSampleData else {
      self.handleParameterSet(type, nalUnit)
      return
    }
    try self.checkLength(adding: 4 + nalUnit.readableBytes)
    // No trap: a ByteBuffer holds less than 4 GiB.
    self.unit.payload.writeInteger(UInt32(nalUnit.readableBytes))
    self.unit.payload.writeImmutableBuffer(nalUnit)
    self.handleSlice(type, secondByte: nalUnit.getInteger(at: nalUnit.readerIndex + 1))
  }

  /// Completes the fragmented NAL unit at the end of the payload: writes its length.
  private mutating func finishFragment() {
    guard let (start, header) = self.fragment else { return }
    self.fragment = nil
    let length = self.unit.payload.writerIndex - start - 4
    let type = H264NALUnitType(rawValue: header)
    if type.isSampleData {
      self.unit.payload.setInteger(UInt32(length), at: start)
      self.handleSlice(type, secondByte: self.unit.payload.getInteger(at: start + 5))
    } else {
      let nalUnit = self.unit.payload.getSlice(at: start + 4, length: length)
      self.unit.payload.moveWriterIndex(to: start)
      if let nalUnit { self.handleParameterSet(type, nalUnit) }
    }
  }

  private mutating func abandonFragment() {
    guard let (start, _) = self.fragment else { return }
    self.fragment = nil
    self.unit.payload.moveWriterIndex(to: start)
    self.isComplete = false
  }

  /// - Parameter secondByte: The highest bit is set when `first_mb_in_slice` is 0: the first slice of a frame.
  private mutating func handleSlice(_ type: H264NALUnitType, secondByte: UInt8?) {
    guard type.startsWithMacroblockAddress else { return }
    if type == .idrSlice { self.unit.isKeyframe = true }
    if self.followsLoss, (secondByte ?? 0) & 0b1000_0000 == 0 { self.isComplete = false }
    self.followsLoss = false
  }

  /// Stores a copy: a slice would retain the memory of its packet.
  private mutating func handleParameterSet(_ type: H264NALUnitType, _ nalUnit: ByteBuffer) {
    switch type {
    case .sequenceParameterSet: Self.add(nalUnit, to: &self.unit.sequenceParameterSets)
    case .pictureParameterSet: Self.add(nalUnit, to: &self.unit.pictureParameterSets)
    default: break
    }
  }

  private static func add(_ nalUnit: ByteBuffer, to sets: inout [ByteBuffer]) {
    guard !sets.contains(nalUnit) else { return }
    if sets.count == Self.maximumParameterSets { sets.removeFirst() }
    sets.append(ByteBuffer(bytes: nalUnit.readableBytesView))
  }

  private func checkLength(adding count: Int) throws(ParsingError) {
    guard self.unit.payload.readableBytes + count <= self.maximumAccessUnitLength else {
      throw ParsingError(.tooLarge, field: "access unit")
    }
  }

  private mutating func handleLoss() {
    self.abandonFragment()
    self.isComplete = false
    self.followsLoss = true
    self.awaitsKeyframe = true
  }

  /// Ends the current access unit; without slices it is not returned, and its parameter sets go to the next one.
  private mutating func finish() -> [Output] {
    self.abandonFragment()
    defer { self.timestamp = nil }
    let isEmpty = self.unit.payload.readableBytes == 0
    guard let timestamp = self.timestamp, !isEmpty || !self.isComplete else { return [] }
    let isDecodable = self.isComplete && (!self.awaitsKeyframe || self.canStart)
    self.awaitsKeyframe = !isDecodable
    if isEmpty || self.dropsUntilKeyframe && !isDecodable {
      self.droppedAccessUnitCount += 1
      self.droppedCount += 1
      self.unit.payload.clear()
      self.unit.isKeyframe = false
      return []
    }
    self.droppedCount = 0
    defer { self.unit = H264AccessUnit() }
    return [Output(accessUnit: self.unit, timestamp: timestamp, isComplete: self.isComplete)]
  }

  /// Whether decoding can start at the current access unit.
  private var canStart: Bool {
    guard self.unit.payload.readableBytes > 0 else { return false }
    return self.unit.isKeyframe || self.unit.randomAccess != nil || self.droppedCount >= Self.maximumDroppedCount
  }
}
