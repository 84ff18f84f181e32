internal import Media

/// Changes brightness, contrast, saturation and white balance.
public final class ColorAdjust: VideoEffect {
  private let luma: [UInt8]
  private let cb: [UInt8]
  private let cr: [UInt8]

  /// An effect; with zeros it changes nothing. All values go from -1 to 1.
  ///
  /// - Parameters:
  ///   - brightness: Darker or brighter.
  ///   - contrast: Flatter, down to an even grey, or up to twice the differences.
  ///   - saturation: Paler, down to grey, or up to twice the colour.
  ///   - temperature: Colder, which is bluer, or warmer, which is redder.
  public init(brightness: Float = 0, contrast: Float = 0, saturation: Float = 0, temperature: Float = 0) {
    func bounded(_ value: Float) -> Float { max(-1, min(1, value)) }
    func table(_ range: ClosedRange<Float>, _ value: (Float) -> Float) -> [UInt8] {
      (0..<256).map { UInt8(max(range.lowerBound, min(range.upperBound, value(Float($0)).rounded()))) }
    }
    let (gain, color) = (1 + bounded(contrast), 1 + bounded(saturation))
    let (offset, warmth) = (110 * bounded(brightness), 28 * bounded(temperature))
    // The middle of black and white stays where it is.
    self.luma = table(16...235) { 125.5 + gain * ($0 - 125.5) + offset }
    self.cb = table(16...240) { 128 + color * ($0 - 128) - warmth }
    self.cr = table(16...240) { 128 + color * ($0 - 128) + warmth }
  }

  /// Changes the colours.
  public func process(_ frame: inout EffectFrame) -> EffectVerdict {
    Canvas(frame.buffer).lookUp(luma: self.luma, cb: self.cb, cr: self.cr)
    return .keep
  }
}
