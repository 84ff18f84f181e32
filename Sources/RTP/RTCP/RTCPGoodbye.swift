internal import NIOCore

/// A goodbye (BYE), RFC 3550 §6.6: sources that end.
public struct RTCPGoodbye: Hashable, Sendable {
  /// The sources, at most 31.
  public var sources: [UInt32]
  /// Why, for a user to read; at most 255 bytes of UTF-8.
  public var reason: String?

  /// A goodbye; a longer reason is cut to 255 bytes when it is sent.
  public init(sources: [UInt32], reason: String? = nil) {
    self.sources = sources
    self.reason = reason
  }

  /// - Parameter body: What follows the packet's first 4 bytes.
  init(parsing body: ByteBuffer, sourceCount: Int) throws(RTPError) {
    var rest = body
    self.sources = []
    for _ in 0..<sourceCount {
      guard let source = rest.readInteger(as: UInt32.self) else { throw RTPError(.truncated, field: "BYE") }
      self.sources.append(source)
    }
    if let length = rest.readInteger(as: UInt8.self) {
      guard let reason = rest.readString(length: Int(length)) else {
        throw RTPError(.truncated, field: "reason for leaving")
      }
      self.reason = reason
    }
  }

  func serialize(into buffer: inout ByteBuffer) {
    for source in self.sources { buffer.writeInteger(source) }
    if let reason = self.reason {
      let text = reason.utf8.prefix(255)
      buffer.writeInteger(UInt8(text.count))
      buffer.writeBytes(text)
      buffer.writeRepeatingByte(0, count: 3 - text.count % 4)
    }
  }
}
