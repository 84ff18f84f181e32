internal import Capture
internal import Media

/// Chooses among what a camera offers.
///
/// The size comes first: the nearest that is not below the wanted one, else the largest. Then the rate: the highest that
/// is not above the wanted one, an equal one included, else the lowest. Among those that are alike, pictures that are
/// not compressed are the better ones, as long as USB carries them, then JPEG. H.264 is taken when it is asked for, or
/// when only it has pictures that are large enough.
struct CameraFormatChooser {
  /// What is set on the camera.
  struct Choice: Hashable {
    var fourCC: FourCC
    var width: Int
    var height: Int
    var frameRate: FrameRate
  }

  /// Bytes a second of pictures that USB 2 carries: of its 480 Mb/s, what is left of one device's isochronous transfers.
  static let usbBytesPerSecond = 40_000_000

  /// The wanted size in pixels.
  var width: Int
  var height: Int
  /// The wanted pictures a second.
  var frameRate: FrameRate
  /// Which forms are asked for.
  var accepts: (FourCC) -> Bool = { _ in true }
  /// Whether H.264 is asked for.
  var prefersH264 = false
  /// Whether the camera is connected by USB.
  var isUSB: Bool

  /// The best of the modes; nil when none is of a form that is understood and asked for.
  func choose(from modes: [CameraMode]) -> Choice? {
    modes.lazy.filter { self.accepts($0.fourCC) && CameraPixels(fourCC: $0.fourCC) != nil }
      .map { (key: self.key(of: $0), mode: $0) }
      .min { $0.key.lexicographicallyPrecedes($1.key) }
      .map {
        Choice(
          fourCC: $0.mode.fourCC, width: $0.mode.width, height: $0.mode.height, frameRate: self.rate(of: $0.mode))
      }
  }

  /// The rate to set: the highest that is not above the wanted one, else the lowest; the wanted one where none is told.
  func rate(of mode: CameraMode) -> FrameRate {
    switch mode.frameRates {
    case .discrete(let rates):
      FrameRate.best(of: rates, notAbove: self.frameRate) ?? rates.min() ?? self.frameRate
    case .range(let range):
      min(max(self.frameRate, range.lowerBound), range.upperBound)
    }
  }

  /// What modes are compared by, the smaller the better, the first number first.
  private func key(of mode: CameraMode) -> [Int] {
    let area = mode.width * mode.height
    let isLargeEnough = mode.width >= self.width && mode.height >= self.height
    let rate = self.rate(of: mode)
    let millihertz = Int(rate.framesPerSecond * 1000)
    let pixels = CameraPixels(fourCC: mode.fourCC)
    let isCompressed = pixels?.bitsPerPixel == nil
    let bytesPerSecond = Double(area) * Double(pixels?.bitsPerPixel ?? 0) / 8 * rate.framesPerSecond
    return [
      isLargeEnough ? 0 : 1,
      mode.fourCC == .h264 && !self.prefersH264 ? 1 : 0,
      isLargeEnough ? area : -area,
      rate > self.frameRate ? 1 : 0,
      rate > self.frameRate ? millihertz : -millihertz,
      self.isUSB && bytesPerSecond > Double(Self.usbBytesPerSecond) ? 1 : 0,
      isCompressed ? 1 : 0,
      pixels?.cost ?? 0,
    ]
  }
}
