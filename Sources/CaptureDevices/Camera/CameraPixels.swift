internal import CLibav
internal import Media

/// How pictures of a FourCC lie in memory, and what is done to use them.
struct CameraPixels: Hashable {
  /// What is done with the bytes.
  enum Handling: Hashable {
    /// They are one of our formats; its planes stand in this order in memory.
    case direct(PixelFormat, planeOrder: [Int])
    /// libswscale turns them into 4:2:0.
    case convert(AVPixelFormat)
    /// They are JPEG files.
    case jpeg
    /// They are H.264 access units, ITU-T H.264 Annex B.
    case h264
  }

  let handling: Handling
  /// Rows of a plane in bytes and number, as fractions of the picture's width and height: bytes × width ÷ across, and
  /// height ÷ down.
  let planes: [Plane]
  /// Whether each plane has a memory of its own.
  let hasOwnMemories: Bool

  struct Plane: Hashable {
    /// Bytes for each `across` pixels of a row.
    var bytes: Int
    /// Pixels across that share them.
    var across = 1
    /// Rows of pixels that share them.
    var down = 1

    func minimumBytesPerRow(width: Int) -> Int {
      (width + self.across - 1) / self.across * self.bytes
    }

    func rowCount(height: Int) -> Int {
      (height + self.down - 1) / self.down
    }
  }

  /// How a form is used; nil when it is not understood.
  init?(fourCC: FourCC) {
    guard let form = Self.forms[fourCC] else { return nil }
    self = form
  }

  private init(_ handling: Handling, _ planes: [Plane] = [], hasOwnMemories: Bool = false) {
    self.handling = handling
    self.planes = planes
    self.hasOwnMemories = hasOwnMemories
  }

  /// Bits of a pixel on the wire; nil for compressed pictures.
  var bitsPerPixel: Int? {
    self.planes.isEmpty ? nil : self.planes.reduce(0) { $0 + 8 * $1.bytes / ($1.across * $1.down) }
  }

  /// Which of several uncompressed forms is the better one: the one that is used as it is and takes fewer bytes.
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
  private static let pairs422 = Plane(bytes: 2, across: 2)
  private static let packed422 = Plane(bytes: 4, across: 2)

  /// What is understood, by the names of linux/videodev2.h.
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
    FourCC("NV16"): CameraPixels(.convert(AV_PIX_FMT_NV16), [luma, pairs422]),
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
