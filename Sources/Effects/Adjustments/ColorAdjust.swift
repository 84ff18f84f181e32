internal import Media

/// Adjusts brightness, contrast, saturation and white balance.
public final class ColorAdjust: VideoEffect {
  private let luma: [UInt8]
  private let cb: [UInt8]
  private let cr: [UInt8]

  /// Creates an adjustment. All values are clamped to -1...1; 0 changes nothing.
  ///
  /// - Parameters:
  ///   - brightness: Darker (negative) or brighter.
  ///   - contrast: Lower, down to uniform gray at -1, or higher, up to twice at 1.
  ///   - saturation: Lower, down to grayscale at -1, or higher, up to twice at 1.
  ///   - temperature: Colder (bluer) or warmer (redder).
  public init(brightness: Float = 0, contrast: Float = 0, saturation: Float = 0, temperature: Float = 0) {
    func bounded(_ value: Float) -> Float { max(-1, min(1, value)) }
    func table(_ range: ClosedRange<Float>, _ value: (Float) -> Float) -> [UInt8] {
      (0..<256).map { UInt8(max(range.lowerBound, min(range.upperBound, value(Float($0)).rounded()))) }
    }
    let (gain, color) = (1 + bounded(contrast), 1 + bounded(saturation))
    let (offset, warmth) = (110 * bounded(brightness), 28 * bounded(temperature))
    // Mid gray is unchanged.
    self.luma = table(16...235) { 125.5 + gain * ($0 - 125.5) + offset }
    self.cb = table(16...240) { 128 + color * ($0 - 128) - warmth }
    self.cr = table(16...240) { 128 + color * ($0 - 128) + warmth }
  }

  /// Applies the adjustment to all pixels, by table lookup for luma and chroma.
  public func process(_ frame: inout EffectFrame) -> EffectVerdict {
    Canvas(frame.buffer).lookUp(luma: self.luma, cb: self.cb, cr: self.cr)
    return .keep
  }
}
