public import NIOCore

/// The packets of one access unit or audio packet, built once for all viewers of a stream.
///
/// A batch holds the RTP and payload header of each packet, and a slice of the encoder's output. The payload is copied
/// only when one of the two wire formats is built:
///
/// | wire format                | for      | layout |
/// |----------------------------|----------|--------|
/// | ``interleaved(channel:)``  | RTSP/TCP | `$`, channel, length in 16 bits, packet; again for each packet |
/// | ``datagrams()``            | UDP      | packet after packet, cut by ``packetLengths`` |
///
/// Each wire format is one allocation of the exact size and one copy of the payload. The caller builds each one (and
/// each channel number in use) once per batch and writes the same buffer to every viewer. Building a wire format again
/// for another channel number costs as much as patching the channel bytes in a copy: the copy dominates. One memory
/// layout for both wire formats (UDP by gathering around the `$` headers) is not possible, since segmentation offload
/// needs one contiguous buffer.
public struct RTPPacketBatch: Sendable {
  struct Packet: Sendable {
    /// End offset of its headers in `heads`; they start at the end of the previous packet's headers.
    var headEnd: Int
    /// The packet's bytes behind the headers.
    var body: ByteBuffer
  }

  /// The RTP timestamp of the first packet, for `RTP-Info`.
  public let timestamp: UInt32
  /// The sequence number of the first packet; when the batch is empty, of the next packet of the stream.
  public let firstSequenceNumber: UInt16
  /// Whether decoding can start with this batch.
  public let isKeyframe: Bool
  /// The length of each packet in bytes, with RTP header, without framing.
  public private(set) var packetLengths: [Int] = []
  /// The sum of ``packetLengths``: the length of ``datagrams()``, in bytes.
  public private(set) var byteCount = 0

  private var heads: [UInt8] = []
  private var packets: [Packet] = []

  /// `$`, channel and length, RFC 2326 §10.12.
  private static let framingLength = 4
  private static let framingMagic: UInt8 = 0x24

  init(timestamp: UInt32, firstSequenceNumber: UInt16, isKeyframe: Bool) {
    self.timestamp = timestamp
    self.firstSequenceNumber = firstSequenceNumber
    self.isKeyframe = isKeyframe
  }

  /// The number of packets in the batch, the count of ``packetLengths``.
  public var packetCount: Int {
    self.packetLengths.count
  }

  /// Whether the batch has no packets.
  public var isEmpty: Bool {
    self.packetLengths.isEmpty
  }

  /// All packets, each framed for an RTSP connection, RFC 2326 §10.12.
  ///
  /// - Parameter channel: The RTP channel of the viewer's SETUP.
  public func interleaved(channel: UInt8) -> ByteBuffer {
    self.assemble(framingLength: Self.framingLength) { frame, packetLength in
      frame[0] = Self.framingMagic
      frame[1] = channel
      frame[2] = UInt8(truncatingIfNeeded: packetLength >> 8)
      frame[3] = UInt8(truncatingIfNeeded: packetLength)
    }
  }

  /// All packets back to back, to be cut by ``packetLengths`` or sent in ``datagramRuns(maximumPackets:)``.
  public func datagrams() -> ByteBuffer {
    self.assemble(framingLength: 0) { _, _ in }
  }

  /// A range of ``RTPPacketBatch/datagrams()`` for one send with segmentation offload (`UDP_SEGMENT`).
  public struct DatagramRun: Hashable, Sendable {
    /// Offset of the first byte in the buffer.
    public var offset: Int
    /// Length of all packets of the run, in bytes.
    public var length: Int
    /// Length of each packet in bytes; the last packet may be shorter.
    public var segmentLength: Int
    /// Number of packets in the run.
    public var packetCount: Int

    /// A run with its range and segment length.
    public init(offset: Int, length: Int, segmentLength: Int, packetCount: Int) {
      self.offset = offset
      self.length = length
      self.segmentLength = segmentLength
      self.packetCount = packetCount
    }
  }

  /// The packets in runs of equal length; only the last packet of a run may be shorter.
  ///
  /// - Parameter maximumPackets: Maximum number of packets in a run; Linux allows 64 (`UDP_MAX_SEGMENTS`) in 65,507
  ///   bytes.
  public func datagramRuns(maximumPackets: Int = 64) -> [DatagramRun] {
    var runs: [DatagramRun] = []
    var offset = 0
    var isOpen = false
    for length in self.packetLengths {
      if isOpen, let run = runs.last, length <= run.segmentLength, run.packetCount < maximumPackets,
        run.length + length <= Self.maximumRunLength
      {
        runs[runs.count - 1].length += length
        runs[runs.count - 1].packetCount += 1
      } else {
        runs.append(DatagramRun(offset: offset, length: length, segmentLength: length, packetCount: 1))
      }
      isOpen = length == runs[runs.count - 1].segmentLength
      offset += length
    }
    return runs
  }

  /// Maximum payload of an IPv4 datagram: 65,535 - 20 - 8 bytes.
  private static let maximumRunLength = 65_507

  /// Appends a packet.
  ///
  /// - Parameters:
  ///   - header: The RTP header, without optional parts.
  ///   - payloadHeader: The bytes between the RTP header and the body.
  ///   - body: The rest of the payload; kept as a slice.
  mutating func append(header: RTPHeader, payloadHeader: some Collection<UInt8>, body: ByteBuffer) {
    let start = self.heads.count
    self.heads.append(RTPHeader.version << 6)
    self.heads.append((header.marker ? 0b1000_0000 : 0) | header.payloadType)
    withUnsafeBytes(of: header.sequenceNumber.bigEndian) { self.heads.append(contentsOf: $0) }
    withUnsafeBytes(of: header.timestamp.bigEndian) { self.heads.append(contentsOf: $0) }
    withUnsafeBytes(of: header.ssrc.bigEndian) { self.heads.append(contentsOf: $0) }
    self.heads.append(contentsOf: payloadHeader)
    let length = self.heads.count - start + body.readableBytes
    self.packets.append(Packet(headEnd: self.heads.count, body: body))
    self.packetLengths.append(length)
    self.byteCount += length
  }

  /// Concatenates the packets, each behind a framing header.
  private func assemble(
    framingLength: Int, writeFrame: (UnsafeMutableRawBufferPointer, Int) -> Void
  ) -> ByteBuffer {
    let total = self.byteCount + self.packetCount * framingLength
    var buffer = ByteBufferAllocator().buffer(capacity: total)
    // Safe because `total` is the sum of all framing headers, headers and bodies, and nothing else is written.
    buffer.writeWithUnsafeMutableBytes(minimumWritableBytes: total) { target in
      self.heads.withUnsafeBytes { heads in
        var position = 0
        var headStart = 0
        for (packet, length) in zip(self.packets, self.packetLengths) {
          let head = UnsafeRawBufferPointer(rebasing: heads[headStart..<packet.headEnd])
          writeFrame(UnsafeMutableRawBufferPointer(rebasing: target[position..<position + framingLength]), length)
          position += framingLength
          UnsafeMutableRawBufferPointer(rebasing: target[position...]).copyMemory(from: head)
          position += head.count
          packet.body.withUnsafeReadableBytes {
            UnsafeMutableRawBufferPointer(rebasing: target[position...]).copyMemory(from: $0)
          }
          position += packet.body.readableBytes
          headStart = packet.headEnd
        }
        return position
      }
    }
    return buffer
  }
}
