internal import Media

/// Finds timestamps that alternate between several clocks, as those of two programs that write to one named pipe at the same time. Pure.
///
/// Each time that a track leaves a clock, its last timestamp there is remembered. Where a step back leads to one of these, and a little
/// ahead of its timestamp, both clocks go on. Clips that were joined begin at times of their own, also where each has a frame in seconds.
struct AlternatingClocks {
  /// Place of a sample on its clock.
  enum Step: Hashable {
    /// There is one clock, as far as is known.
    case single
    /// Several clocks alternate.
    ///
    /// - Parameter step: Time from the last sample of the track; nil where that is on another clock.
    case alternating(_ step: MediaDuration?)
    /// One clock is left, and this is its sample.
    case ended
  }

  private struct Track {
    /// The last timestamp.
    var last: MediaTime
    /// The last timestamps of clocks that were left.
    var left: [MediaTime] = []
  }

  private var tracks: [MediaKind: Track] = [:]
  private var isAlternating = false
  /// Timestamps from which on tracks are on one clock; none right after a change.
  private var starts: [MediaKind: MediaTime] = [:]

  /// Time by which a clock that was left goes on meanwhile, at most; after as much of one clock there are no others.
  private static let span = MediaDuration.seconds(2)
  /// Minimum time by which a step back leads to another clock: shorter ones are slips, and frames that are reordered.
  private static let minimumDistance = MediaDuration.milliseconds(500)
  /// Maximum number of clocks beside the current one.
  private static let maximumCount = 4

  /// Adds the next timestamp of a track.
  mutating func append(_ kind: MediaKind, at time: MediaTime) -> Step {
    guard var track = self.tracks[kind] else {
      self.tracks[kind] = Track(last: time)
      return self.isAlternating ? .alternating(nil) : .single
    }
    let (previous, step) = (track.last, time - track.last)
    let isBack = step < .zero - Self.minimumDistance
    if track.left.isEmpty, !isBack, !self.isAlternating {
      self.tracks[kind]?.last = time
      return .single
    }
    track.last = time
    var isChanged = true
    if let index = Self.continued(track.left, by: time, after: isBack ? Self.span : min(step, Self.span)) {
      track.left[index] = previous
      if isBack { self.isAlternating = true }
    } else if isBack {
      track.left = Array((track.left + [previous]).suffix(Self.maximumCount))
    } else {
      isChanged = step > Self.span
    }
    if isChanged {
      self.starts = [:]
    } else {
      let start = self.starts[kind] ?? previous
      self.starts[kind] = start
      if time - start > Self.span {
        guard !self.isAlternating else {
          self = AlternatingClocks()
          self.tracks[kind] = Track(last: time)
          return .ended
        }
        track.left = []
      }
    }
    self.tracks[kind] = track
    guard self.isAlternating else { return .single }
    return .alternating(isChanged ? nil : max(step, .zero))
  }

  /// Index of the clock that a timestamp continues; nil where it is not ahead of any, by less than a time.
  private static func continued(_ clocks: [MediaTime], by time: MediaTime, after limit: MediaDuration) -> Int? {
    clocks.indices.filter { clocks[$0] < time && time - clocks[$0] < limit }.max { clocks[$0] < clocks[$1] }
  }
}
