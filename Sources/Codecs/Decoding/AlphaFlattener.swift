internal import CCapture
internal import CLibav
internal import Media

/// Puts frames that are transparent in parts over black. Used by one thread at a time.
///
/// Below transparent pixels, files have any colors, and no output has an opacity.
final class AlphaFlattener {
  private let pool = AVFramePool()
  private var scaler: OpaquePointer?
  private var colors: Colors?

  /// Colors that a scaler converts from.
  private struct Colors: Equatable {
    var scaler: OpaquePointer
    var matrix: ColorMatrix
    var isFullRange: Bool
  }

  deinit {
    sws_freeContext(self.scaler)
  }

  /// Replaces the content of a frame whose format has an opacity.
  ///
  /// - Parameter mayBeUnused: Whether an opacity of 0 everywhere is none, as in uncompressed AVI with 32 bits a pixel.
  func process(_ frame: UnsafeMutablePointer<AVFrame>, mayBeUnused: Bool) {
    let format = AVPixelFormat(frame.pointee.format)
    let (width, height) = (frame.pointee.width, frame.pointee.height)
    guard Self.hasAlpha(format) else { return }
    self.scaler = sws_getCachedContext(
      self.scaler, width, height, format, width, height, AV_PIX_FMT_BGRA, SWS_BILINEAR, nil, nil, nil)
    self.setColors(of: frame)
    guard let scaler, let output = self.pool.frame(AV_PIX_FMT_BGRA, like: frame),
      sws_scale_frame(scaler, output, frame) >= 0, let pixels = output.pointee.data.0
    else { return }
    let stride = Int(output.pointee.linesize.0)
    if !mayBeUnused || vidicon_has_opacity(pixels, stride, width, height) {
      vidicon_flatten(pixels, stride, width, height)
    }
    output.pointee.format = AV_PIX_FMT_BGR0.rawValue
    output.pointee.color_range = AVCOL_RANGE_UNSPECIFIED
    output.pointee.colorspace = AVCOL_SPC_RGB
    av_frame_unref(frame)
    av_frame_move_ref(frame, output)
    var empty: UnsafeMutablePointer<AVFrame>? = output
    av_frame_free(&empty)
  }

  /// Sets matrix and range of the scaler's input, where it has Cb and Cr, and they are others than before.
  private func setColors(of frame: UnsafeMutablePointer<AVFrame>) {
    guard let scaler, let description = av_pix_fmt_desc_get(AVPixelFormat(frame.pointee.format)),
      description.pointee.nb_components > 3,
      Int32(truncatingIfNeeded: description.pointee.flags) & AV_PIX_FMT_FLAG_RGB == 0
    else { return }
    let matrix = DecodedFrameConverter.colorMatrix(frame.pointee.colorspace, height: frame.pointee.height)
    let colors = Colors(scaler: scaler, matrix: matrix, isFullRange: frame.pointee.color_range == AVCOL_RANGE_JPEG)
    guard colors != self.colors else { return }
    self.colors = colors
    let coefficients = sws_getCoefficients(matrix == .bt709 ? SWS_CS_ITU709 : SWS_CS_ITU601)
    sws_setColorspaceDetails(
      scaler, coefficients, colors.isFullRange ? 1 : 0, coefficients, 0, 0, 1 << 16, 1 << 16)
  }

  private static func hasAlpha(_ format: AVPixelFormat) -> Bool {
    guard let description = av_pix_fmt_desc_get(format) else { return false }
    let flags = Int32(truncatingIfNeeded: description.pointee.flags)
    return flags & AV_PIX_FMT_FLAG_ALPHA != 0 && flags & AV_PIX_FMT_FLAG_HWACCEL == 0
  }
}
