package import CV4L2
internal import Capture
package import Media

extension V4L2Device {
  /// Maximum number of calls to enumerate modes: some drivers enumerate without end.
  private static let maximumCalls = 4096

  /// The pixel formats, sizes and frame rates that the camera offers.
  ///
  /// - Parameter wanted: Where sizes are a range, the common ones, this one and the maximum are listed.
  func modes(near wanted: (width: Int, height: Int) = (1280, 720)) -> [CameraMode] {
    var calls = Self.maximumCalls
    var fourCCs: [FourCC] = []
    var number: UInt32 = 0
    while fourCCs.count < 64,
      vidicon_v4l2_get_format_at(
        self.descriptor, self.identity.isMultiPlanar, UInt32(fourCCs.count), &number) == 0
    {
      fourCCs.append(FourCC(rawValue: number))
    }
    var modes: [CameraMode] = []
    var seen: Set<FourCC> = []
    for fourCC in fourCCs where seen.insert(fourCC).inserted {
      for (width, height) in self.sizes(of: fourCC, near: wanted, calls: &calls) {
        let rates = self.frameRates(of: fourCC, width: width, height: height, calls: &calls)
        modes.append(CameraMode(fourCC: fourCC, width: width, height: height, frameRates: rates))
      }
    }
    return modes
  }

  private func sizes(
    of fourCC: FourCC, near wanted: (width: Int, height: Int), calls: inout Int
  ) -> [(width: Int, height: Int)] {
    var sizes: [(width: Int, height: Int)] = []
    var seen: Set<[Int]> = []
    var offered = vidicon_v4l2_sizes()
    var index: UInt32 = 0
    while index < 256, calls > 0,
      vidicon_v4l2_get_sizes_at(self.descriptor, fourCC.rawValue, index, &offered) == 0
    {
      calls -= 1
      index += 1
      guard let range = CameraSizeRange(offered) else { continue }
      for size in range.candidates(near: wanted) where seen.insert([size.width, size.height]).inserted {
        sizes.append(size)
      }
      // A range is the only entry.
      if offered.is_range { break }
    }
    // A driver that does not enumerate sizes is tried with the requested one.
    return index == 0 ? [wanted] : sizes
  }

  private func frameRates(
    of fourCC: FourCC, width: Int, height: Int, calls: inout Int
  ) -> CaptureDeviceFormat.FrameRates {
    var rates: [FrameRate] = []
    var offered = vidicon_v4l2_intervals()
    var index: UInt32 = 0
    while index < 256, calls > 0,
      vidicon_v4l2_get_intervals_at(
        self.descriptor, fourCC.rawValue, UInt32(width), UInt32(height), index, &offered) == 0
    {
      calls -= 1
      index += 1
      let maximum = FrameRate(
        interval: offered.min_numerator, over: offered.min_denominator)
      let minimum = FrameRate(interval: offered.max_numerator, over: offered.max_denominator)
      if offered.is_range {
        guard let maximum else { break }
        return .range(min(minimum ?? maximum, maximum)...maximum)
      }
      if let maximum, !rates.contains(maximum) { rates.append(maximum) }
    }
    return .discrete(rates.sorted(by: >))
  }
}

extension CameraSizeRange {
  /// Nil when no size of the range is within 1 to ``CameraMode/maximumSide``.
  package init?(_ sizes: vidicon_v4l2_sizes) {
    func range(_ minimum: UInt32, _ maximum: UInt32) -> ClosedRange<Int>? {
      let (minimum, maximum) = (max(1, Int(minimum)), min(Int(maximum), CameraMode.maximumSide))
      return minimum <= maximum ? minimum...maximum : nil
    }
    guard let widths = range(sizes.min_width, sizes.max_width),
      let heights = range(sizes.min_height, sizes.max_height)
    else { return nil }
    self.init(widths: widths, widthStep: Int(sizes.width_step), heights: heights, heightStep: Int(sizes.height_step))
  }
}

extension FrameRate {
  /// The reciprocal of a frame interval in seconds; nil for a zero term, or more than 1000 frames per second.
  package init?(interval numerator: UInt32, over denominator: UInt32) {
    guard numerator > 0, denominator > 0, let frames = Int32(exactly: denominator),
      let seconds = Int32(exactly: numerator), Int64(frames) <= 1000 * Int64(seconds)
    else { return nil }
    self.init(frames, over: seconds)
  }
}
