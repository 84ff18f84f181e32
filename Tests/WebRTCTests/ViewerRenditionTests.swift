import Media
import Testing

@testable import WebRTC

@Suite("What one viewer gets, from the estimate of its path")
struct ViewerRenditionTests {
  private static let bitrates = [2_400_000, 550_000]

  /// Updates ten times a second, and returns the changes with their times in milliseconds.
  private static func run(
    _ viewer: inout ViewerRendition, from start: Int64, for milliseconds: Int64, capacity: (Int64) -> Int
  ) -> [(time: Int64, choice: ViewerRendition.Choice)] {
    stride(from: start, to: start + milliseconds, by: 100).compactMap { time in
      viewer.update(capacity: capacity(time), bitrates: Self.bitrates, at: .zero + .milliseconds(time))
        .map { (time, $0) }
    }
  }

  @Test func `a slow viewer gets the low rendition within three seconds, a very slow one within one`() {
    for (capacity, time) in [(2_400_000, 3000), (1_650_000, 3000), (1_590_000, 1000), (620_000, 1000)] as [(Int, Int64)]
    {
      var viewer = ViewerRendition(.rendition(0), bitrate: 2_400_000, at: .zero)
      let changes = Self.run(&viewer, from: 0, for: 10_000) { _ in capacity }
      #expect(changes.map(\.time) == [time] && changes.map(\.choice) == [.rendition(1)])
    }
  }

  @Test func `a short fall changes nothing`() {
    var viewer = ViewerRendition(.rendition(0), bitrate: 2_400_000, at: .zero)
    let changes = Self.run(&viewer, from: 0, for: 60_000) { $0 % 4000 < 2900 ? 2_000_000 : 2_600_000 }
    #expect(changes.isEmpty)
  }

  @Test func `the estimator is to probe for the higher rendition after ten seconds, and it is given after five more`() {
    var viewer = ViewerRendition(.rendition(0), bitrate: 2_400_000, at: .zero)
    _ = Self.run(&viewer, from: 0, for: 2000) { _ in 800_000 }
    #expect(viewer.choice == .rendition(1))
    _ = Self.run(&viewer, from: 2000, for: 8900) { _ in 740_000 }
    #expect(viewer.desiredBitrate == 742_500)
    _ = Self.run(&viewer, from: 10_900, for: 10_000) { _ in 740_000 }
    #expect(viewer.desiredBitrate == 3_240_000 && viewer.choice == .rendition(1))
    let changes = Self.run(&viewer, from: 20_900, for: 10_000) { _ in 3_100_000 }
    #expect(changes.map(\.time) == [25_900] && changes.map(\.choice) == [.rendition(0)])
  }

  @Test func `an attempt that fails doubles the wait, one that lasts restores it`() {
    var viewer = ViewerRendition(.rendition(1), bitrate: 550_000, at: .zero)
    var rises: [Int64] = []
    for time in stride(from: Int64(0), to: 400_000, by: 100) {
      // Until 200 s the path seems to carry the higher rendition until it has to; it falls once more at 380 s.
      let isShort = time < 200_000 && viewer.choice == .rendition(0) || (380_000..<382_000).contains(time)
      let choice = viewer.update(
        capacity: isShort ? 700_000 : 3_200_000, bitrates: Self.bitrates, at: .zero + .milliseconds(time))
      if choice == .rendition(0) { rises.append(time) }
    }
    #expect(rises == [15_000, 41_100, 87_200, 173_300, 339_400, 396_000])
  }

  @Test func `without enough for the lowest rendition there is audio alone, and video again when it fits`() {
    var viewer = ViewerRendition(.rendition(0), bitrate: 2_400_000, at: .zero)
    let down = Self.run(&viewer, from: 0, for: 10_000) { _ in 150_000 }
    #expect(down.map(\.choice) == [.rendition(1), .audioOnly] && down.map(\.time) == [1000, 2100])
    #expect(viewer.desiredBitrate == 0)
    let up = Self.run(&viewer, from: 10_000, for: 30_000) { _ in 700_000 }
    #expect(up.map(\.choice) == [.rendition(1)] && up.map(\.time) == [17_100])
  }

  @Test func `where nothing measures the path, higher renditions are tried, less often where that fails`() {
    var viewer = ViewerRendition(.audioOnly, bitrate: 2_400_000, at: .zero)
    var rises: [Int64] = []
    for time in stride(from: Int64(0), to: 200_000, by: 100) {
      // A receiver's estimate, which does not go beyond what it gets; the main rendition is too much for its path.
      let capacity =
        switch viewer.choice {
        case .audioOnly: 120_000
        case .rendition(let index): index == 0 ? 1_200_000 : 760_000
        }
      let choice = viewer.update(
        capacity: capacity, isMeasured: false, bitrates: Self.bitrates, at: .zero + .milliseconds(time))
      #expect(viewer.choice != .audioOnly || time < 10_000)
      guard let choice else { continue }
      #expect(viewer.isTrial == (choice == .rendition(0) || time == 10_000))
      if choice == .rendition(0) {
        rises.append(time)
        #expect(viewer.desiredBitrate == 3_240_000)
      }
    }
    #expect(rises == [33_000, 54_100, 95_200, 176_300])
  }

  @Test func `a rendition that ends is replaced by the lowest`() {
    var viewer = ViewerRendition(.rendition(1), bitrate: 550_000, at: .zero)
    #expect(viewer.update(capacity: 9_000_000, bitrates: [2_000_000], at: .zero) == .rendition(0))
  }
}

@Suite("The bitrate for a sole viewer")
struct SoleViewerBitrateTests {
  private var rule = SoleViewerBitrate(bounds: 300_000...2_300_000)

  private mutating func update(_ estimate: Int?, _ milliseconds: Int64) -> Int? {
    self.rule.update(estimate: estimate, audioBitrate: 100_000, at: .zero + .milliseconds(milliseconds))
  }

  @Test mutating func `it falls at once, rises in steps, and stays within its bounds`() {
    #expect(self.update(5_000_000, 0) == nil)
    #expect(self.update(2_000_000, 100) == 1_800_000)
    #expect(self.update(1_980_000, 200) == nil)
    #expect(self.update(1_000_000, 200) == 850_000)
    #expect(self.update(1_050_000, 1000) == nil)
    #expect(self.update(1_200_000, 300) == nil)
    #expect(self.update(1_200_000, 1000) == 1_040_000)
    #expect(self.update(0, 1100) == 300_000)
    #expect(self.update(9_000_000, 2000) == 2_300_000)
  }

  @Test mutating func `a bitrate that is configured meanwhile is the new limit at once`() {
    #expect(self.update(1_100_000, 0) == 945_000)
    self.rule.bounds = 100_000...940_000
    #expect(self.update(1_100_000, 100) == 940_000)
    self.rule.bounds = 100_000...500_000
    #expect(self.update(1_100_000, 200) == 500_000)
    self.rule.bounds = 520_000...4_000_000
    #expect(self.update(0, 1000) == 520_000)
    #expect(self.update(9_000_000, 2000) == 4_000_000)
  }

  @Test mutating func `a bitrate that the encoder has since got is followed from`() {
    #expect(self.update(2_200_000, 0) == 1_990_000)
    (self.rule.bounds, self.rule.bitrate) = (300_000...4_000_000, 4_000_000)
    #expect(self.update(2_200_000, 100) == 1_990_000)
  }

  @Test mutating func `another consumer has the configured bitrate at once`() {
    #expect(self.update(500_000, 0) == 375_000)
    #expect(self.update(nil, 1) == 2_300_000)
    #expect(self.update(nil, 2) == nil)
  }
}
