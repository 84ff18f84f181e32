package import Media

/// Maps timestamps of a network source to the stream's clock, with one offset for audio and video.
///
/// Live sources: the sample with the lowest network latency defines the offset, so that its capture time is its arrival. A burst at
/// the start, as from a server that first sends the last seconds, moves the offset with each frame, so that no latency remains.
/// A source clock that runs slower is followed by at most 5 ms per 10 s.
///
/// Buffered sources (segments, files): the offset is set once, ``bufferDelay`` ahead of the arrival.
///
/// A jump of the source's timestamps sets a new offset. Mapped timestamps always increase.
package struct SourceTimeline {
  /// Arrival of samples relative to their capture.
  enum Pace: Hashable {
    /// Samples arrive right after their capture.
    case live
    /// Samples arrive in bursts, and are buffered until their presentation.
    case buffered
  }

  /// Timestamps of a sample on the stream's clock.
  package struct Times: Hashable {
    package var decode: MediaTime
    package var presentation: MediaTime

    /// Creates the timestamps of a sample.
    package init(decode: MediaTime, presentation: MediaTime) {
      self.decode = decode
      self.presentation = presentation
    }
  }

  /// Playout delay of buffered sources, which absorbs a late burst.
  static let bufferDelay = MediaDuration.milliseconds(500)
  /// Maximum latency of a live sample; a later one sets a new offset: the source's clock was set back, or the network stalled.
  static let maximumLatency = MediaDuration.seconds(3)
  /// Maximum distance of two samples of a track; a larger one is a jump of the source's timestamps.
  static let maximumStep = MediaDuration.seconds(5)
  /// Minimum distance of two samples of a track: more than one tick of every protocol's clock.
  static let minimumStep = MediaDuration.microseconds(100)
  /// Maximum offset of presentation after decode time.
  static let maximumReordering = MediaDuration.seconds(2)
  /// Interval over which the minimum latency is measured, and the maximum correction per interval.
  static let driftSpan = MediaDuration.seconds(10)
  static let driftStep = MediaDuration.milliseconds(5)

  private var pace = Pace.live
  /// Added to the source's timestamps; nil before the first sample.
  private var offset: MediaDuration?
  private var lastSource: [MediaKind: Int64] = [:]
  private var lastTimes: [MediaKind: MediaTime] = [:]
  /// Minimum latency since a time.
  private var latency: (minimum: MediaDuration, since: MediaTime)?

  /// Resets the mapping for a new connection; mapped timestamps continue to increase.
  mutating func restart(_ pace: Pace) {
    self.pace = pace
    self.offset = nil
    self.lastSource = [:]
    self.latency = nil
  }

  /// Maps the timestamps of the next sample of a track.
  ///
  /// - Parameters:
  ///   - decode: Decode time on the source's clock, in nanoseconds; nil when unknown.
  ///   - presentation: Presentation time, likewise.
  ///   - arrival: Arrival time on the stream's clock.
  mutating func map(_ kind: MediaKind, decode: Int64?, presentation: Int64?, arrival: MediaTime) -> Times {
    let earliest = self.lastTimes[kind].map { $0 + Self.minimumStep }
    var time = arrival
    if let source = decode ?? presentation {
      time = self.map(kind, source, arrival: arrival)
      self.lastSource[kind] = source
    }
    if let earliest { time = max(time, earliest) }
    self.lastTimes[kind] = time
    var reordering = MediaDuration.zero
    if let decode, let presentation {
      reordering = MediaTime(nanoseconds: presentation) - MediaTime(nanoseconds: decode)
    }
    return Times(decode: time, presentation: time + min(max(reordering, .zero), Self.maximumReordering))
  }

  /// Accepts the time of a sample that is on the stream's clock already; only the order of a track's samples is
  /// ensured.
  package mutating func accept(_ kind: MediaKind, at time: MediaTime) -> Times {
    let time = self.lastTimes[kind].map { max(time, $0 + Self.minimumStep) } ?? time
    self.lastTimes[kind] = time
    return Times(decode: time, presentation: time)
  }

  private mutating func map(_ kind: MediaKind, _ source: Int64, arrival: MediaTime) -> MediaTime {
    let source = MediaTime(nanoseconds: source)
    guard let offset else {
      return self.rebase(source, to: self.pace == .live ? arrival : arrival + Self.bufferDelay)
    }
    let time = source + offset
    switch self.pace {
    case .live:
      let isBack = self.lastSource[kind].map { source.nanoseconds < $0 } ?? false
      let late = arrival - time
      if late < .zero || late > Self.maximumLatency || isBack { return self.rebase(source, to: arrival) }
      self.follow(late, at: arrival)
      return time
    case .buffered:
      let isJump =
        self.lastTimes[kind].map { time + .milliseconds(500) < $0 || time - $0 > Self.maximumStep }
        ?? (time - arrival > Self.maximumStep)
      if isJump {
        return self.rebase(source, to: max(self.lastTimes[kind].map { $0 + .milliseconds(20) } ?? arrival, arrival))
      }
      // The buffer has run empty: the playout delay is restored.
      return arrival - time > Self.bufferDelay ? self.rebase(source, to: arrival + Self.bufferDelay) : time
    }
  }

  private mutating func rebase(_ source: MediaTime, to time: MediaTime) -> MediaTime {
    self.offset = time - source
    self.latency = nil
    return time
  }

  private mutating func follow(_ late: MediaDuration, at arrival: MediaTime) {
    let (minimum, since) = self.latency ?? (late, arrival)
    self.latency = (min(minimum, late), since)
    guard arrival - since >= Self.driftSpan else { return }
    self.offset = self.offset.map { $0 + min(minimum, late, Self.driftStep) }
    self.latency = nil
  }
}
