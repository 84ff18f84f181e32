internal import CLibav
internal import Media

/// Memory layout of a pixel format, and how its frames are processed.
struct CameraPixels: Hashable {
  /// Processing of a buffer's bytes.
  enum Handling: Hashable {
    /// Used as they are, in a format of `Media`; `planeOrder` lists its planes in memory order.
    case direct(PixelFormat, planeOrder: [Int])
    /// Converted to 4:2:0 by libswscale.
    case convert(AVPixelFormat)
    /// Decoded: JPEG files.
    case jpeg
    /// Converted to samples without decoding: H.264 access units, ITU-T H.264 Annex B.
    case h264
  }

  let handling: Handling
  /// Planes in memory order; empty for compressed formats.
  let planes: [Plane]
  /// Whether each plane lies in a memory of its own.
  let hasOwnMemories: Bool

  /// Size of a plane: width ÷ `across` × `bytes` bytes per row, height ÷ `down` rows.
  struct Plane: Hashable {
    /// Number of bytes for each group of `across` pixels.
    var bytes: Int
    /// Number of horizontally adjacent pixels that share a sample.
    var across = 1
    /// Number of vertically adjacent pixels that share a sample.
    var down = 1

    func minimumBytesPerRow(width: Int) -> Int {
      (width + self.across - 1) / self.across * self.bytes
    }

    func rowCount(height: Int) -> Int {
      (height + self.down - 1) / self.down
    }
  }

  /// Nil for an unknown pixel format.
  init?(fourCC: FourCC) {
    guard let form = Self.forms[fourCC] else { return nil }
    self = form
  }

  private init(_ handling: Handling, _ planes: [Plane] = [], hasOwnMemories: Bool = false) {
    self.handling = handling
    self.planes = planes
    self.hasOwnMemories = hasOwnMemories
  }

  /// Bits per pixel on the wire; nil for compressed formats.
  var bitsPerPixel: Int? {
    self.planes.isEmpty ? nil : self.planes.reduce(0) { $0 + 8 * $1.bytes / ($1.across * $1.down) }
  }

  /// Order among uncompressed formats, lower is better: formats used as they are first, then by bytes per pixel.
  var cost: Int {
    switch self.handling {
    case .direct: self.bitsPerPixel ?? 0
    case .convert: 100 + (self.bitsPerPixel ?? 0)
    case .jpeg, .h264: 0
    }
  }

  private static let luma = Plane(bytes: 1)
  private static let chroma420 = Plane(bytes: 1, across: 2, down: 2)
  private static let pairs420 = Plane(bytes: 2, across: 2, down: 2)
  private static let packed422 = Plane(bytes: 4, across: 2)

