internal import CCapture
internal import CYUV
internal import Codecs
internal import Media

/// Planes of a 4:2:0 frame or of a part of it, and the libyuv operations on them. Does not retain the memory.
struct I420Planes {
  /// A rectangle at even coordinates.
  struct Area: Hashable {
    var x: Int
    var y: Int
    var width: Int
    var height: Int
  }

  let width: Int
  let height: Int
  private let y: UnsafeMutablePointer<UInt8>
  private let u: UnsafeMutablePointer<UInt8>
  private let v: UnsafeMutablePointer<UInt8>
  private let strideY: Int32
  private let strideU: Int32
  private let strideV: Int32

  /// The planes of a buffer, which must outlive this value. For formats other than I420 only the size is of use.
  init(_ buffer: PixelBuffer) {
    func plane(_ index: Int) -> UnsafeMutablePointer<UInt8> {
      let available = min(index, buffer.format.pixelFormat.planeCount - 1)
      return buffer.unsafePlane(available).baseAddress!.assumingMemoryBound(to: UInt8.self)
    }
    func stride(_ index: Int) -> Int32 {
      Int32(buffer.format.bytesPerRow[min(index, buffer.format.pixelFormat.planeCount - 1)])
    }
    self.width = buffer.format.width
    self.height = buffer.format.height
    (self.y, self.u, self.v) = (plane(0), plane(1), plane(2))
    (self.strideY, self.strideU, self.strideV) = (stride(0), stride(1), stride(2))
  }

  private init(_ whole: I420Planes, area: Area) {
    self.width = area.width
    self.height = area.height
    self.y = whole.y + area.y * Int(whole.strideY) + area.x
    self.u = whole.u + area.y / 2 * Int(whole.strideU) + area.x / 2
    self.v = whole.v + area.y / 2 * Int(whole.strideV) + area.x / 2
    (self.strideY, self.strideU, self.strideV) = (whole.strideY, whole.strideU, whole.strideV)
  }

  /// A rectangle of this frame, in the same memory.
  func part(_ area: Area) -> I420Planes {
    I420Planes(self, area: area)
  }

  /// Converts a frame of another format and the same size into this one.
  func convert(_ source: PixelBuffer) {
    let plane = { (index: Int) in source.unsafePlane(index).baseAddress!.assumingMemoryBound(to: UInt8.self) }
    let stride = { (index: Int) in Int32(source.format.bytesPerRow[index]) }
    let (width, height) = (Int32(self.width), Int32(self.height))
    switch source.format.pixelFormat {
    case .i420:
      self.scale(I420Planes(source))
    case .nv12:
      NV12ToI420(
        plane(0), stride(0), plane(1), stride(1), self.y, self.strideY, self.u, self.strideU, self.v, self.strideV,
        width,
        height)
    case .yuyv:
      YUY2ToI420(
        plane(0), stride(0), self.y, self.strideY, self.u, self.strideU, self.v, self.strideV, width, height)
    case .bgra:
      ARGBToI420(
        plane(0), stride(0), self.y, self.strideY, self.u, self.strideU, self.v, self.strideV, width, height)
    case .argb:
      BGRAToI420(
        plane(0), stride(0), self.y, self.strideY, self.u, self.strideU, self.v, self.strideV, width, height)
    case .rgb24:
      RAWToI420(
        plane(0), stride(0), self.y, self.strideY, self.u, self.strideU, self.v, self.strideV, width, height)
    }
  }

  /// Rotates another frame upright into this one.
  func rotate(_ source: I420Planes, by orientation: Orientation) {
    let mode =
      switch orientation {
      case .up: kRotate0
      case .right: kRotate90
      case .down: kRotate180
      case .left: kRotate270
      }
    I420Rotate(
      source.y, source.strideY, source.u, source.strideU, source.v, source.strideV, self.y, self.strideY, self.u,
      self.strideU, self.v, self.strideV, Int32(source.width), Int32(source.height), mode)
  }

  /// Mirrors another frame of the same size into this one.
  func mirror(_ source: I420Planes) {
    I420Mirror(
      source.y, source.strideY, source.u, source.strideU, source.v, source.strideV, self.y, self.strideY, self.u,
      self.strideU, self.v, self.strideV, Int32(self.width), Int32(self.height))
  }

  /// Converts a frame of another color matrix and the same, even size, which may be this frame itself.
  func recolor(_ source: I420Planes, from sourceMatrix: ColorMatrix, to matrix: ColorMatrix) {
    var conversion = vidicon_color_conversion(from: sourceMatrix, to: matrix, isFullRange: false)
    for row in 0..<self.height / 2 {
      vidicon_convert_color_rows(
        self.y + 2 * row * Int(self.strideY), Int(self.strideY), self.u + row * Int(self.strideU),
        self.v + row * Int(self.strideV), source.y + 2 * row * Int(source.strideY), Int(source.strideY),
        source.u + row * Int(source.strideU), source.v + row * Int(source.strideV), &conversion, self.width / 2)
    }
  }

  /// Scales another frame into this one; the same size is a plain copy.
  func scale(_ source: I420Planes) {
    I420Scale(
      source.y, source.strideY, source.u, source.strideU, source.v, source.strideV, Int32(source.width),
      Int32(source.height), self.y, self.strideY, self.u, self.strideU, self.v, self.strideV, Int32(self.width),
      Int32(self.height), kFilterBox)
  }

  /// Makes all but one area black.
  func blackenOutside(_ area: Area) {
    self.fill(Area(x: 0, y: 0, width: self.width, height: area.y), luma: 16)
    let bottom = area.y + area.height
    self.fill(Area(x: 0, y: bottom, width: self.width, height: self.height - bottom), luma: 16)
    self.fill(Area(x: 0, y: area.y, width: area.x, height: area.height), luma: 16)
    let right = area.x + area.width
    self.fill(Area(x: right, y: area.y, width: self.width - right, height: area.height), luma: 16)
  }

  /// Makes an area gray, 16 (black) to 235 (white).
  func fill(_ area: Area, luma: UInt8) {
    guard area.width > 0, area.height > 0 else { return }
    I420Rect(
      self.y, self.strideY, self.u, self.strideU, self.v, self.strideV, Int32(area.x), Int32(area.y), Int32(area.width),
      Int32(area.height), Int32(luma), 128, 128)
  }
}
