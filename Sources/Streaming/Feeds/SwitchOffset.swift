internal import Media

/// Maps the capture times of a source to the timeline that viewers see after a switch.
///
/// A source of higher latency than the one before delivers frames that were captured before the last output. With their
/// capture times they would be dropped until these have caught up: viewers would see a still frame for the difference of the
/// latencies. After a switch to a source of lower latency, viewers would wait for the same time. Hence the first frame follows
/// the last output, and the difference decays linearly: time runs at half to one and a half times its speed meanwhile, and
/// audio, which is not mapped, is as far from the video as the rest of the difference.
///
/// A network source may begin with seconds at once, whose first frame is old although the source has no latency. Where its frames would
/// be placed after their arrival, the offset is lower: they are shown as they come, and have their own times from then on.
struct SwitchOffset: Hashable {
  /// Minimum time in which the offset decays; twice the offset where that is longer.
  static let minimumDecay = MediaDuration.seconds(1)

  private let start: MediaTime
  private let offset: MediaDuration
  private let decay: MediaDuration
  /// Time by which frames may be placed after their arrival: that of the first one, where the output before it is ahead.
  private let lead: MediaDuration

  /// - Parameters:
  ///   - offset: Time to add to the capture time of the first frame; negative after a switch to a source of lower latency.
  ///   - start: Capture time of the first frame of the new source.
  ///   - now: Arrival of that frame.
  init(_ offset: MediaDuration, from start: MediaTime, at now: MediaTime) {
    self.init(offset, from: start, lead: max(start + offset - now, .zero))
  }

  private init(_ offset: MediaDuration, from start: MediaTime, lead: MediaDuration) {
    self.start = start
    self.offset = offset
    self.decay = max(Self.minimumDecay, offset * 2, .zero - offset * 2)
    self.lead = lead
  }

  /// The offset from a frame on, which is not placed after its arrival; nil where the frame needs none.
  func limited(for time: MediaTime, at now: MediaTime) -> SwitchOffset? {
    let latest = max(time, now + self.lead)
    guard self.applied(to: time) > latest else { return self }
    return latest > time ? SwitchOffset(latest - time, from: time, lead: self.lead) : nil
  }

  /// The time on the viewers' timeline of a capture time of the new source.
  func applied(to time: MediaTime) -> MediaTime {
    let elapsed = time - self.start
    guard elapsed < self.decay else { return time }
    guard elapsed > .zero else { return time + self.offset }
    let rest = 1 - elapsed.seconds / self.decay.seconds
    return time + MediaDuration(nanoseconds: Int64(Double(self.offset.nanoseconds) * rest))
  }
}
