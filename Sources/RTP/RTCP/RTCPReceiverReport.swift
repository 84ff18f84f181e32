internal import Media
public import NIOCore

/// A receiver report, RFC 3550 §6.4.2.
public struct RTCPReceiverReport: Hashable, Sendable {
  /// The receiver.
  public var ssrc: UInt32
  /// What it receives, at most 31 blocks; none is a valid sign of life.
  public var reportBlocks: [RTCPReportBlock]
  /// What a profile adds behind the blocks: a multiple of 4 bytes, passed on as it is.
  public var profileExtension: ByteBuffer

  /// A report.
  public init(ssrc: UInt32, reportBlocks: [RTCPReportBlock] = [], profileExtension: ByteBuffer = ByteBuffer()) {
    self.ssrc = ssrc
    self.reportBlocks = reportBlocks
    self.profileExtension = profileExtension
  }

  /// - Parameter body: What follows the packet's first 4 bytes.
  init(parsing body: ByteBuffer, blockCount: Int) throws(ParsingError) {
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
