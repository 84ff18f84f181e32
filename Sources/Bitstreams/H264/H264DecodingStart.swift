package import Media

/// Decides at which access unit the decoding of a live stream starts: at the first IDR picture or recovery point.
///
/// Encoders with periodic intra refresh or open groups of pictures send no IDR picture after their start. Some of them say
/// nothing of recovery points either: when no start has come for ``timeout``, decoding starts at intra frames and what the sender
/// calls a keyframe, and after ``blindTimeout`` at any access unit, since each refresh makes frames whole. Until then the stream
/// waits, which is reported once.
package struct H264DecodingStart: Sendable {
  /// Treatment of an access unit: dropped, dropped and reported, or decoded.
  package enum Decision: Hashable, Sendable {
    /// The access unit precedes the start.
    case drop
    /// The access unit precedes the start, which has not come for long; the number of access units that were dropped.
    case reportMissing(dropped: Int)
    /// The access unit is decoded.
    case take(isStart: Bool)
  }

  /// Time without an IDR picture or recovery point after which decoding starts at intra frames and at the sender's keyframes.
  package static let timeout = MediaDuration.seconds(3)
  /// Time without any start after which that is reported.
  package static let reportTime = MediaDuration.seconds(3)
  /// Time without any start after which decoding starts at any access unit: longer than cameras wait between two keyframes.
  package static let blindTimeout = MediaDuration.seconds(20)
  /// Maximum distance of two access units; a larger one is a jump of the timestamps, in which no time passes.
  private static let maximumStep = MediaDuration.seconds(10)

  private var isStarted = false
  private var startsElsewhere = false
  private var waited = MediaDuration.zero
  private var highestTime: MediaTime?
  private var dropped = 0
  private var isReported = false

  /// Creates the state before the first access unit.
  package init() {}

  /// Whether decoding has started at an IDR picture, so that another start can be waited for after a loss.
  package var isAtKeyframe: Bool { self.isStarted && !self.startsElsewhere }

  /// Decides on an access unit.
  ///
  /// - Parameters:
  ///   - isMarked: Whether the sender calls it a keyframe.
  ///   - hasParameterSets: Whether the stream's parameter sets are known; decoding does not start before.
  package mutating func handle(
    _ unit: H264AccessUnit, isMarked: Bool, hasParameterSets: Bool = true, at time: MediaTime
  ) -> Decision {
    if self.isStarted {
      if unit.isKeyframe { return .take(isStart: true) }
      return .take(isStart: self.startsElsewhere && (isMarked || unit.randomAccess != nil))
    }
    let waited = self.wait(until: time)
    if hasParameterSets, unit.isKeyframe || self.canStartElsewhere(at: unit, isMarked: isMarked, after: waited) {
      (self.isStarted, self.startsElsewhere) = (true, !unit.isKeyframe)
      return .take(isStart: true)
    }
    self.dropped += 1
    guard !self.isReported, waited >= Self.reportTime else { return .drop }
    self.isReported = true
    return .reportMissing(dropped: self.dropped)
  }

  private func canStartElsewhere(at unit: H264AccessUnit, isMarked: Bool, after waited: MediaDuration) -> Bool {
    if waited >= Self.blindTimeout { return true }
    let access = unit.randomAccess
    return access == .recoveryPoint || waited >= Self.timeout && (isMarked || access == .intra)
  }

  /// Returns how long the start has been waited for. Timestamps of frames that are shown in another order go back and forth, and
  /// those of a joined stream jump: neither counts.
  private mutating func wait(until time: MediaTime) -> MediaDuration {
    let step = time - (self.highestTime ?? time)
    if step > .zero, step <= Self.maximumStep { self.waited = self.waited + step }
    if self.highestTime == nil || step > .zero || step < .zero - Self.maximumStep { self.highestTime = time }
    return self.waited
  }
}
