internal import CCapture
internal import CLibav
internal import Foundation

/// Shows frames of high dynamic range (HLG and PQ of ITU-T BT.2100) and of wide gamut (BT.2020) as BT.709 does, in 8 bits.
///
/// Light is counted in the reference white of HDR, 203 cd/m² (ITU-R BT.2408 §5.1), which HLG has at 75% and PQ at 58% of its signal.
/// Up to half of that it stays as it is, relative to the white of SDR; above that it is compressed, so that reference white
/// becomes 77% of the light, 228 of 255, and 1000 cd/m², the peak of HLG (γ = 1.2) and of most films in PQ, becomes white. The
/// brightest component is compressed and the others with it, which keeps the hue; colors beyond BT.709 are cut off.
final class ToneMapper {
  /// Properties of a frame that decide on its colors.
  struct Colors: Hashable {
    /// Transfer function.
    enum Transfer: Hashable {
      case hlg
      case pq
      /// BT.709, BT.2020 and sRGB, as displays show them (BT.1886).
      case sdr
    }

    var transfer: Transfer
    var isWide: Bool
    var hasMatrix2020: Bool
    var isFullRange: Bool

    /// Nil for colors of BT.709 and BT.601, which are shown as they are.
    init?(_ frame: AVFrame) {
      self.transfer =
        switch frame.color_trc {
        case AVCOL_TRC_ARIB_STD_B67: .hlg
        case AVCOL_TRC_SMPTE2084: .pq
        default: .sdr
        }
      let isUnspecified = frame.color_primaries == AVCOL_PRI_UNSPECIFIED || frame.color_primaries.rawValue == 0
      self.hasMatrix2020 = frame.colorspace == AVCOL_SPC_BT2020_NCL || frame.colorspace == AVCOL_SPC_BT2020_CL
      // Frames of HDR, and of the matrix of BT.2020, that say nothing else.
      self.isWide =
        frame.color_primaries == AVCOL_PRI_BT2020
        || isUnspecified && (self.transfer != .sdr || self.hasMatrix2020)
      if frame.colorspace == AVCOL_SPC_UNSPECIFIED { self.hasMatrix2020 = self.isWide }
      self.isFullRange = frame.color_range == AVCOL_RANGE_JPEG
      guard self.transfer != .sdr || self.isWide else { return nil }
    }

    init(transfer: Transfer, isWide: Bool = true, hasMatrix2020: Bool = true, isFullRange: Bool = false) {
      (self.transfer, self.isWide) = (transfer, isWide)
      (self.hasMatrix2020, self.isFullRange) = (hasMatrix2020, isFullRange)
    }
  }

  private var curves: (colors: Colors, curves: ToneCurves)?
  private let pool = AVFramePool()
  private let inputPool = AVFramePool()
  private var scaler: OpaquePointer?

  deinit {
    sws_freeContext(self.scaler)
  }

  /// Replaces the content of a frame of high dynamic range or wide gamut.
  func process(_ frame: UnsafeMutablePointer<AVFrame>) {
    guard let colors = Colors(frame.pointee) else { return }
    guard let input = self.input(frame) else { return }
    defer { self.free(input == frame ? nil : input) }
    guard let output = self.pool.frame(AV_PIX_FMT_YUV420P, like: frame) else { return }
    let curves = self.curves.flatMap { $0.colors == colors ? $0.curves : nil } ?? ToneCurves(colors)
    self.curves = (colors, curves)
    let (from, to) = (input.pointee, output.pointee)
    let targets = [to.data.0, to.data.1, to.data.2]
    let sources = [from.data.0, from.data.1, from.data.2].map { $0.map { UnsafePointer<UInt8>($0) } }
    curves.withCurves { curves in
      vidicon_tone_map(
        targets, [Int(to.linesize.0), Int(to.linesize.1), Int(to.linesize.2)], sources,
        [Int(from.linesize.0), Int(from.linesize.1), Int(from.linesize.2)], curves, to.width, to.height)
    }
    output.pointee.color_trc = AVCOL_TRC_BT709
    output.pointee.color_primaries = AVCOL_PRI_BT709
    output.pointee.colorspace = AVCOL_SPC_BT709
    output.pointee.color_range = AVCOL_RANGE_MPEG
    av_frame_unref(frame)
    av_frame_move_ref(frame, output)
    self.free(output)
  }

  private func free(_ frame: UnsafeMutablePointer<AVFrame>?) {
    var frame = frame
    av_frame_free(&frame)
  }

  /// The frame with 10 bits a sample, 4:2:0: itself, or converted.
  private func input(_ frame: UnsafeMutablePointer<AVFrame>) -> UnsafeMutablePointer<AVFrame>? {
    guard frame.pointee.format != AV_PIX_FMT_YUV420P10LE.rawValue else { return frame }
    let (width, height) = (frame.pointee.width, frame.pointee.height)
    self.scaler = sws_getCachedContext(
      self.scaler, width, height, AVPixelFormat(frame.pointee.format), width, height, AV_PIX_FMT_YUV420P10LE,
      SWS_BILINEAR, nil, nil, nil)
    guard let scaler, let converted = self.inputPool.frame(AV_PIX_FMT_YUV420P10LE, like: frame) else { return nil }
    guard sws_scale_frame(scaler, converted, frame) >= 0 else {
      self.free(converted)
      return nil
    }
    return converted
  }
}
