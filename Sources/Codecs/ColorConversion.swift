package import CCapture
package import Media

extension vidicon_color_conversion {
  /// Creates the conversion of limited-range Y'CbCr of one matrix to Y'CbCr of another one, in limited or full range:
  /// the product of the conversion to RGB by `source` and the conversion back by `target` (ITU-R BT.601-7 §2.5,
  /// BT.709-6 §3.2; full range as in T.871 §7).
  package init(from source: ColorMatrix, to target: ColorMatrix, isFullRange: Bool) {
    let (red, blue) = source.lumaWeights
    let (targetRed, targetBlue) = target.lumaWeights
    /// Contribution of a color difference to luma, Cb and Cr.
    func differences(blue b: Double, red r: Double) -> (luma: Double, cb: Double, cr: Double) {
      let green = -(red * r + blue * b) / (1 - red - blue)
      let luma = targetRed * r + (1 - targetRed - targetBlue) * green + targetBlue * b
      return (luma, (b - luma) / (2 - 2 * targetBlue), (r - luma) / (2 - 2 * targetRed))
    }
    let fromCb = differences(blue: 2 * (1 - blue), red: 0)
    let fromCr = differences(blue: 0, red: 2 * (1 - red))
    func fixed(_ value: Double, range: (target: Double, source: Double)) -> Int32 {
      Int32((value * range.target / range.source * 16_384).rounded())
    }
    let luma = isFullRange ? 255.0 : 219
    let chroma = isFullRange ? 255.0 : 224
    self.init(
      luma_from_luma: fixed(1, range: (luma, 219)), luma_from_cb: fixed(fromCb.luma, range: (luma, 224)),
      luma_from_cr: fixed(fromCr.luma, range: (luma, 224)), cb_from_cb: fixed(fromCb.cb, range: (chroma, 224)),
      cb_from_cr: fixed(fromCr.cb, range: (chroma, 224)), cr_from_cb: fixed(fromCb.cr, range: (chroma, 224)),
      cr_from_cr: fixed(fromCr.cr, range: (chroma, 224)), luma_offset: isFullRange ? 0 : 16)
  }
}

extension ColorMatrix {
  /// Weights of red and blue in luma; green is the rest to 1.
  fileprivate var lumaWeights: (red: Double, blue: Double) {
    switch self {
    case .bt601: (0.299, 0.114)
    case .bt709: (0.2126, 0.0722)
    }
  }
}
