internal import CCapture
internal import CLibav

/// Makes interlaced frames progressive, at their rate and without a delay: the lines of the field that is shown first stay, the others
/// are predicted from them, and from the other field in this frame and in the one before.
///
/// Frames in planar and packed formats whose samples have 8 to 16 bits are handled; others stay as they are.
final class Deinterlacer {
  /// The frame before, as it was decoded.
  private var previous = av_frame_alloc()
  private let pool = AVFramePool()
  /// Memory of copies, see ``progressiveCopy(of:_:)``.
  private let copies = AVFramePool()

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
    for (plane, (width, height)) in layout.sizes.enumerated() {
      guard let to = target[plane], let from = current[plane] else { continue }
      let earlier = follows ? before[plane] : nil
      vidicon_deinterlace(
        to.bytes, Int(to.stride), from.bytes, Int(from.stride), earlier?.bytes, Int(earlier?.stride ?? 0), width,
        height, layout.sampleBytes, layout.maximum, keepsTop)
    }
    vidicon_set_progressive(output)
    av_frame_unref(previous)
    av_frame_move_ref(previous, frame)
    av_frame_move_ref(frame, output)
    var empty: UnsafeMutablePointer<AVFrame>? = output
    av_frame_free(&empty)
  }

  /// A frame in memory that its owner uses again, copied and made progressive; nil without memory. Freed by the caller.
  func progressiveCopy(
    of source: SwscaleConverter.Source, _ fields: FieldOrder
  ) -> UnsafeMutablePointer<AVFrame>? {
    var allocated = av_frame_alloc()
    defer { av_frame_free(&allocated) }
    guard let original = allocated else { return nil }
    (original.pointee.width, original.pointee.height) = (source.width, source.height)
    original.pointee.format = source.pixelFormat.rawValue
    original.pointee.color_range = source.isFullRange ? AVCOL_RANGE_JPEG : AVCOL_RANGE_MPEG
    let (planes, rows) = (source.planes, source.bytesPerRow)
    original.pointee.data.0 = UnsafeMutablePointer(mutating: planes.0)
    original.pointee.data.1 = UnsafeMutablePointer(mutating: planes.1)
    original.pointee.data.2 = UnsafeMutablePointer(mutating: planes.2)
    original.pointee.data.3 = UnsafeMutablePointer(mutating: planes.3)
    original.pointee.linesize = (rows.0, rows.1, rows.2, rows.3, 0, 0, 0, 0)
    vidicon_set_interlaced(original, fields == .topFirst)
    var copy = self.copies.frame(source.pixelFormat, like: original)
    guard let frame = copy, av_frame_copy(frame, original) >= 0 else {
      av_frame_free(&copy)
      return nil
    }
    self.process(frame)
    return frame
  }

  /// Planes of a pixel format.
  private struct Layout {
    /// Samples in a line of each plane, of all components in it, and its lines.
    let sizes: [(width: Int32, height: Int32)]
    /// Bytes of a sample: 1 or 2.
    let sampleBytes: Int32
    /// Maximum of a sample.
    let maximum: Int32

    /// Nil for palettes, samples that are no whole bytes, and formats of hardware.
    init?(_ frame: UnsafeMutablePointer<AVFrame>) {
      let format = AVPixelFormat(frame.pointee.format)
      guard let description = av_pix_fmt_desc_get(format)?.pointee else { return nil }
      let unsupported =
        AV_PIX_FMT_FLAG_HWACCEL | AV_PIX_FMT_FLAG_PAL | AV_PIX_FMT_FLAG_BITSTREAM | AV_PIX_FMT_FLAG_FLOAT
        | AV_PIX_FMT_FLAG_BE
      let all = [description.comp.0, description.comp.1, description.comp.2, description.comp.3]
      let components = all.prefix(Int(description.nb_components))
      let sampleBytes: Int32 = description.comp.0.depth > 8 ? 2 : 1
      guard Int32(truncatingIfNeeded: description.flags) & unsupported == 0, !components.isEmpty,
        components.allSatisfy({ Self.isWhole($0, sampleBytes: sampleBytes) })
      else { return nil }
      let (width, height) = (frame.pointee.width, frame.pointee.height)
      // The shift is 0 where the second and third plane are colors.
      let chromaHeight = (height + (1 << Int32(description.log2_chroma_h)) - 1) >> Int32(description.log2_chroma_h)
      self.sizes = (0..<av_pix_fmt_count_planes(format)).map { plane in
        (av_image_get_linesize(format, width, plane) / sampleBytes, (1...2).contains(plane) ? chromaHeight : height)
      }
      self.sampleBytes = sampleBytes
      let highest = components.map { $0.shift == 0 ? (1 << $0.depth) - 1 : (1 << (8 * sampleBytes)) - 1 }
      self.maximum = Int32(clamping: highest.max() ?? 255)
    }

    /// Whether the samples of a component are whole numbers of 1 or 2 bytes, apart from unused low bits.
    private static func isWhole(_ place: AVComponentDescriptor, sampleBytes: Int32) -> Bool {
      let bits = 8 * sampleBytes
      guard place.depth >= 8, place.depth > bits - 8, place.depth <= bits else { return false }
      return place.shift == 0 || place.shift + place.depth == bits
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

/// Order in time of the two fields of an interlaced frame, whose lines alternate in it.
package enum FieldOrder: Hashable, Sendable {
  /// The field with the first line is shown first.
  case topFirst
  /// The field with the second line is shown first.
  case bottomFirst
}
