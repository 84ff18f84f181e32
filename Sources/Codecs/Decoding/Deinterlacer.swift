internal import CCapture
internal import CLibav

/// Makes interlaced frames of a decoder progressive, at their rate and without a delay: the lines of the field that is shown first
/// stay, the others are predicted from them, and from the frame before where nothing moves.
///
/// Frames in planar formats of 8 to 16 bits are handled; others stay as they are.
final class Deinterlacer {
  /// The frame before, as it was decoded.
  private var previous = av_frame_alloc()
  private let pool = AVFramePool()

  deinit {
    av_frame_free(&self.previous)
  }

  /// Forgets the frame before: the next one does not follow it.
  func reset() {
    if let previous { av_frame_unref(previous) }
  }

  /// Replaces the content of an interlaced frame by a progressive one.
  func process(_ frame: UnsafeMutablePointer<AVFrame>) {
    guard let previous else { return }
    guard vidicon_is_interlaced(frame), let layout = Layout(frame),
      let output = self.pool.frame(AVPixelFormat(frame.pointee.format), like: frame)
    else {
      return av_frame_unref(previous)
    }
    let follows =
      previous.pointee.width == frame.pointee.width && previous.pointee.height == frame.pointee.height
      && previous.pointee.format == frame.pointee.format
    let keepsTop = vidicon_is_top_field_first(frame)
    let (target, current, before) = (Planes(output), Planes(frame), Planes(previous))
    for plane in 0..<layout.count {
      let (width, height) = layout.size(of: plane)
      guard let to = target[plane], let from = current[plane] else { continue }
      let earlier = follows ? before[plane] : nil
      vidicon_deinterlace(
        to.bytes, Int(to.stride), from.bytes, Int(from.stride), earlier?.bytes, Int(earlier?.stride ?? 0), width,
        height,
        layout.sampleBytes, keepsTop)
    }
    vidicon_set_progressive(output)
    av_frame_unref(previous)
    av_frame_move_ref(previous, frame)
    av_frame_move_ref(frame, output)
    var empty: UnsafeMutablePointer<AVFrame>? = output
    av_frame_free(&empty)
  }

  /// Planes of a pixel format.
  private struct Layout {
    let count: Int
    /// Bytes of a sample: 1 or 2.
    let sampleBytes: Int32
    private let width: Int32
    private let height: Int32
    private let chromaShift: (width: Int32, height: Int32)

    /// Nil for packed formats, palettes and those of hardware.
    init?(_ frame: UnsafeMutablePointer<AVFrame>) {
      guard let description = av_pix_fmt_desc_get(AVPixelFormat(frame.pointee.format)) else { return nil }
      let flags = Int32(truncatingIfNeeded: description.pointee.flags)
      let components = Int(description.pointee.nb_components)
      let depth = description.pointee.comp.0.depth
      let unsupported =
        AV_PIX_FMT_FLAG_HWACCEL | AV_PIX_FMT_FLAG_PAL | AV_PIX_FMT_FLAG_BITSTREAM | AV_PIX_FMT_FLAG_FLOAT
      guard flags & unsupported == 0, flags & AV_PIX_FMT_FLAG_PLANAR != 0 || components == 1,
        av_pix_fmt_count_planes(AVPixelFormat(frame.pointee.format)) == components, (8...16).contains(depth)
      else { return nil }
      self.count = components
      self.sampleBytes = depth > 8 ? 2 : 1
      (self.width, self.height) = (frame.pointee.width, frame.pointee.height)
      self.chromaShift = (Int32(description.pointee.log2_chroma_w), Int32(description.pointee.log2_chroma_h))
    }

    /// Samples of a row, and rows.
    func size(of plane: Int) -> (width: Int32, height: Int32) {
      guard plane == 1 || plane == 2 else { return (self.width, self.height) }
      func shifted(_ value: Int32, _ shift: Int32) -> Int32 { (value + (1 << shift) - 1) >> shift }
      return (shifted(self.width, self.chromaShift.width), shifted(self.height, self.chromaShift.height))
    }
  }

  /// Memory of a frame's first four planes.
  private struct Planes {
    private let data: [UnsafeMutablePointer<UInt8>?]
    private let strides: [Int32]

    init(_ frame: UnsafeMutablePointer<AVFrame>) {
      let (data, lines) = (frame.pointee.data, frame.pointee.linesize)
      self.data = [data.0, data.1, data.2, data.3]
      self.strides = [lines.0, lines.1, lines.2, lines.3]
    }

    subscript(plane: Int) -> (bytes: UnsafeMutablePointer<UInt8>, stride: Int32)? {
      guard plane < self.data.count, let bytes = self.data[plane] else { return nil }
      return (bytes, self.strides[plane])
    }
  }
}