  /// The known formats, by the names of linux/videodev2.h.
  private static let forms: [FourCC: CameraPixels] = [
    .yuyv: CameraPixels(.direct(.yuyv, planeOrder: [0]), [packed422]),
    .nv12: CameraPixels(.direct(.nv12, planeOrder: [0, 1]), [luma, pairs420]),
    .nv12InTwo: CameraPixels(.direct(.nv12, planeOrder: [0, 1]), [luma, pairs420], hasOwnMemories: true),
    FourCC("YU12"): CameraPixels(.direct(.i420, planeOrder: [0, 1, 2]), [luma, chroma420, chroma420]),
    FourCC("YM12"): CameraPixels(
      .direct(.i420, planeOrder: [0, 1, 2]), [luma, chroma420, chroma420], hasOwnMemories: true),
    FourCC("YV12"): CameraPixels(.direct(.i420, planeOrder: [0, 2, 1]), [luma, chroma420, chroma420]),
    FourCC("YM21"): CameraPixels(
      .direct(.i420, planeOrder: [0, 2, 1]), [luma, chroma420, chroma420], hasOwnMemories: true),
    FourCC("RGB3"): CameraPixels(.direct(.rgb24, planeOrder: [0]), [Plane(bytes: 3)]),
    FourCC("BGR4"): CameraPixels(.direct(.bgra, planeOrder: [0]), [Plane(bytes: 4)]),
    FourCC("XR24"): CameraPixels(.direct(.bgra, planeOrder: [0]), [Plane(bytes: 4)]),
    FourCC("AR24"): CameraPixels(.direct(.bgra, planeOrder: [0]), [Plane(bytes: 4)]),
    FourCC("RGB4"): CameraPixels(.direct(.argb, planeOrder: [0]), [Plane(bytes: 4)]),
    FourCC("BX24"): CameraPixels(.direct(.argb, planeOrder: [0]), [Plane(bytes: 4)]),
    FourCC("BA24"): CameraPixels(.direct(.argb, planeOrder: [0]), [Plane(bytes: 4)]),
    FourCC("UYVY"): CameraPixels(.convert(AV_PIX_FMT_UYVY422), [packed422]),
    FourCC("YVYU"): CameraPixels(.convert(AV_PIX_FMT_YVYU422), [packed422]),
    FourCC("NV21"): CameraPixels(.convert(AV_PIX_FMT_NV21), [luma, pairs420]),
    FourCC("422P"): CameraPixels(
      .convert(AV_PIX_FMT_YUV422P), [luma, Plane(bytes: 1, across: 2), Plane(bytes: 1, across: 2)]),
    FourCC("BGR3"): CameraPixels(.convert(AV_PIX_FMT_BGR24), [Plane(bytes: 3)]),
    FourCC("RGBP"): CameraPixels(.convert(AV_PIX_FMT_RGB565LE), [Plane(bytes: 2)]),
    FourCC("GREY"): CameraPixels(.convert(AV_PIX_FMT_GRAY8), [luma]),
    FourCC("Y16"): CameraPixels(.convert(AV_PIX_FMT_GRAY16LE), [Plane(bytes: 2)]),
    .mjpeg: CameraPixels(.jpeg),
    .jpeg: CameraPixels(.jpeg),
    .h264: CameraPixels(.h264),
  ]
}

/// The four-character code of a V4L2 pixel format, first character in the lowest byte.
package struct FourCC: RawRepresentable, Hashable, Sendable, CustomStringConvertible {
  package let rawValue: UInt32

  package init(rawValue: UInt32) {
    self.rawValue = rawValue
  }

  /// - Parameter text: Up to four ASCII characters; padded with spaces.
  init(_ text: StaticString) {
    var value: UInt32 = 0
    for index in 0..<4 {
      let byte = index < text.utf8CodeUnitCount ? text.utf8Start[index] : UInt8(ascii: " ")
      value |= UInt32(byte) << UInt32(8 * index)
    }
    self.rawValue = value
  }

  /// The code of a ``description``; nil for other texts.
  package init?(named text: String) {
    if text.hasPrefix("0x"), let value = UInt32(text.dropFirst(2), radix: 16) {
      self.rawValue = value
      return
    }
    let bytes = Array(text.utf8)
    guard (1...4).contains(bytes.count), bytes.allSatisfy({ (0x20..<0x7F).contains($0) }) else { return nil }
    var value: UInt32 = 0
    for index in 0..<4 {
      let byte = index < bytes.count ? bytes[index] : UInt8(ascii: " ")
      value |= UInt32(byte) << UInt32(8 * index)
    }
    self.rawValue = value
  }

  /// The characters without trailing spaces; hexadecimal when some are not printable.
  package var description: String {
    let bytes = (0..<4).map { UInt8(truncatingIfNeeded: self.rawValue >> UInt32(8 * $0)) }
    guard bytes.allSatisfy({ (0x20..<0x7F).contains($0) }) else { return "0x" + String(self.rawValue, radix: 16) }
    var text = String(decoding: bytes, as: UTF8.self)
    while text.last == " " { text.removeLast() }
    return text
  }

  static let yuyv = FourCC("YUYV")
  static let nv12 = FourCC("NV12")
  /// NV12 with each plane in a memory of its own.
  static let nv12InTwo = FourCC("NM12")
  static let mjpeg = FourCC("MJPG")
  static let jpeg = FourCC("JPEG")
  static let h264 = FourCC("H264")

  /// Whether frames are JPEG files.
  var isJPEG: Bool {
    self == .mjpeg || self == .jpeg
  }
}
