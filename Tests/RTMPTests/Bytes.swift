import Media
import NIOCore
import TestSupport

@testable import RTMP

/// The bytes of hexadecimal digits; spaces and line ends are ignored.
func bytes(_ hexadecimal: String) -> ByteBuffer {
  TestSupport.buffer(hexadecimal)
}

/// The value as AMF 0.
func serialized(_ value: AMFValue) -> ByteBuffer {
  var buffer = ByteBuffer()
  value.serialize(into: &buffer)
  return buffer
}

extension SplitMix {
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
