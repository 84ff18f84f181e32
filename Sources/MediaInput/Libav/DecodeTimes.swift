/// Decode times of video packets that have presentation times only, as in Matroska. Pure. Times are nanoseconds.
///
/// libavformat derives decode times too, but none for the first packets, and after a step back those that it derives are in no order.
struct DecodeTimes {
  /// Number of frames that a decoder holds back, since others may precede them.
  private let reorderedCount: Int
  /// Presentation time of the first packet since a jump; nil before it.
  private var first: Int64?
  /// Maximum of the presentation times since then.
  private var latest = Int64.min
  /// Presentation times that are not decode times yet, ascending.
  private var waiting: [Int64] = []
  /// The last decode time.
  private var last = Int64.min
  private var followsKeyframe = false
  /// Whether keyframes follow each other, although frames are reordered: each frame has the mark, which says nothing then.
  private var isMarkUsed = true

  /// Distance of two packets from which on the clock has jumped.
  private static let maximumStep: Int64 = 5_000_000_000
  /// Time by which a frame may precede the last decode time.
  private static let tolerance: Int64 = 500_000_000

  /// - Parameter reorderedCount: Number of frames that a decoder holds back, at least 0.
  init(reorderedCount: Int) {
    self.reorderedCount = reorderedCount
  }

  /// Decode time of the next packet: the presentation time of the frame that a decoder returns after it.
  ///
  /// - Parameters:
  ///   - presentation: Its presentation time.
  ///   - isKeyframe: Whether decoding can start there, so that no packet before it is shown after it.
  ///   - interval: Time from frame to frame.
  mutating func time(of presentation: Int64, isKeyframe: Bool, interval: Int64) -> Int64 {
    if isKeyframe, self.followsKeyframe, self.reorderedCount > 0 { self.isMarkUsed = false }
    self.followsKeyframe = isKeyframe
    if self.hasJumped(to: presentation, isKeyframe: isKeyframe && self.isMarkUsed) {
      (self.first, self.latest, self.waiting, self.last) = (presentation, .min, [], .min)
    }
    let first = self.first ?? presentation
    self.latest = max(self.latest, presentation)
    self.waiting.insert(presentation, at: self.waiting.firstIndex { $0 > presentation } ?? self.waiting.endIndex)
    let missing = self.reorderedCount + 1 - self.waiting.count
    let time = missing > 0 ? first - Int64(missing) * interval : self.waiting.removeFirst()
    self.last = max(self.last, time)
    return self.last
  }

  private func hasJumped(to presentation: Int64, isKeyframe: Bool) -> Bool {
    guard self.first != nil else { return true }
    return isKeyframe && presentation <= self.latest || presentation - self.latest > Self.maximumStep
      || presentation < self.last - Self.tolerance
  }
}
