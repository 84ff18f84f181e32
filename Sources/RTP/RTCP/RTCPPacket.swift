package import Media
public import NIOCore

/// One packet of RTCP, RFC 3550 §6.
///
/// ```
///  0                   1                   2                   3
///  0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1
/// +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
/// |V=2|P|  count  |      PT       | length in 32-bit words, less 1 |
/// |                            body …                             |
/// ```
public enum RTCPPacket: Hashable, Sendable {
  /// SR, PT 200.
  case senderReport(RTCPSenderReport)
  /// RR, PT 201.
  case receiverReport(RTCPReceiverReport)
  /// SDES, PT 202.
  case sourceDescription(RTCPSourceDescription)
  /// BYE, PT 203.
  case goodbye(RTCPGoodbye)
  /// RTPFB, PT 205, and PSFB, PT 206, RFC 4585.
  case feedback(RTCPFeedback)
  /// XR, PT 207, RFC 3611.
  case extendedReport(RTCPExtendedReport)
  /// Any other PT, such as 204 (APP) and those of later RFCs, with the 5 bits of `count` and the unparsed body.
  case other(type: UInt8, count: UInt8, body: ByteBuffer)

  /// PT, the packet type, RFC 3550 §12.1, such as 200 for a sender report.
  public var type: UInt8 {
    switch self {
    case .senderReport: Self.senderReportType
    case .receiverReport: Self.receiverReportType
    case .sourceDescription: Self.sourceDescriptionType
    case .goodbye: Self.goodbyeType
    case .feedback(let feedback): feedback.type
    case .extendedReport: RTCPExtendedReport.type
    case .other(let type, _, _): type
    }
  }

  static let headerLength = 4
  static let senderReportType: UInt8 = 200
  static let receiverReportType: UInt8 = 201
  private static let sourceDescriptionType: UInt8 = 202
  private static let goodbyeType: UInt8 = 203

  /// Parses the body of a packet, behind its 4-byte header.
  package init(type: UInt8, count: UInt8, parsing body: ByteBuffer) throws(ParsingError) {
    switch type {
    case Self.senderReportType:
      self = .senderReport(try RTCPSenderReport(parsing: body, blockCount: Int(count)))
    case Self.receiverReportType:
      self = .receiverReport(try RTCPReceiverReport(parsing: body, blockCount: Int(count)))
    case Self.sourceDescriptionType:
      self = .sourceDescription(try RTCPSourceDescription(parsing: body, chunkCount: Int(count)))
    case Self.goodbyeType:
      self = .goodbye(try RTCPGoodbye(parsing: body, sourceCount: Int(count)))
    case RTCPFeedback.transportType, RTCPFeedback.payloadType:
      self = .feedback(try RTCPFeedback(type: type, format: count, parsing: body))
    case RTCPExtendedReport.type:
      self = .extendedReport(try RTCPExtendedReport(parsing: body))
    default:
      self = .other(type: type, count: count, body: body)
    }
  }

  /// Appends the packet to a buffer.
  ///
  /// Traps when a count exceeds 31, or the length is not a multiple of 4 bytes up to 256 KiB.
  public func serialize(into buffer: inout ByteBuffer) {
    let start = buffer.writerIndex
    buffer.writeRepeatingByte(0, count: Self.headerLength)
    let count: Int
    switch self {
    case .senderReport(let report):
      count = report.reportBlocks.count
      report.serialize(into: &buffer)
    case .receiverReport(let report):
      count = report.reportBlocks.count
      report.serialize(into: &buffer)
    case .sourceDescription(let description):
      count = description.chunks.count
      description.serialize(into: &buffer)
    case .goodbye(let goodbye):
      count = goodbye.sources.count
      goodbye.serialize(into: &buffer)
    case .feedback(let feedback):
      count = Int(feedback.format)
      feedback.serialize(into: &buffer)
    case .extendedReport(let report):
      count = 0
      report.serialize(into: &buffer)
    case .other(_, let bits, let body):
      count = Int(bits)
      buffer.writeImmutableBuffer(body)
    }
    let length = buffer.writerIndex - start
    precondition(count < 32 && length % 4 == 0 && length / 4 <= 0x1_0000, "5 bits of count, whole 32-bit words")
    buffer.setInteger(RTPHeader.version << 6 | UInt8(count), at: start)
    buffer.setInteger(self.type, at: start + 1)
    buffer.setInteger(UInt16(length / 4 - 1), at: start + 2)
  }
}
