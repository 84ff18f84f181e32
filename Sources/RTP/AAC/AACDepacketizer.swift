internal import Bitstreams
public import Media
public import NIOCore

/// Depacketizes AAC frames from RTP packets, RFC 3640 §3.2 and §3.3.6 (AAC-hbr, AAC-lbr), without interleaving.
///
/// A packet contains one frame, several, or a fragment of a frame. Memory is bounded: at most one fragmented frame of
/// 64 KiB is held. The caller passes the packets of one source and payload type.
public struct AACDepacketizer: Sendable {
  /// A received frame: one `raw_data_block` (ISO/IEC 14496-3), without ADTS header.
  public struct Output: Hashable, Sendable {
    /// The frame; a slice of its packet unless it was fragmented.
    public var payload: ByteBuffer
    /// The RTP timestamp: the packet's for its first frame, increased by ``samplesPerFrame`` for each further frame.
    public var timestamp: UInt32

    /// Creates a frame with the RTP timestamp of its first sample.
    public init(payload: ByteBuffer, timestamp: UInt32) {
      self.payload = payload
      self.timestamp = timestamp
    }
  }

  /// Samples per frame: the increment of the timestamp from frame to frame.
  public let samplesPerFrame: Int
  /// Number of packets that were never received, by the gaps in the sequence numbers.
  public private(set) var lostPacketCount: UInt64 = 0
  /// Number of received packets that were not used: late, malformed, or fragments of an incomplete frame.
  public private(set) var droppedPacketCount: UInt64 = 0

  private let sizeLength: Int
  private let indexLength: Int
  private let indexDeltaLength: Int
  private var tracker = SequenceTracker()
  /// The incomplete frame.
  private var fragments: (frame: ByteBuffer, length: Int, timestamp: UInt32, packets: UInt64)?

  /// A depacketizer for the parameters of `a=fmtp`.
  ///
  /// - Throws: `ParsingError` `.unsupported` without a `sizelength` of 1 to 16, and for streams whose headers hold more
  ///   than sizes and indices (§4.1); `.invalid` when a length is not a number.
  public init(parameters: SDPFormatParameters, samplesPerFrame: Int = 1024) throws(ParsingError) {
    func length(_ name: String, _ range: ClosedRange<Int>) throws(ParsingError) -> Int {
      guard let length = Int(parameters[name] ?? "0") else { throw ParsingError(.invalid, field: name) }
      guard range.contains(length) else { throw ParsingError(.unsupported, field: name) }
      return length
    }
    self.sizeLength = try length("sizelength", 1...16)
    self.indexLength = try length("indexlength", 0...16)
    self.indexDeltaLength = try length("indexdeltalength", 0...16)
    for name in [
      "ctsdeltalength", "dtsdeltalength", "randomaccessindication", "streamstateindication", "auxiliarydatasizelength",
    ] {
      _ = try length(name, 0...0)
    }
    self.samplesPerFrame = samplesPerFrame
  }

  /// Returns the frames that a packet completes.
  ///
  /// - Throws: `ParsingError` when the packet is malformed or interleaved; it then counts as dropped.
  public mutating func depacketize(_ packet: RTPPacket) throws(ParsingError) -> [Output] {
    switch self.tracker.handle(packet.header.sequenceNumber) {
    case .next: break
    case .gap(let missing):
      self.lostPacketCount += UInt64(missing)
      self.abandonFragments()
    case .late:
      self.droppedPacketCount += 1
      return []
    }
    // A packet with padding only is keep-alive.
    guard packet.payload.readableBytes > 0 else { return [] }
    do {
      return try self.handle(packet)
    } catch {
      self.droppedPacketCount += 1
      self.abandonFragments()
      throw error
    }
  }

  private mutating func handle(_ packet: RTPPacket) throws(ParsingError) -> [Output] {
    var rest = packet.payload
    let lengths = try self.readHeaders(&rest)
    if lengths.count == 1, rest.readableBytes > 0, rest.readableBytes < lengths[0] {
      return try self.handleFragment(rest, length: lengths[0], timestamp: packet.header.timestamp)
    }
    self.abandonFragments()
    var outputs: [Output] = []
    for (index, length) in lengths.enumerated() {
      guard let frame = rest.readSlice(length: length) else {
        throw ParsingError(.truncated, field: "access unit", offset: rest.readerIndex - packet.payload.readerIndex)
      }
      guard length > 0 else { continue }
      let distance = UInt32(truncatingIfNeeded: index &* self.samplesPerFrame)
      outputs.append(Output(payload: frame, timestamp: packet.header.timestamp &+ distance))
    }
    return outputs
  }

  /// The AU header section, §3.2.1: its length in bits, and headers of size and index.
  private func readHeaders(_ payload: inout ByteBuffer) throws(ParsingError) -> [Int] {
    guard
      let bitCount = payload.readInteger(as: UInt16.self).map({ Int($0) }),
      let bytes = payload.readBytes(length: (bitCount + 7) / 8)
    else { throw ParsingError(.truncated, field: "AU-headers-length") }
    var reader = BitReader(bytes)
    var lengths: [Int] = []
    do throws(ParsingError) {
      while reader.position < bitCount {
        lengths.append(Int(try reader.bits(self.sizeLength, "AU-size")))
        let indexLength = lengths.count == 1 ? self.indexLength : self.indexDeltaLength
        guard try reader.bits(indexLength, "AU-Index") == 0 else {
          throw ParsingError(.unsupported, field: "AU-Index", offset: reader.offset)
        }
      }
      guard reader.position == bitCount else {
        throw ParsingError(.truncated, field: "AU-Index", offset: reader.offset)
      }
    } catch {
      throw ParsingError(error.code == .unsupported ? .unsupported : .truncated, field: error.field, offset: 2)
    }
    guard !lengths.isEmpty else { throw ParsingError(.invalid, field: "AU-headers-length") }
    return lengths
  }

  /// §3.2.3: each fragment has the length of the whole frame, which is complete when that many bytes are received.
  private mutating func handleFragment(
    _ bytes: ByteBuffer, length: Int, timestamp: UInt32
  ) throws(ParsingError) -> [Output] {
    if let fragments = self.fragments, fragments.length != length || fragments.timestamp != timestamp {
      self.abandonFragments()
    }
    var fragments = self.fragments ?? (ByteBuffer(), length, timestamp, 0)
    self.fragments = nil
    fragments.frame.writeImmutableBuffer(bytes)
    fragments.packets += 1
    if fragments.frame.readableBytes < length {
      self.fragments = fragments
      return []
    }
    guard fragments.frame.readableBytes == length else {
      throw ParsingError(.invalid, field: "AU-size", offset: 2)
    }
    return [Output(payload: fragments.frame, timestamp: timestamp)]
  }

  private mutating func abandonFragments() {
    self.droppedPacketCount += self.fragments?.packets ?? 0
    self.fragments = nil
  }
}
