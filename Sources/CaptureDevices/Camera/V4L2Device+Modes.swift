internal import CV4L2
internal import Capture
internal import Media

extension V4L2Device {
  /// The most calls to list what a camera offers: some drivers never come to an end.
  private static let mostCalls = 4096

  /// What the camera offers.
  ///
  /// - Parameter wanted: Where it offers ranges of sizes, those of interest are listed: the usual ones, this one, and the
  ///   largest.
  func modes(near wanted: (width: Int, height: Int) = (1280, 720)) -> [CameraMode] {
    var calls = Self.mostCalls
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
      // A range stands for all there is.
      if offered.is_range { break }
    }
    // A driver that does not list sizes is asked for the wanted one.
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
      let fastest = FrameRate(
        interval: offered.shortest_numerator, over: offered.shortest_denominator)
      let slowest = FrameRate(interval: offered.longest_numerator, over: offered.longest_denominator)
      if offered.is_range {
        guard let fastest else { break }
        return .range(min(slowest ?? fastest, fastest)...fastest)
      }
      if let fastest, !rates.contains(fastest) { rates.append(fastest) }
    }
    return .discrete(rates.sorted(by: >))
  }
}

extension CameraSizeRange {
  /// What a driver offers; nil when no picture can have such a size.
  init?(_ sizes: vidicon_v4l2_sizes) {
    func range(_ least: UInt32, _ most: UInt32) -> ClosedRange<Int>? {
      let (least, most) = (max(1, Int(least)), min(Int(most), CameraMode.largestSide))
      return least <= most ? least...most : nil
    }
    guard let widths = range(sizes.least_width, sizes.most_width),
      let heights = range(sizes.least_height, sizes.most_height)
    else { return nil }
    self.init(widths: widths, widthStep: Int(sizes.width_step), heights: heights, heightStep: Int(sizes.height_step))
  }
}

extension FrameRate {
  /// The rate of pictures that are an interval of seconds apart; nil when the fraction makes no sense.
  init?(interval numerator: UInt32, over denominator: UInt32) {
    guard numerator > 0, denominator > 0, let pictures = Int32(exactly: denominator),
      let seconds = Int32(exactly: numerator), Int64(pictures) <= 1000 * Int64(seconds)
    else { return nil }
    self.init(pictures, over: seconds)
  }
}
