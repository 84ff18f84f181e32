internal import Capture
internal import Media

/// One form in which a camera offers pictures, at one size.
struct CameraMode: Hashable {
  var fourCC: FourCC
  /// Pixels across, 1 to ``largestSide``.
  var width: Int
  /// Pixels down, 1 to ``largestSide``.
  var height: Int
  /// Empty when the camera does not tell.
  var frameRates: CaptureDeviceFormat.FrameRates

  /// The most pixels across or down that are believed.
  static let largestSide = 16_384
}

/// The sizes that a camera offers for a form: every `step` from the least to the most.
struct CameraSizeRange: Hashable {
  var widths: ClosedRange<Int>
  var widthStep: Int
  var heights: ClosedRange<Int>
  var heightStep: Int

  /// The sizes that cameras are used at, where any can be had.
  static let usual = [(320, 240), (640, 480), (1280, 720), (1920, 1080), (3840, 2160)]

  /// Those of the usual sizes and a wanted one that lie in the range, each moved up to what is offered, and the largest.
  func candidates(near wanted: (width: Int, height: Int)) -> [(width: Int, height: Int)] {
    var sizes: [(Int, Int)] = [self.size(notBelow: wanted)]
    sizes += Self.usual.filter { self.widths.contains($0.0) && self.heights.contains($0.1) }
      .map { self.size(notBelow: $0) }
    sizes.append(self.size(notBelow: (self.widths.upperBound, self.heights.upperBound)))
    var seen: Set<[Int]> = []
    return sizes.filter { seen.insert([$0.0, $0.1]).inserted }
  }

  /// The nearest size that is not below one; the most where there is none.
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
