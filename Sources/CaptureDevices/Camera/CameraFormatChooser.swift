package import Capture
package import Media

/// Chooses the best format of those that a camera offers.
///
/// Size comes first: the smallest that is at least the requested one, else the largest. Then the frame rate: the highest
/// that does not exceed the requested one, else the lowest. Among equal ones, uncompressed formats are preferred as long as
/// the connection has the bandwidth, then JPEG. H.264 is chosen when requested, or when only it is large enough.
package struct CameraFormatChooser {
  /// The format to set on the camera.
  package struct Choice: Hashable, Sendable {
    package var fourCC: FourCC
    package var width: Int
    package var height: Int
    package var frameRate: FrameRate

    /// Creates a choice; sides are in pixels.
    package init(fourCC: FourCC, width: Int, height: Int, frameRate: FrameRate) {
      self.fourCC = fourCC
      self.width = width
      self.height = height
      self.frameRate = frameRate
    }

    /// Bytes per second on the wire; nil for compressed formats, whose rate depends on the scene.
    package var bytesPerSecond: Double? {
      CameraPixels(fourCC: self.fourCC)?.bitsPerPixel.map {
        Double(self.width * self.height * $0) / 8 * self.frameRate.framesPerSecond
      }
    }
  }

  /// Requested width in pixels.
  var width: Int
  /// Requested height in pixels.
  var height: Int
  /// Requested frame rate in frames per second.
  var frameRate: FrameRate
  /// Filter of the user's `format` option.
  var accepts: (FourCC) -> Bool
  /// Whether H.264 was requested.
  var prefersH264: Bool
  /// Speed of the camera's USB connection; nil when it has another one, which is not limited.
  var usbSpeed: USBSpeed?

  /// Creates a chooser of the format nearest to a size in pixels and a frame rate.
  package init(
    width: Int, height: Int, frameRate: FrameRate, accepts: @escaping (FourCC) -> Bool = { _ in true },
    prefersH264: Bool = false, usbSpeed: USBSpeed?
  ) {
    self.width = width
    self.height = height
    self.frameRate = frameRate
    self.accepts = accepts
    self.prefersH264 = prefersH264
    self.usbSpeed = usbSpeed
  }

  /// The best mode; nil when none has a known and requested format.
  package func choose(from modes: [CameraMode]) -> Choice? {
    modes.lazy.filter { self.accepts($0.fourCC) && CameraPixels(fourCC: $0.fourCC) != nil }
      .map { (key: self.key(of: $0), mode: $0) }
      .min { $0.key.lexicographicallyPrecedes($1.key) }
      .map {
        Choice(
          fourCC: $0.mode.fourCC, width: $0.mode.width, height: $0.mode.height, frameRate: self.rate(of: $0.mode))
      }
  }

  /// The frame rate to set: the highest that does not exceed the requested one, else the lowest; the requested one when the
  /// camera reports none.
  func rate(of mode: CameraMode) -> FrameRate {
    switch mode.frameRates {
    case .discrete(let rates):
      FrameRate.best(of: rates, notAbove: self.frameRate) ?? rates.min() ?? self.frameRate
    case .range(let range):
      min(max(self.frameRate, range.lowerBound), range.upperBound)
    }
  }

  /// Sort key of a mode, compared lexicographically; lower is better.
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
      self.usbSpeed.map { bytesPerSecond > Double($0.usableBytesPerSecond) } ?? false ? 1 : 0,
      isCompressed ? 1 : 0,
      pixels?.cost ?? 0,
    ]
  }
}

/// A pixel format and size that a camera offers, with its frame rates.
package struct CameraMode: Hashable {
  package var fourCC: FourCC
  /// Width in pixels, 1 to ``maximumSide``.
  package var width: Int
  /// Height in pixels, 1 to ``maximumSide``.
  package var height: Int
  /// Frame rates; empty when the camera does not report any.
  package var frameRates: CaptureDeviceFormat.FrameRates

  /// Creates a mode; sides are in pixels.
  package init(fourCC: FourCC, width: Int, height: Int, frameRates: CaptureDeviceFormat.FrameRates) {
    self.fourCC = fourCC
    self.width = width
    self.height = height
    self.frameRates = frameRates
  }

  /// The mode of a camera's entry in the list of devices; nil where the entry has no size.
  package init?(_ format: CaptureDeviceFormat) {
    guard let width = format.width, let height = format.height, let fourCC = FourCC(named: format.name) else {
      return nil
    }
    self.init(fourCC: fourCC, width: width, height: height, frameRates: format.frameRates)
  }

  /// Maximum width and height in pixels; larger values of a driver are ignored.
  package static let maximumSide = 16_384
}

/// A range of sizes that a camera offers for a pixel format: from a minimum to a maximum in steps.
package struct CameraSizeRange: Hashable {
  var widths: ClosedRange<Int>
  var widthStep: Int
  var heights: ClosedRange<Int>
  var heightStep: Int

  /// Common sizes, listed for cameras that offer a range.
  static let commonSizes = [(320, 240), (640, 480), (1280, 720), (1920, 1080), (3840, 2160)]

  /// The common sizes in the range, the requested size and the maximum, each rounded up to an offered size.
  package func candidates(near wanted: (width: Int, height: Int)) -> [(width: Int, height: Int)] {
    var sizes: [(Int, Int)] = [self.size(notBelow: wanted)]
    sizes += Self.commonSizes.filter { self.widths.contains($0.0) && self.heights.contains($0.1) }
      .map { self.size(notBelow: $0) }
    sizes.append(self.size(notBelow: (self.widths.upperBound, self.heights.upperBound)))
    var seen: Set<[Int]> = []
    return sizes.filter { seen.insert([$0.0, $0.1]).inserted }
  }

  /// The smallest offered size that is at least the requested one; the maximum when there is none.
  func size(notBelow wanted: (width: Int, height: Int)) -> (width: Int, height: Int) {
    (
      Self.value(wanted.width, in: self.widths, step: self.widthStep),
      Self.value(wanted.height, in: self.heights, step: self.heightStep)
    )
  }

  private static func value(_ wanted: Int, in range: ClosedRange<Int>, step: Int) -> Int {
    let step = max(1, step)
    let steps = (max(0, wanted - range.lowerBound) + step - 1) / step
    return range.lowerBound + min(steps, (range.upperBound - range.lowerBound) / step) * step
  }
}
