package import Media
public import NIOCore

/// A sender report (SR), RFC 3550 §6.4.1: maps RTP timestamps to wall-clock time, and counts what was sent.
public struct RTCPSenderReport: Hashable, Sendable {
  /// SSRC of the sender, as in its RTP packets.
  public var ssrc: UInt32
  /// Wall-clock time at which the report is sent.
  public var ntpTimestamp: NTPTimestamp
  /// The same instant in ticks of the RTP clock, with the random offset of the packets' timestamps.
  public var rtpTimestamp: UInt32
  /// Number of packets sent since the start, modulo 2³².
  public var packetCount: UInt32
  /// Number of payload bytes sent since the start, modulo 2³².
  public var octetCount: UInt32
  /// One block per source that the sender receives, at most 31.
  public var reportBlocks: [RTCPReportBlock]
  /// The profile-specific extension behind the blocks, unparsed; a multiple of 4 bytes.
  public var profileExtension: ByteBuffer

  /// Creates a report, by default without report blocks.
  public init(
    ssrc: UInt32, ntpTimestamp: NTPTimestamp, rtpTimestamp: UInt32, packetCount: UInt32, octetCount: UInt32,
    reportBlocks: [RTCPReportBlock] = [], profileExtension: ByteBuffer = ByteBuffer()
  ) {
    self.ssrc = ssrc
    self.ntpTimestamp = ntpTimestamp
    self.rtpTimestamp = rtpTimestamp
    self.packetCount = packetCount
    self.octetCount = octetCount
    self.reportBlocks = reportBlocks
    self.profileExtension = profileExtension
  }

  /// - Parameter body: The packet behind its 4-byte header.
  package init(parsing body: ByteBuffer, blockCount: Int) throws(ParsingError) {
    var rest = body
    guard
      let (ssrc, ntp, timestamp, packets, octets) = rest.readMultipleIntegers(
        as: (UInt32, UInt64, UInt32, UInt32, UInt32).self)
    else { throw ParsingError(.truncated, field: "SR") }
    self.init(
      ssrc: ssrc, ntpTimestamp: NTPTimestamp(rawValue: ntp), rtpTimestamp: timestamp, packetCount: packets,
      octetCount: octets)
    for _ in 0..<blockCount { self.reportBlocks.append(try RTCPReportBlock(parsing: &rest)) }
    self.profileExtension = rest
  }

  func serialize(into buffer: inout ByteBuffer) {
    buffer.writeMultipleIntegers(
      self.ssrc, self.ntpTimestamp.rawValue, self.rtpTimestamp, self.packetCount, self.octetCount)
    for block in self.reportBlocks { block.serialize(into: &buffer) }
    buffer.writeImmutableBuffer(self.profileExtension)
  }
}
