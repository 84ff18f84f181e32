package import Media
public import NIOCore

/// A receiver report (RR), RFC 3550 §6.4.2.
public struct RTCPReceiverReport: Hashable, Sendable {
  /// SSRC of the receiver that sends the report.
  public var ssrc: UInt32
  /// One block per received source, at most 31; an empty report is valid.
  public var reportBlocks: [RTCPReportBlock]
  /// The profile-specific extension behind the blocks, unparsed; a multiple of 4 bytes.
  public var profileExtension: ByteBuffer

  /// Creates a report, by default without report blocks.
  public init(ssrc: UInt32, reportBlocks: [RTCPReportBlock] = [], profileExtension: ByteBuffer = ByteBuffer()) {
    self.ssrc = ssrc
    self.reportBlocks = reportBlocks
    self.profileExtension = profileExtension
  }

  /// - Parameter body: The packet behind its 4-byte header.
  package init(parsing body: ByteBuffer, blockCount: Int) throws(ParsingError) {
    var rest = body
    guard let ssrc = rest.readInteger(as: UInt32.self) else { throw ParsingError(.truncated, field: "RR") }
    self.init(ssrc: ssrc)
    for _ in 0..<blockCount { self.reportBlocks.append(try RTCPReportBlock(parsing: &rest)) }
    self.profileExtension = rest
  }

  func serialize(into buffer: inout ByteBuffer) {
    buffer.writeInteger(self.ssrc)
    for block in self.reportBlocks { block.serialize(into: &buffer) }
    buffer.writeImmutableBuffer(self.profileExtension)
  }
}
