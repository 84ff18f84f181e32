package import CLibav
package import Media

/// Converts the frames of a video decoder to frames of one format. A frame in a format of ``PixelFormat`` is used in
/// the decoder's memory, without a copy; others are converted. Frames of another size or shape than the first one are fitted into its
/// size, with black bars; pixels that are not square are made square.
package final class DecodedFrameConverter {
  /// Format of all frames; nil before the first one.
  package private(set) var format: VideoFormat?
  /// Frame rate of ``format``, as it is at the first frame.
  package var frameRate: FrameRate
  private let pixelFormat: PixelFormat?
  /// Rotation, and mirroring after it, of frames that say nothing of it.
  private var initialOrientation: (Orientation, isMirrored: Bool)
  private var orientation: (Orientation, isMirrored: Bool)
  /// Whether each frame says its rotation, or has none.
  private var isIntraOnly: Bool
  /// Whether neither the last keyframe nor a frame since then has said anything of its rotation.
  private var isUnturned = false
  private var converter: SwscaleConverter?

  /// - Parameters:
  ///   - displayMatrix: Rotation of the frames, see ``orientation(_:)``; nil for none.
  ///   - isIntraOnly: Whether frames do not refer to each other, as images: one that says nothing of its rotation has none.
  ///   - pixelFormat: Format of the output; nil for the decoder's where it is supported, otherwise I420.
  package init(
    displayMatrix: UnsafePointer<Int32>?, frameRate: FrameRate, isIntraOnly: Bool = false,
    as pixelFormat: PixelFormat? = nil
  ) {
    self.isIntraOnly = isIntraOnly
    self.frameRate = frameRate
    self.pixelFormat = pixelFormat
    self.initialOrientation = Self.orientation(displayMatrix)
    self.orientation = self.initialOrientation
  }

  /// Begins another stream, the frames of which are converted to the same format.
  ///
  /// - Parameters:
  ///   - orientation: Rotation, and mirroring after it, of frames that say nothing of it.
  ///   - isIntraOnly: Whether frames do not refer to each other.
  package func beginStream(_ orientation: (Orientation, isMirrored: Bool), isIntraOnly: Bool) {
    self.isIntraOnly = isIntraOnly
    (self.initialOrientation, self.orientation, self.isUnturned) = (orientation, orientation, false)
  }

  /// The frame in the announced format; nil when it cannot be converted, or all memory is in use.
  package func videoFrame(from frame: UnsafeMutablePointer<AVFrame>, at time: MediaTime) -> VideoFrame? {
    self.updateOrientation(frame)
    guard var result = self.fitted(frame, at: time) else { return nil }
    (result.orientation, result.isMirrored) = self.orientation
    return result
  }

  /// Adopts the rotation that a frame states: the orientation of Exif, or of a display orientation message (ITU-T H.264 §D.2.27, H.265
  /// §D.3.17), which holds up to the next keyframe. Of H.264, libavcodec returns it with one frame, the keyframe or the one behind it.
  private func updateOrientation(_ frame: UnsafeMutablePointer<AVFrame>) {
    if let data = av_frame_get_side_data(frame, AV_FRAME_DATA_DISPLAYMATRIX), data.pointee.size >= 36 {
      self.orientation = data.pointee.data.withMemoryRebound(to: Int32.self, capacity: 9) { Self.orientation($0) }
      self.isUnturned = false
    } else if self.isUnturned || self.isIntraOnly {
      self.orientation = self.initialOrientation
    } else {
      self.isUnturned = vidicon_is_keyframe(frame)
    }
  }

  /// The frame without a copy, where it has the announced format; converted otherwise.
  private func fitted(_ frame: UnsafeMutablePointer<AVFrame>, at time: MediaTime) -> VideoFrame? {
    guard frame.pointee.width > 0, frame.pointee.height > 0 else { return nil }
    let display = DisplaySize(
      width: Int(frame.pointee.width), height: Int(frame.pointee.height), pixel: frame.pointee.sample_aspect_ratio)
    let isSquare = display.width == Int(frame.pointee.width) && display.height == Int(frame.pointee.height)
    let direct = isSquare ? self.directFormat(frame) : nil
    if self.format == nil {
      self.format =
        direct
        ?? VideoFormat(
          width: display.width, height: display.height, pixelFormat: self.pixelFormat ?? .i420,
          frameRate: self.frameRate,
          colorMatrix: Self.colorMatrix(frame.pointee.colorspace, height: frame.pointee.height))
    }
    guard let format = self.format else { return nil }
    if let direct, direct.hasSameLayout(as: format), direct.colorMatrix == format.colorMatrix,
      let buffer = Self.borrow(frame, format: format)
    {
      return VideoFrame(buffer: buffer, timestamp: time)
    }
    let converter = self.converter ?? SwscaleConverter(format: format)
    self.converter = converter
    return converter.convert(SwscaleConverter.Source(frame), into: display.fitted(into: format), at: time)
  }

  /// The format in which a decoder's frame can be used in place.
  private func directFormat(_ frame: UnsafeMutablePointer<AVFrame>) -> VideoFormat? {
    guard let pixelFormat = PixelFormat(libav: AVPixelFormat(frame.pointee.format)),
      pixelFormat == self.pixelFormat ?? pixelFormat,
      !pixelFormat.isYCbCr || frame.pointee.color_range != AVCOL_RANGE_JPEG
    else { return nil }
    let width = Int(frame.pointee.width)
    let linesize = frame.pointee.linesize
    let rows = [linesize.0, linesize.1, linesize.2].prefix(pixelFormat.planeCount).map(Int.init)
    // Bottom-up frames have a negative line size.
    for (plane, row) in rows.enumerated() where row < pixelFormat.minimumBytesPerRow(plane: plane, width: width) {
      return nil
    }
    return VideoFormat(
      width: width, height: Int(frame.pointee.height), pixelFormat: pixelFormat, bytesPerRow: rows,
      frameRate: self.frameRate, colorMatrix: Self.colorMatrix(frame.pointee.colorspace, height: frame.pointee.height))
  }

  /// Moves a decoder's frame into a buffer that frees it with the buffer's last reference.
  private static func borrow(_ frame: UnsafeMutablePointer<AVFrame>, format: VideoFormat) -> PixelBuffer? {
    let data = frame.pointee.data
    let planes = [data.0, data.1, data.2].prefix(format.pixelFormat.planeCount).compactMap { $0 }
    guard planes.count == format.pixelFormat.planeCount, let owned = av_frame_alloc() else { return nil }
    av_frame_move_ref(owned, frame)
    nonisolated(unsafe) let kept = owned  // Safe because the closure runs once, after the last use.
    return PixelBuffer(borrowing: planes.map { UnsafeMutableRawPointer($0) }, format: format) {
      var freed: UnsafeMutablePointer<AVFrame>? = kept
      av_frame_free(&freed)
    }
  }

  /// Color matrix that the stream signals; without a signal the one that players assume: BT.709 from 720 rows on.
  package static func colorMatrix(_ colorspace: AVColorSpace, height: Int32) -> ColorMatrix {
    switch colorspace {
    case AVCOL_SPC_UNSPECIFIED: height >= 720 ? .bt709 : .bt601
    default: Self.statedMatrix(colorspace) ?? .bt601
    }
  }

  /// Color matrix that the stream signals; nil without a signal, and for RGB.
  static func statedMatrix(_ colorspace: AVColorSpace) -> ColorMatrix? {
    switch colorspace {
    case AVCOL_SPC_BT709, AVCOL_SPC_BT2020_NCL, AVCOL_SPC_BT2020_CL: .bt709
    case AVCOL_SPC_UNSPECIFIED, AVCOL_SPC_RGB: nil
    default: .bt601
    }
  }

  /// Rotation, and horizontal mirroring after it, that a display matrix (libavutil/display.h) requests.
  package static func orientation(_ matrix: UnsafePointer<Int32>?) -> (Orientation, isMirrored: Bool) {
    guard let matrix else { return (.up, false) }
    var values = (0..<9).map { matrix[$0] }
    let determinant = Double(values[0]) * Double(values[4]) - Double(values[1]) * Double(values[3])
    if determinant < 0 {
      values[0] = 0 &- values[0]
      values[3] = 0 &- values[3]
    }
    // Counterclockwise; NaN for a singular matrix.
    let angle = av_display_rotation_get(values)
    guard angle.isFinite else { return (.up, false) }
    let quarters = (4 - Int((angle / 90).rounded()) % 4) % 4
    return (Orientation(rawValue: quarters * 90) ?? .up, determinant < 0)
  }
}
