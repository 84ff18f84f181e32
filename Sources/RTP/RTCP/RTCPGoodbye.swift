package import Media
package import NIOCore

/// A goodbye packet (BYE), RFC 3550 §6.6: the sources that end.
public struct RTCPGoodbye: Hashable, Sendable {
  /// SSRC or CSRC of each source that ends; at most 31.
  public var sources: [UInt32]
  /// The reason for leaving, in UTF-8; at most 255 bytes.
  public var reason: [UInt8]?

  /// A goodbye; a longer reason is cut to 255 bytes.
  public init(sources: [UInt32], reason: String? = nil) {
    self.sources = sources
    self.reason = reason?.utf8Bytes(upTo: 255)
  }

  /// The reason for leaving as text; invalid UTF-8 is replaced.
  public var reasonText: String? {
    self.reason.map { String(decoding: $0, as: UTF8.self) }
  }

  /// - Parameter body: The packet behind its 4-byte header.
  package init(parsing body: ByteBuffer, sourceCount: Int) throws(ParsingError) {
    var rest = body
    self.sources = []
    for _ in 0..<sourceCount {
      guard let source = rest.readInteger(as: UInt32.self) else { throw ParsingError(.truncated, field: "BYE") }
      self.sources.append(source)
    }
    if let length = rest.readInteger(as: UInt8.self) {
      guard let reason = rest.readBytes(length: Int(length)) else {
        throw ParsingError(.truncated, field: "reason for leaving")
      }
      self.reason = reason
    }
  }

  func serialize(into buffer: inout ByteBuffer) {
    for source in self.sources { buffer.writeInteger(source) }
    if let reason = self.reason {
      precondition(reason.count <= 255, "a length has 8 bits")
      buffer.writeInteger(UInt8(reason.count))
      buffer.writeBytes(reason)
      buffer.writeRepeatingByte(0, count: 3 - reason.count % 4)
    }
  }
}
