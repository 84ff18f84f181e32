public import NIOCore

/// The packets of one access unit (or of one packet's worth of sound), made once for all viewers of a stream.
///
/// A batch is a plan: for each packet the few bytes of RTP and payload header, and a slice of the encoder's output.
/// Nothing of the payload is copied until somebody asks for one of the two shapes that are sent:
///
/// | shape                      | for      | layout |
/// |----------------------------|----------|--------|
/// | ``interleaved(channel:)``  | RTSP/TCP | `$`, channel, length in 16 bits, packet; again for each packet |
/// | ``datagrams()``            | UDP      | packet after packet, cut by ``packetLengths`` |
///
/// Each is one allocation of the exact size and one copy of the payload, so the caller asks for each shape (and each
/// channel number that occurs) once per batch and hands the same buffer to every viewer: one write each, nothing that
/// grows with their number. A shape that nobody asks for costs nothing. Making a shape anew for another channel number
/// costs as much as patching the channel bytes in a copy would: the copy is the cost. A layout that serves both shapes
/// from one memory (UDP by gathering around the `$` headers) was not chosen, since segmentation offload takes its
/// segments from one contiguous buffer in NIO.
public struct RTPPacketBatch: Sendable {
  struct Packet: Sendable {
    /// The end of its bytes in `heads`; they start where those of the packet before end.
    var headEnd: Int
    /// The rest of the packet.
    var body: ByteBuffer
  }

  /// The RTP timestamp of the first packet, for `RTP-Info`.
  public let timestamp: UInt32
  /// The sequence number of the first packet; of the next one to come when the batch is empty.
  public let firstSequenceNumber: UInt16
  /// Whether a viewer can start with this batch.
  public let isKeyframe: Bool
  /// The length of each packet in bytes, RTP header included, without any framing.
  public private(set) var packetLengths: [Int] = []
  /// The sum of ``packetLengths``: what ``datagrams()`` holds.
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

  /// The number of packets.
  public var packetCount: Int {
    self.packetLengths.count
  }

  /// Whether there is nothing to send.
  public var isEmpty: Bool {
    self.packetLengths.isEmpty
  }

  /// All packets, each framed for an RTSP connection, RFC 2326 §10.12.
  ///
  /// - Parameter channel: The number that the viewer's SETUP agreed on for RTP.
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

  /// A stretch of ``RTPPacketBatch/datagrams()`` that one send with segmentation offload (`UDP_SEGMENT`) can take.
  public struct DatagramRun: Hashable, Sendable {
    /// The first byte, counted from the start of the buffer.
    public var offset: Int
    /// Bytes of all packets of the run.
    public var length: Int
    /// Bytes of each packet but the last, which may be shorter.
    public var segmentLength: Int
    /// Packets in the run.
    public var packetCount: Int

    /// A run.
    public init(offset: Int, length: Int, segmentLength: Int, packetCount: Int) {
      self.offset = offset
      self.length = length
      self.segmentLength = segmentLength
      self.packetCount = packetCount
    }
  }

  /// The packets in runs of equal length: in each, all packets are of the same length, only the last may be shorter.
  ///
  /// - Parameter maximumPackets: The longest run; Linux takes 64 segments (`UDP_MAX_SEGMENTS`) in at most 65 507 bytes.
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

  /// What an IPv4 datagram holds at most: 65 535 - 20 - 8.
  private static let maximumRunLength = 65_507

  /// Appends a packet.
  ///
  /// - Parameters:
  ///   - header: The RTP header, without optional parts.
  ///   - payloadHeader: What stands between it and the body.
  ///   - body: The rest; kept as a slice.
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

  /// Writes every packet behind a frame of its own.
  private func assemble(
    framingLength: Int, writeFrame: (UnsafeMutableRawBufferPointer, Int) -> Void
  ) -> ByteBuffer {
    let total = self.byteCount + self.packetCount * framingLength
    var buffer = ByteBufferAllocator().buffer(capacity: total)
    // Safe because `total` is the sum of all frames, heads and bodies, which are what is written.
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
