package import Media
package import NIOCore

/// Reception statistics of one source: a report block, RFC 3550 §6.4.1.
///
/// ```
/// |                   SSRC of the source reported                 |
/// | fraction lost |       cumulative number of packets lost       |
/// |           extended highest sequence number received           |
/// |                      interarrival jitter                      |
/// |                         last SR (LSR)                         |
/// |                   delay since last SR (DLSR)                  |
/// ```
public struct RTCPReportBlock: Hashable, Sendable {
  /// SSRC of the source that the block reports on.
  public var ssrc: UInt32
  /// Fraction of packets lost since the last report, in 1 / 256.
  public var fractionLost: UInt8
  /// Packets lost since the start, -2²³ to 2²³ - 1; negative when duplicates outnumber losses.
  public var cumulativeLost: Int32
  /// The highest sequence number in the lower 16 bits, its number of wraps in the upper 16.
  public var extendedHighestSequenceNumber: UInt32
  /// Interarrival jitter, in ticks of the source's clock.
  public var jitter: UInt32
  /// LSR: the middle 32 bits of the NTP timestamp of the last sender report; 0 without one.
  public var lastSenderReport: UInt32
  /// DLSR: time from the arrival of that report to this report, in 1 / 65,536 s; 0 without one.
  public var delaySinceLastSenderReport: UInt32

  static let length = 24

  /// Creates a report block about one source.
  public init(
    ssrc: UInt32, fractionLost: UInt8, cumulativeLost: Int32, extendedHighestSequenceNumber: UInt32, jitter: UInt32,
    lastSenderReport: UInt32 = 0, delaySinceLastSenderReport: UInt32 = 0
  ) {
    self.ssrc = ssrc
    self.fractionLost = fractionLost
    self.cumulativeLost = cumulativeLost
    self.extendedHighestSequenceNumber = extendedHighestSequenceNumber
    self.jitter = jitter
    self.lastSenderReport = lastSenderReport
    self.delaySinceLastSenderReport = delaySinceLastSenderReport
  }

  package init(parsing buffer: inout ByteBuffer) throws(ParsingError) {
    guard
      let (ssrc, loss, highest, jitter, lastReport, delay) = buffer.readMultipleIntegers(
        as: (UInt32, UInt32, UInt32, UInt32, UInt32, UInt32).self)
    else { throw ParsingError(.truncated, field: "report block") }
    self.init(
      ssrc: ssrc, fractionLost: UInt8(truncatingIfNeeded: loss >> 24),
      // The shifts carry the sign of 24 bits into 32.
      cumulativeLost: Int32(bitPattern: loss << 8) >> 8,
      extendedHighestSequenceNumber: highest, jitter: jitter, lastSenderReport: lastReport,
      delaySinceLastSenderReport: delay)
  }

  func serialize(into buffer: inout ByteBuffer) {
    let clamped = min(max(self.cumulativeLost, -0x80_0000), 0x7F_FFFF)
    buffer.writeMultipleIntegers(
      self.ssrc, UInt32(self.fractionLost) << 24 | UInt32(bitPattern: clamped) & 0xFF_FFFF,
      self.extendedHighestSequenceNumber, self.jitter, self.lastSenderReport, self.delaySinceLastSenderReport)
  }
}
