import Media
package import NIOCore

/// Bytes written as hexadecimal digits, with spaces and line breaks anywhere; a trap for other text, which is a mistake of
/// the test.
package func bytes(_ text: String) -> [UInt8] {
  let digits = text.filter { !$0.isWhitespace }
  return digits.isEmpty ? [] : Hexadecimal.decode(digits)!
}

/// A buffer of bytes written as hexadecimal digits.
package func buffer(_ text: String) -> ByteBuffer {
  ByteBuffer(bytes: bytes(text))
}

extension ByteBuffer {
  /// The readable bytes.
  package var array: [UInt8] { Array(self.readableBytesView) }
}
