/// Derives decode times of video from presentation times in decode order, since RTP carries presentation times only.
///
/// The decode time of a frame is the earliest presentation time of those that the decoder holds back for reordering with it. Their
/// number starts at that of the sequence parameter set, and grows where frames come in another order. Decode times are at most the
/// presentation times, and decrease only where that number grows.
struct RTPDecodeOrder: Sendable {
  /// Maximum number of frames that are held back, ITU-T H.264 §A.3.1.
  static let maximumDepth = 16
  /// Maximum nominal duration, in ticks of 90 kHz.
  private static let maximumFrameDuration: Int64 = 90_000

  /// Number of frames that the decoder holds back.
  private var depth = 0
  /// Presentation times of the last frames, in ascending order; at most `depth + 1`.
  private var held: [Int64] = []

  /// - Parameter depth: `max_num_reorder_frames` of the sequence parameter set, if it is known.
  init(depth: Int = 0) {
    self.depth = min(max(depth, 0), Self.maximumDepth)
  }

  /// Returns the decode time of the next frame in decode order.
  ///
  /// - Parameter frameDuration: Nominal duration of a frame, by which the decode times of the first frames precede.
  mutating func decodeTime(ofPresentation time: Int64, frameDuration: Int64) -> Int64 {
    // A frame before all that are held was held back longer than expected.
    if let first = self.held.first, time < first, self.depth < Self.maximumDepth, self.held.count > self.depth {
      self.depth += 1
    }
    self.held.insert(time, at: self.held.firstIndex { $0 > time } ?? self.held.endIndex)
    if self.held.count > self.depth + 1 { self.held.removeFirst() }
    // No overflow: the depth is 16 at most, a duration a second.
    let lead = Int64(self.depth + 1 - self.held.count) * min(max(frameDuration, 0), Self.maximumFrameDuration)
    return min(time, self.held[0]).subtractingReportingOverflow(lead).partialValue
  }
}
