internal import CCapture
internal import CLibav

/// Puts frames that are transparent in parts over black. Used by one thread at a time.
///
/// Below transparent pixels, files have any colors, and no output has an opacity.
final class AlphaFlattener {
  private let pool = AVFramePool()
  private var scaler: OpaquePointer?

  deinit {
    sws_freeContext(self.scaler)
  }

  /// Replaces the content of a frame whose format has an opacity.
  func process(_ frame: UnsafeMutablePointer<AVFrame>) {
    let format = AVPixelFormat(frame.pointee.format)
    let (width, height) = (frame.pointee.width, frame.pointee.height)
    guard Self.hasAlpha(format) else { return }
    self.scaler = sws_getCachedContext(
      self.scaler, width, height, format, width, height, AV_PIX_FMT_BGRA, SWS_BILINEAR, nil, nil, nil)
    guard let scaler, let output = self.pool.frame(AV_PIX_FMT_BGRA, like: frame),
      sws_scale_frame(scaler, output, frame) >= 0, let pixels = output.pointee.data.0
    else { return }
    vidicon_flatten(pixels, Int(output.pointee.linesize.0), width, height)
    output.pointee.format = AV_PIX_FMT_BGR0.rawValue
    output.pointee.color_range = AVCOL_RANGE_UNSPECIFIED
    output.pointee.colorspace = AVCOL_SPC_RGB
    av_frame_unref(frame)
    av_frame_move_ref(frame, output)
    var empty: UnsafeMutablePointer<AVFrame>? = output
    av_frame_free(&empty)
  }

  private static func hasAlpha(_ format: AVPixelFormat) -> Bool {
    guard let description = av_pix_fmt_desc_get(format) else { return false }
    let flags = Int32(truncatingIfNeeded: description.pointee.flags)
    return flags & AV_PIX_FMT_FLAG_ALPHA != 0 && flags & AV_PIX_FMT_FLAG_HWACCEL == 0
  }
}
