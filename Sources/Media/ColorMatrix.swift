/// How luma and colour differences are made from red, green and blue, in the "limited" range: luma 16 to 235, Cb and
/// Cr 16 to 240.
///
/// The raw values are those of ITU-T H.273 §8.3 (MatrixCoefficients), as in an H.264 stream's VUI.
public enum ColorMatrix: UInt8, Hashable, Sendable {
  /// ITU-R BT.709: what HD video files use.
  case bt709 = 1
  /// ITU-R BT.601 (SMPTE 170M): standard definition, most webcams, and every picture made here from RGB.
  case bt601 = 6
}
