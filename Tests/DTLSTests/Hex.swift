import NIOCore

/// Bytes written as hexadecimal digits, with spaces and line breaks anywhere.
func bytes(_ text: String) -> [UInt8] {
  let digits = text.utf8.filter { $0 > 0x20 }
  return stride(from: 0, to: digits.count, by: 2).map { index in
    UInt8(String(decoding: digits[index..<index + 2], as: UTF8.self), radix: 16)!
  }
}

/// A buffer of bytes written as hexadecimal digits.
func buffer(_ text: String) -> ByteBuffer {
  ByteBuffer(bytes: bytes(text))
}

extension ByteBuffer {
  /// The readable bytes.
  var array: [UInt8] { Array(self.readableBytesView) }
}
