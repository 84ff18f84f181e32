package import Media
public import NIOCore

/// An extended report (XR, PT 207), RFC 3611 §2.
///
/// A receiver that sends no media measures its round trip by it: it sends a reference time, and the media sender answers with
/// the delay since.
public struct RTCPExtendedReport: Hashable, Sendable {
  /// A report block, RFC 3611 §3.
  public enum Block: Hashable, Sendable {
    /// RRTR, §4.4: the receiver's time.
    case receiverReferenceTime(NTPTimestamp)
    /// DLRR, §4.5: answers to reference times.
    case delaySinceLastReceiverReport([Delay])
    /// Any other block, with its type-specific byte.
    case other(type: UInt8, specific: UInt8, body: ByteBuffer)
  }

  /// The answer to one receiver's reference time, RFC 3611 §4.5.
  public struct Delay: Hashable, Sendable {
    /// SSRC of the receiver that sends the report.
    public var ssrc: UInt32
    /// LRR: the middle 32 bits of its last reference time; 0 without one.
    public var lastReceiverReport: UInt32
    /// DLRR: time since it arrived, in 1 / 65,536 s; 0 without one.
    public var delay: UInt32

    /// Creates an answer to a receiver; its delay is in 1 / 65,536 s.
    public init(ssrc: UInt32, lastReceiverReport: UInt32, delay: UInt32) {
      self.ssrc = ssrc
      self.lastReceiverReport = lastReceiverReport
      self.delay = delay
    }
  }

  /// SSRC of the sender of the report.
  public var ssrc: UInt32
  /// The blocks, in their order.
  public var blocks: [Block]

  /// Creates a report of blocks, written in their order.
  public init(ssrc: UInt32, blocks: [Block]) {
    self.ssrc = ssrc
    self.blocks = blocks
  }

  static let type: UInt8 = 207
  private static let receiverReferenceTimeType: UInt8 = 4
  private static let delayType: UInt8 = 5

  /// - Parameter body: The packet behind its 4-byte header.
  package init(parsing body: ByteBuffer) throws(ParsingError) {
    var rest = body
    guard let ssrc = rest.readInteger(as: UInt32.self) else { throw ParsingError(.truncated, field: "XR") }
    self.init(ssrc: ssrc, blocks: [])
    while rest.readableBytes > 0 {
      guard let (type, specific, words) = rest.readMultipleIntegers(as: (UInt8, UInt8, UInt16).self),
        var content = rest.readSlice(length: 4 * Int(words))
      else { throw ParsingError(.truncated, field: "XR block") }
      switch type {
      case Self.receiverReferenceTimeType:
        guard words == 2, let time = content.readInteger(as: UInt64.self) else {
          throw ParsingError(.invalid, field: "RRTR")
        }
        self.blocks.append(.receiverReferenceTime(NTPTimestamp(rawValue: time)))
      case Self.delayType:
        guard words % 3 == 0 else { throw ParsingError(.invalid, field: "DLRR") }
        var delays: [Delay] = []
        while let (ssrc, last, delay) = content.readMultipleIntegers(as: (UInt32, UInt32, UInt32).self) {
          delays.append(Delay(ssrc: ssrc, lastReceiverReport: last, delay: delay))
        }
        self.blocks.append(.delaySinceLastReceiverReport(delays))
      default: self.blocks.append(.other(type: type, specific: specific, body: content))
      }
    }
  }

  func serialize(into buffer: inout ByteBuffer) {
    buffer.writeInteger(self.ssrc)
    for block in self.blocks {
      switch block {
      case .receiverReferenceTime(let time):
        buffer.writeMultipleIntegers(Self.receiverReferenceTimeType, UInt8(0), UInt16(2), time.rawValue)
      case .delaySinceLastReceiverReport(let delays):
        buffer.writeMultipleIntegers(Self.delayType, UInt8(0), UInt16(3 * delays.count))
        for delay in delays { buffer.writeMultipleIntegers(delay.ssrc, delay.lastReceiverReport, delay.delay) }
      case .other(let type, let specific, let body):
        precondition(body.readableBytes % 4 == 0, "whole 32-bit words")
        buffer.writeMultipleIntegers(type, specific, UInt16(body.readableBytes / 4))
        buffer.writeImmutableBuffer(body)
      }
    }
  }
}
