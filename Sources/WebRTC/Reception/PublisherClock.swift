package import Media
package import RTP

/// Maps the RTP timestamps of a publisher's tracks to the stream's clock. Pure: times are arguments.
///
/// ```
/// RTP timestamp ──sender reports──▶ publisher's wall clock ─minimum transit of the last 10 s─▶ stream's clock
/// RTP timestamp ──────────── without them: minimum transit of the track ─────────────────────▶ stream's clock
/// ```
///
/// The second step is one for all tracks, so that audio and video keep the offset that they were captured with. The minimum transit of a
/// window follows the drift of the publisher's clock, and not the jitter of the path. A changed offset is applied slowly, so that mapped
/// times never go back while timestamps go on.
package struct PublisherClock: Sendable {
  /// Minimum of the values of the last ten seconds.
  private struct WindowedMinimum {
    private var buckets: [(index: Int64, value: Int64)] = []
    /// Duration of a bucket, and number of those that count.
    private static let bucketDuration: Int64 = 1_000_000_000
    private static let bucketCount: Int64 = 10

    var value: Int64? { self.buckets.map(\.value).min() }

    mutating func insert(_ value: Int64, at now: MediaTime) {
      let index = now.nanoseconds / Self.bucketDuration
      self.buckets.removeAll { $0.index <= index - Self.bucketCount }
      if let last = self.buckets.indices.last, self.buckets[last].index == index {
        self.buckets[last].value = min(self.buckets[last].value, value)
      } else {
        self.buckets.append((index, value))
      }
    }
  }

  private struct Track {
    /// Arrival minus RTP time.
    var transit = WindowedMinimum()
    /// Publisher's wall clock minus RTP time; nil before a sender report.
    var wallClock: Int64?
    /// Mapped time minus RTP time as applied, when it was last changed, and for which RTP time.
    var applied: (offset: Int64, time: MediaTime, nominal: MediaTime)?
    /// Number of reports in a row that contradict the arrivals.
    var contradictions = 0
  }

  /// Maximum distance of a mapped time from the arrival, and of a report from the arrivals.
  package static let maximumDeviation = MediaDuration.seconds(2)
  /// Number of contradicting reports after which the publisher's clock counts as set again.
  private static let maximumContradictions = 2
  /// Weight of a new report in the mapping to the wall clock: 1 / 4.
  private static let reportWeight: Int64 = 4
  /// Change of the applied offset, in parts of elapsed time: 1 / 10 for large differences, 1 / 100 for small ones.
  private static let fastDivisor: Int64 = 10
  private static let slowDivisor: Int64 = 100
  /// Difference from which an offset changes fast.
  private static let largeDifference = MediaDuration.milliseconds(20)

  private var tracks: [Int: Track] = [:]
  /// Arrival minus publisher's wall clock, of all tracks with reports.
  private var wallTransit = WindowedMinimum()

  /// A clock before the first packet.
  package init() {}

  /// Records the arrival of a packet that was not retransmitted.
  ///
  /// - Parameters:
  ///   - ticks: The RTP timestamp, extended to 64 bits.
  ///   - track: Index of the track.
  ///   - clockRate: Ticks per second of the track.
  ///   - arrival: Time of the packet's arrival.
  package mutating func handleArrival(ticks: Int64, track: Int, clockRate: Int32, arrival: MediaTime) {
    let nominal = MediaTime(ticks: ticks, timescale: clockRate)
    let transit = (arrival - nominal).nanoseconds
    var state = self.tracks[track] ?? Track()
    if let known = state.transit.value, Self.isImplausible(transit.subtractingReportingOverflow(known).partialValue) {
      // The timestamps have jumped: a new timeline.
      state = Track()
    }
    state.transit.insert(transit, at: arrival)
    self.tracks[track] = state
    if let wallClock = state.wallClock { self.wallTransit.insert(transit &- wallClock, at: arrival) }
  }

  /// Records the pair of times of a sender report; a report that contradicts the arrivals is left out, as are those
  /// without a time.
  ///
  /// - Parameter ticks: Its RTP timestamp, extended to 64 bits.
  package mutating func handle(
    _ report: RTCPSenderReport, ticks: Int64, track: Int, clockRate: Int32, at now: MediaTime
  ) {
    guard report.ntpTimestamp.rawValue != 0, var state = self.tracks[track], let transit = state.transit.value else {
      return
    }
    let nominal = MediaTime(ticks: ticks, timescale: clockRate).nanoseconds
    let wallClock = report.ntpTimestamp.unixNanoseconds.subtractingReportingOverflow(nominal).partialValue
    if let wallTransit = self.wallTransit.value,
      Self.isImplausible(wallClock.addingReportingOverflow(wallTransit).partialValue &- transit)
    {
      state.contradictions += 1
      self.tracks[track] = state
      guard state.contradictions >= Self.maximumContradictions else { return }
      // The publisher's clock was set: all earlier reports are of another time.
      self.wallTransit = WindowedMinimum()
      for index in self.tracks.keys { self.tracks[index]?.wallClock = nil }
      state.wallClock = nil
    }
    state.contradictions = 0
    if let known = state.wallClock, !Self.isLarge(wallClock &- known) {
      state.wallClock = known &+ (wallClock &- known) / Self.reportWeight
    } else {
      state.wallClock = wallClock
    }
    self.tracks[track] = state
    if self.wallTransit.value == nil { self.wallTransit.insert(transit &- wallClock, at: now) }
  }

  /// The time of a timestamp whose packets have arrived.
  package mutating func time(of ticks: Int64, track: Int, clockRate: Int32, at now: MediaTime) -> MediaTime {
    let nominal = MediaTime(ticks: ticks, timescale: clockRate)
    guard var state = self.tracks[track], let transit = state.transit.value else { return now }
    var target = transit
    if let wallClock = state.wallClock, let wallTransit = self.wallTransit.value {
      target = wallClock &+ wallTransit
    }
    var offset = target
    if let (applied, last, before) = state.applied, !Self.isImplausible(target &- applied) {
      let elapsed = max(now - last, .zero).nanoseconds
      let difference = target &- applied
      let step = elapsed / (Self.isLarge(difference) ? Self.fastDivisor : Self.slowDivisor)
      // Frames that come at once are not moved before each other.
      let backward = min(step, max(nominal - before, .zero).nanoseconds / 2)
      offset = applied &+ min(max(difference, -backward), step)
    }
    state.applied = (offset, now, nominal)
    self.tracks[track] = state
    return nominal + MediaDuration(nanoseconds: offset)
  }

  private static func isImplausible(_ difference: Int64) -> Bool {
    difference.magnitude > Self.maximumDeviation.nanoseconds.magnitude
  }

  private static func isLarge(_ difference: Int64) -> Bool {
    difference.magnitude > Self.largeDifference.nanoseconds.magnitude
  }
}
