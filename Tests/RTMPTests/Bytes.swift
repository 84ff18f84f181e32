import Media
import NIOCore

@testable import RTMP

/// The bytes of hexadecimal digits; spaces and line ends are ignored.
func bytes(_ hexadecimal: String) -> ByteBuffer {
  let digits = hexadecimal.filter { !$0.isWhitespace }
  var buffer = ByteBuffer()
  var index = digits.startIndex
  while index < digits.endIndex {
    let next = digits.index(index, offsetBy: 2)
    buffer.writeInteger(UInt8(digits[index..<next], radix: 16) ?? 0)
    index = next
  }
  return buffer
}

/// The value as AMF 0.
func serialized(_ value: AMFValue) -> ByteBuffer {
  var buffer = ByteBuffer()
  value.serialize(into: &buffer)
  return buffer
}

/// Numbers of Marsaglia's xorshift, the same in each run with a seed.
struct Xorshift {
  private var state: UInt64

  init(seed: UInt64) { self.state = seed &* 0x9E37_79B9_7F4A_7C15 | 1 }

  mutating func next() -> UInt64 {
    self.state ^= self.state << 13
    self.state ^= self.state >> 7
    self.state ^= self.state << 17
    return self.state
  }

  /// A number from 1 to `maximum`.
  mutating func next(upTo maximum: Int) -> Int { Int(self.next() % UInt64(maximum)) + 1 }
}

/// The error that a call throws; nil without one.
func error(_ body: () throws(ParsingError) -> Void) -> ParsingError? {
  do throws(ParsingError) {
    try body()
    return nil
  } catch {
    return error
  }
}
