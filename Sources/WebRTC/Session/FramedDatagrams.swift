package import NIOCore

/// Datagrams in a byte stream, RFC 4571 §2: each behind its length in two bytes, as ICE over TCP has them (RFC 6544 §3).
///
/// ```
///   LENGTH (16 bits) | datagram | LENGTH | datagram …
/// ```
package struct FramedDatagrams: Sendable {
  /// A frame that no client of WebRTC sends: the connection is of something else.
  package enum Oversized: Error, Hashable, Sendable {
    /// A frame is longer than ``maximumLength``.
    case frame
  }

  /// Maximum length of a received datagram, in bytes: clients send checks, DTLS and RTCP, which fit into Ethernet's 1500.
  package static let maximumLength = 2048

  private var bytes = ByteBuffer()

  /// Creates a stream of which nothing has arrived.
  package init() {}

  /// Appends bytes in the order in which the connection delivers them.
  package mutating func append(_ bytes: ByteBuffer) {
    guard self.bytes.readableBytes > 0 else {
      self.bytes = bytes
      return
    }
    // Else the memory of datagrams that were taken grows as long as each read ends within a frame.
    self.bytes.discardReadBytes()
    self.bytes.writeImmutableBuffer(bytes)
  }

  /// Length of the memory for what was received, in bytes.
  package var capacity: Int { self.bytes.capacity }

  /// Removes and returns the next datagram; nil until all of it was received. Empty ones are left out.
  package mutating func next() throws(Oversized) -> ByteBuffer? {
    while let length = self.bytes.getInteger(at: self.bytes.readerIndex, as: UInt16.self) {
      guard length <= Self.maximumLength else { throw .frame }
      guard self.bytes.readableBytes >= 2 + Int(length) else { return nil }
      self.bytes.moveReaderIndex(forwardBy: 2)
      if let datagram = self.bytes.readSlice(length: Int(length)), length > 0 { return datagram }
    }
    return nil
  }

  /// Appends a frame to a buffer.
  package static func write(_ datagram: ByteBuffer, to buffer: inout ByteBuffer) {
    buffer.writeInteger(UInt16(clamping: datagram.readableBytes))
    buffer.writeImmutableBuffer(datagram)
  }
}
