internal import CCapture
internal import CLibav
internal import CYUV
package import Media
package import NIOCore

/// Encodes frames as JPEG (ITU-T T.81) in JFIF files (ITU-T T.871), through libavcodec's `mjpeg`.
///
/// Frames of a stream are in limited range and either color matrix; JFIF is BT.601 in full range (T.871 §7), to which
/// each frame is converted after scaling. Used by one thread at a time; the codec and its two buffers are reused.
package final class JPEGEncoder {
  /// Widths that can be requested, in pixels.
  package static let widths = 16...4096

  /// Width of the images in pixels, even, in the range of ``widths``.
  package let width: Int
  /// Height of the images in pixels, even, at least 2.
  package let height: Int

  private let source: VideoFormat
  private let encoder: LibavEncoder
  private let quality: Int32
  /// The scaled frame; nil where no scaling is needed.
  private let scaled: PixelBuffer?
  /// Size of the frame within the image.
  private let area: (width: Int, height: Int)
  private let conversion: vidicon_color_conversion
  private let fullRange: PixelBuffer
  private var count: Int64 = 0

  /// Opens the codec.
  ///
  /// - Parameters:
  ///   - format: Format of the frames: I420, of even size.
  ///   - width: Width to scale to, see ``size(of:width:)``.
  ///   - quality: 1 to 100 on the customary scale of JPEG encoders, 100 is best; clamped.
  /// - Throws: A ``VidiconError`` `notFound` or `unsupported`.
  package convenience init(format: VideoFormat, width: Int? = nil, quality: Int = 80) throws(VidiconError) {
    let size = Self.size(of: format, width: width)
    try self.init(format: format, width: size.width, height: size.height, quality: quality)
  }

  /// Opens the codec for images of a size, with black bars where the aspect ratio differs from that of the frames.
  ///
  /// - Parameters:
  ///   - format: Format of the frames: I420, of even size.
  ///   - width: Width of the images, even.
  ///   - height: Height of the images, even.
  ///   - quality: 1 to 100 on the customary scale of JPEG encoders, 100 is best; clamped.
  /// - Throws: A ``VidiconError`` `notFound` or `unsupported`.
  package init(format: VideoFormat, width: Int, height: Int, quality: Int = 80) throws(VidiconError) {
    guard let codec = avcodec_find_encoder(AV_CODEC_ID_MJPEG) else {
      throw VidiconError(
        .notFound, subject: "encoder mjpeg", cause: "libavcodec has no JPEG encoder on this machine",
        nextStep: "run scripts/setup")
    }
    (self.width, self.height) = (width, height)
    self.source = format
    self.quality = Self.quantizer(quality: quality) * FF_QP2LAMBDA
    let isScaled = self.width != format.width || self.height != format.height
    let target = VideoFormat(width: self.width, height: self.height)
    self.scaled = isScaled ? PixelBuffer(format: target) : nil
    self.area = format.fittedSize(in: target)
    // Black in limited range, ITU-R BT.601: what the frame does not fill.
    for plane in 0..<3 {
      self.scaled?.unsafePlane(plane).initializeMemory(as: UInt8.self, repeating: plane == 0 ? 16 : 128)
    }
    self.conversion = vidicon_color_conversion(from: format.colorMatrix, to: .bt601, isFullRange: true)
    self.fullRange = PixelBuffer(format: VideoFormat(width: self.width, height: self.height))
    self.encoder = LibavEncoder(codec)
    let context = self.encoder.context
    context.pointee.width = Int32(self.width)
    context.pointee.height = Int32(self.height)
    context.pointee.time_base = AVRational(num: 1, den: 1000)
    context.pointee.pix_fmt = AV_PIX_FMT_YUV420P
    context.pointee.color_range = AVCOL_RANGE_JPEG
    // With a known pixel aspect ratio the encoder writes the JFIF marker, which defines the color space.
    context.pointee.sample_aspect_ratio = AVRational(num: 1, den: 1)
    context.pointee.thread_count = 1
    context.pointee.flags |= AV_CODEC_FLAG_QSCALE | AV_CODEC_FLAG_BITEXACT
    context.pointee.global_quality = self.quality
    // The tables of T.81 annex K: optimized ones save a few per cent and cost a second pass.
    av_opt_set(context, "huffman", "default", AV_OPT_SEARCH_CHILDREN)
    let result = avcodec_open2(context, codec, nil)
    guard result >= 0 else {
      throw VidiconError(
        .unsupported, subject: "encoder mjpeg", cause: libavMessage(result), nextStep: "choose another image size")
    }
  }

  /// Size of the image for a requested width: within ``widths``, at most the source's, even, of its aspect ratio.
  ///
  /// - Parameter width: Any number; nil for the source's width.
  package static func size(of format: VideoFormat, width: Int?) -> (width: Int, height: Int) {
    let limit = min(max(Self.widths.lowerBound, format.width & ~1), Self.widths.upperBound)
    let width = min(max(width ?? limit, Self.widths.lowerBound), limit) & ~1
    if width == format.width { return (width, max(2, format.height & ~1)) }
    let height = (Double(format.height) * Double(width) / Double(format.width) / 2).rounded() * 2
    return (width, max(2, Int(height)))
  }

  /// Encodes one frame.
  ///
  /// - Parameter released: I420, limited range, upright, of the format that the encoder was opened for.
  /// - Returns: A complete JPEG file.
  /// - Throws: A ``VidiconError`` `failed`.
  package func encode(_ released: ReleasedFrame) throws(VidiconError) -> ByteBuffer {
    let image = released.frame
    precondition(
      image.format.pixelFormat == .i420 && image.format.width == self.source.width
        && image.format.height == self.source.height, "the frame has the encoder's format")
    self.convert(image.buffer)
    let frame = self.encoder.frame
    frame.fill(borrowing: self.fullRange)
    defer { av_frame_unref(frame) }
    frame.pointee.color_range = AVCOL_RANGE_JPEG
    frame.pointee.quality = self.quality
    frame.pointee.pts = self.count
    self.count += 1
    var file: ByteBuffer?
    let result = self.encoder.encode(frame) { file = ByteBuffer(bytes: self.encoder.packetBytes) }
    guard result >= 0, let file else {
      throw VidiconError(
        .failed, subject: "encoder mjpeg", cause: result < 0 ? libavMessage(result) : "no image came out",
        nextStep: "choose another image size")
    }
    return file
  }

  /// Scales, then converts to full range and BT.601.
  private func convert(_ image: PixelBuffer) {
    var limited = Planes(image)
    if let scaled = self.scaled {
      let target = Planes(scaled)
      let (left, top) = ((self.width - self.area.width) / 2 & ~1, (self.height - self.area.height) / 2 & ~1)
      I420Scale(
        limited.y, limited.strideY, limited.u, limited.strideU, limited.v, limited.strideV,
        Int32(image.format.width), Int32(image.format.height), target.y + (top * Int(target.strideY) + left),
        target.strideY, target.u + (top / 2 * Int(target.strideU) + left / 2), target.strideU,
        target.v + (top / 2 * Int(target.strideV) + left / 2), target.strideV, Int32(self.area.width),
        Int32(self.area.height), kFilterBox)
      limited = target
    }
    let full = Planes(self.fullRange)
    var conversion = self.conversion
    for row in 0..<self.height / 2 {
      vidicon_convert_color_rows(
        full.y + 2 * row * Int(full.strideY), Int(full.strideY), full.u + row * Int(full.strideU),
        full.v + row * Int(full.strideV), limited.y + 2 * row * Int(limited.strideY), Int(limited.strideY),
        limited.u + row * Int(limited.strideU), limited.v + row * Int(limited.strideV), &conversion, self.width / 2)
    }
    // Keeps its buffer alive until here.
    withExtendedLifetime(image) {}
  }

  /// libavcodec's quantizer scale, 1 to 31, for a quality: its table is about 2.5 times finer than T.81 annex K's, which
  /// the customary scale multiplies by 50 ÷ quality, and above 50 by 2 - quality ÷ 50.
  static func quantizer(quality: Int) -> Int32 {
    let quality = Double(min(max(quality, 1), 100))
    let scale = quality < 50 ? 50 / quality : 2 - quality / 50
    return Int32(min(max((scale * 10).rounded(), 1), 31))
  }
}

/// Planes of an I420 buffer as C functions expect them; the buffer must outlive this value.
private struct Planes {
  let y: UnsafeMutablePointer<UInt8>
  let u: UnsafeMutablePointer<UInt8>
  let v: UnsafeMutablePointer<UInt8>
  let strideY: Int32
  let strideU: Int32
  let strideV: Int32

  init(_ buffer: PixelBuffer) {
    // No trap: I420 has three planes.
    let plane = { (index: Int) in buffer.unsafePlane(index).baseAddress!.assumingMemoryBound(to: UInt8.self) }
    (self.y, self.u, self.v) = (plane(0), plane(1), plane(2))
    (self.strideY, self.strideU, self.strideV) = (
      Int32(buffer.format.bytesPerRow[0]), Int32(buffer.format.bytesPerRow[1]), Int32(buffer.format.bytesPerRow[2])
    )
  }

}
