internal import CCapture
internal import Foundation

/// The curves by which a ``ToneMapper`` changes colors.
struct ToneCurves {
  /// Peak of the light that is distinguished, in reference white.
  private static let peak = 1000.0 / 203
  /// Light up to which it stays as it is, in reference white.
  private static let knee = 0.5

  private let colors: ToneMapper.Colors
  private let light: [Float]
  private let gain: [Float]?
  private let compression: [Float]?
  private let signal: [Float]

  init(_ colors: ToneMapper.Colors) {
    self.colors = colors
    self.light = (0...Int(VIDICON_SIGNAL_STEPS)).map { step in
      Float(Self.light(Double(step) / Double(VIDICON_SIGNAL_STEPS), colors.transfer))
    }
    // The system's gamma, 1.2, of a display of 1000 cd/m² (ITU-R BT.2100 table 5).
    self.gain = colors.transfer == .hlg ? Self.curve { pow($0, 0.2) * Self.peak } : nil
    self.compression = colors.transfer == .sdr ? nil : Self.curve { Self.compression($0) }
    self.signal = Self.curve { 255 * pow(min($0, 1), 1 / 2.4) }
  }

  /// Runs a body with the curves as C has them.
  func withCurves(_ body: (UnsafePointer<vidicon_tone_curves>) -> Void) {
    let (kr, kb) = self.colors.hasMatrix2020 ? (0.2627, 0.0593) : (0.2126, 0.0722)
    let kg = 1 - kr - kb
    let (luma, chroma) = self.colors.isFullRange ? (1 / 1023.0, 1 / 1023.0) : (1 / 876.0, 1 / 896.0)
    self.light.withUnsafeBufferPointer { light in
      self.signal.withUnsafeBufferPointer { signal in
        Self.withPointer(self.gain) { gain in
          Self.withPointer(self.compression) { compression in
            var curves = vidicon_tone_curves()
            curves.black = self.colors.isFullRange ? 0 : 64
            curves.luma = Float(luma)
            curves.red_cr = Float(2 * (1 - kr) * chroma)
            curves.green_cb = Float(-2 * kb * (1 - kb) / kg * chroma)
            curves.green_cr = Float(-2 * kr * (1 - kr) / kg * chroma)
            curves.blue_cb = Float(2 * (1 - kb) * chroma)
            curves.primaries =
              self.colors.isWide
              // BT.2020 (ITU-R BT.2407 §2).
              ? (1.6605, -0.5876, -0.0728, -0.1246, 1.1329, -0.0083, -0.0182, -0.1006, 1.1187)
              : (1, 0, 0, 0, 1, 0, 0, 0, 1)
            (curves.light, curves.gain) = (light.baseAddress, gain)
            (curves.compression, curves.signal) = (compression, signal.baseAddress)
            body(&curves)
          }
        }
      }
    }
  }

  private static func withPointer(_ entries: [Float]?, _ body: (UnsafePointer<Float>?) -> Void) {
    guard let entries else { return body(nil) }
    entries.withUnsafeBufferPointer { body($0.baseAddress) }
  }

  /// The entries of a curve over light.
  private static func curve(_ value: (Double) -> Double) -> [Float] {
    (0..<Int(VIDICON_LIGHT_STEPS)).map { step in
      guard step > 0 else { return Float(value(0)) }
      let fraction = (Double(step % 256) + 0.5) / 256
      return Float(value((1 + fraction) * exp2(Double(step / 256 - 20))))
    }
  }

  /// Light for a signal of 0 to 1: of the display in reference white, with HLG of the scene.
  private static func light(_ signal: Double, _ transfer: ToneMapper.Colors.Transfer) -> Double {
    switch transfer {
    case .sdr: return pow(signal, 2.4)
    case .pq:
      // ITU-R BT.2100 table 4, in 10 000 cd/m².
      let (m1, m2, c1, c2, c3) = (0.1593017578125, 78.84375, 0.8359375, 18.8515625, 18.6875)
      let power = pow(signal, 1 / m2)
      return pow(max(power - c1, 0) / (c2 - c3 * power), 1 / m1) * 10_000 / 203
    case .hlg:
      // Table 5.
      let (a, b, c) = (0.17883277, 0.28466892, 0.55991073)
      return signal <= 0.5 ? signal * signal / 3 : (exp((signal - c) / a) + b) / 12
    }
  }

  /// Light of SDR, 0 to 1, in relation to light in reference white.
  private static func compression(_ light: Double) -> Double {
    guard light > Self.knee else { return 1 }
    let slope = (Self.peak - Self.knee) / (1 - Self.knee)
    let place = min((light - Self.knee) / (Self.peak - Self.knee), 1)
    return (Self.knee + (1 - Self.knee) * slope * place / (1 + (slope - 1) * place)) / light
  }
}
