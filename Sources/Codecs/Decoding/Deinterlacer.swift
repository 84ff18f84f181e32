internal import CCapture
internal import CLibav

/// Makes interlaced frames of a decoder progressive, at their rate and without a delay: the lines of the field that is shown first
/// stay, the others are predicted from them, and from the frame before where nothing moves.
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
    for component in layout.components {
      guard let to = target[component], let from = current[component] else { continue }
      let earlier = follows ? before[component] : nil
      vidicon_deinterlace(
        to.bytes, Int(to.stride), from.bytes, Int(from.stride), earlier?.bytes, Int(earlier?.stride ?? 0),
        component.width, component.height, layout.sampleBytes, component.step, keepsTop)
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

  /// Place of a component's samples.
  private struct Component {
    var plane: Int
    /// Bytes before the first sample of a row.
    var offset: Int
    /// Distance of the samples in a row, in samples: more than 1 in packed formats.
    var step: Int32
    /// Samples of a row.
    var width: Int32
    /// Rows.
    var height: Int32
  }

  /// Components of a pixel format.
  private struct Layout {
    let components: [Component]
    /// Bytes of a sample: 1 or 2.
    let sampleBytes: Int32

    /// Nil for palettes, samples that are no whole bytes, and formats of hardware.
    init?(_ frame: UnsafeMutablePointer<AVFrame>) {
      guard let description = av_pix_fmt_desc_get(AVPixelFormat(frame.pointee.format))?.pointee else { return nil }
      let unsupported =
        AV_PIX_FMT_FLAG_HWACCEL | AV_PIX_FMT_FLAG_PAL | AV_PIX_FMT_FLAG_BITSTREAM | AV_PIX_FMT_FLAG_FLOAT
        | AV_PIX_FMT_FLAG_BE
      let all = [description.comp.0, description.comp.1, description.comp.2, description.comp.3]
      let places = all.prefix(Int(description.nb_components))
      let sampleBytes: Int32 = description.comp.0.depth > 8 ? 2 : 1
      // Packed 4:1:1 has no even distance between its samples.
      let isEven = description.log2_chroma_w < 2 || Set(places.map(\.plane)).count == places.count
      guard Int32(truncatingIfNeeded: description.flags) & unsupported == 0, isEven, !places.isEmpty,
        places.allSatisfy({ Self.isWhole($0, sampleBytes: sampleBytes) })
      else { return nil }
      let (width, height) = (frame.pointee.width, frame.pointee.height)
      func shifted(_ value: Int32, _ shift: UInt8) -> Int32 { (value + (1 << Int32(shift)) - 1) >> Int32(shift) }
      // The second and the third are Cb and Cr; the shifts are 0 where they are colors.
      self.components = places.enumerated().map { index, place in
        let isChroma = index == 1 || index == 2
        return Component(
          plane: Int(place.plane), offset: Int(place.offset), step: place.step / sampleBytes,
          width: isChroma ? shifted(width, description.log2_chroma_w) : width,
          height: isChroma ? shifted(height, description.log2_chroma_h) : height)
      }
      self.sampleBytes = sampleBytes
    }

    /// Whether the samples of a component are whole numbers of 1 or 2 bytes, apart from unused low bits.
    private static func isWhole(_ place: AVComponentDescriptor, sampleBytes: Int32) -> Bool {
      let bits = 8 * sampleBytes
      guard place.depth >= 8, place.depth > bits - 8, place.depth <= bits else { return false }
      guard place.step % sampleBytes == 0, place.offset % sampleBytes == 0 else { return false }
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

    /// First sample of a component, and the distance of rows in bytes.
    subscript(component: Component) -> (bytes: UnsafeMutablePointer<UInt8>, stride: Int32)? {
      guard component.plane < self.data.count, let bytes = self.data[component.plane] else { return nil }
      return (bytes + component.offset, self.strides[component.plane])
    }
  }
}
