package import Media
package import NIOCore

/// The descriptor before each VP8 payload, RFC 7741 §4.2.
///
/// ```
///      |X|R|N|S|R| PID |     required
/// X:   |I|L|T|K|  RSV  |     optional
/// I:   |M| PictureID   |     7 bits, or 15 with M
/// L:   |   TL0PICIDX   |
/// T/K: |TID|Y| KEYIDX  |
/// ```
package struct VP8PayloadDescriptor: Hashable, Sendable {
  /// Whether the payload is the start of a frame: of its first partition (S with PID 0).
  var startsFrame: Bool

  /// Parses and consumes the descriptor; the payload remains.
  package init(parsing buffer: inout ByteBuffer) throws(ParsingError) {
    guard let first = buffer.readInteger(as: UInt8.self) else {
      throw ParsingError(.truncated, field: "payload descriptor")
    }
    self.startsFrame = first & 0b0001_0000 != 0 && first & 0b111 == 0
    guard first & 0b1000_0000 != 0 else { return }
    var length = 0
    guard let extensions = buffer.readInteger(as: UInt8.self) else { throw ParsingError(.truncated, field: "X") }
    if extensions & 0b1000_0000 != 0 {
      guard let identifier = buffer.getInteger(at: buffer.readerIndex, as: UInt8.self) else {
        throw ParsingError(.truncated, field: "PictureID")
      }
      length += identifier & 0b1000_0000 != 0 ? 2 : 1
    }
    if extensions & 0b0100_0000 != 0 { length += 1 }
    if extensions & 0b0011_0000 != 0 { length += 1 }
    guard buffer.readSlice(length: length) != nil else { throw ParsingError(.truncated, field: "payload descriptor") }
  }
}
