internal import Media
public import NIOCore

/// A sender report, RFC 3550 §6.4.1: which time of day an RTP timestamp stands for, and what was sent so far.
public struct RTCPSenderReport: Hashable, Sendable {
  /// The sender.
  public var ssrc: UInt32
  /// The time of day of the report.
  public var ntpTimestamp: NTPTimestamp
  /// The same instant on the RTP clock.
  public var rtpTimestamp: UInt32
  /// Packets sent since the start, modulo 2³².
  public var packetCount: UInt32
  /// Bytes of payload sent since the start, modulo 2³².
  public var octetCount: UInt32
  /// What the sender receives itself, at most 31 blocks.
  public var reportBlocks: [RTCPReportBlock]
  /// What a profile adds behind the blocks: a multiple of 4 bytes, passed on as it is.
  public var profileExtension: ByteBuffer

  /// A report.
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

  /// - Parameter body: What follows the packet's first 4 bytes.
  init(parsing body: ByteBuffer, blockCount: Int) throws(ParsingError) {
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
