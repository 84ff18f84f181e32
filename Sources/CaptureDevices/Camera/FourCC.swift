/// The four characters by which video4linux names a form of pictures, the first in the lowest byte.
struct FourCC: RawRepresentable, Hashable, Sendable, CustomStringConvertible {
  let rawValue: UInt32

  init(rawValue: UInt32) {
    self.rawValue = rawValue
  }

  /// Of up to four ASCII characters, with spaces at the end where there are fewer.
  init(_ text: StaticString) {
    var value: UInt32 = 0
    for index in 0..<4 {
      let byte = index < text.utf8CodeUnitCount ? text.utf8Start[index] : UInt8(ascii: " ")
      value |= UInt32(byte) << UInt32(8 * index)
    }
    self.rawValue = value
  }

  /// As it is written, without spaces at the end; in hexadecimal when a device gives what cannot be written.
  var description: String {
    let bytes = (0..<4).map { UInt8(truncatingIfNeeded: self.rawValue >> UInt32(8 * $0)) }
    guard bytes.allSatisfy({ (0x20..<0x7F).contains($0) }) else { return "0x" + String(self.rawValue, radix: 16) }
    var text = String(decoding: bytes, as: UTF8.self)
    while text.last == " " { text.removeLast() }
    return text
  }

  static let yuyv = FourCC("YUYV")
  static let nv12 = FourCC("NV12")
  /// NV12 whose planes lie in memories of their own.
  static let nv12InTwo = FourCC("NM12")
  static let mjpeg = FourCC("MJPG")
  static let jpeg = FourCC("JPEG")
  static let h264 = FourCC("H264")

  /// Whether each picture is a JPEG file.
  var isJPEG: Bool {
    self == .mjpeg || self == .jpeg
  }
}
