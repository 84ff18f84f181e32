internal import Media

/// Drift of a video clock against the audio clock of the same source, by the arrival of packets. Pure.
///
/// Cameras over RTSP whose tracks have clocks of their own send reports about both (RFC 3550 §6.4.1). Of one that sends none, the arrival
/// is all that the tracks have in common: the difference of their lowest latencies, which is that of their clocks, the encoders and the
/// network. Clocks make it grow evenly, in minutes as in days: the video follows that, slowly and without steps. Encoders and networks make
/// it step, and mostly back again, as with motion on a slow link: that is no drift.
struct TrackDrift {
  /// Change of the difference over a number of spans, in nanoseconds.
  private struct Step {
    var change: Int64
    var spanCount: Int64
  }

  /// Lowest latencies in the current span, in nanoseconds.
  private var latencies: [MediaKind: Int64] = [:]
  /// End of the current span; nil before the first packet.
  private var spanEnd: MediaTime?
  /// Whether packets of the opening, which waited, have passed.
  private var hasStarted = false
  /// Whether the source has sent a report.
  private var hasEnded = false
  /// The last difference, and the end of its span; nil before the first one.
  private var last: (difference: Int64, at: MediaTime)?
  /// Changes in a span, of the last minutes, the median of which is the drift's.
  private var slopes: [Int64] = []
  /// Steps that were not judged yet.
  private var steps: [Step] = []
  /// Drift of the clocks from the start, in nanoseconds.
  private var drift: Int64 = 0
  /// Sum of the steps that are no drift, in nanoseconds, and number of the spans since the last of them.
  private var latency: (change: Int64, steadyCount: Int) = (0, 0)
  /// Added to the times of the video, in nanoseconds, and the value that it approaches.
  private var shift: Int64 = 0
  private var target: Int64 = 0
  /// Arrival of the last packet of video.
  private var lastVideo: MediaTime?

  private static let span = MediaDuration.seconds(20)
  /// Number of spans by which the drift in a span is known, and number of those that are regarded.
  private static let slopeCounts = (minimum: 6, maximum: 15)
  /// Maximum drift in a span, in nanoseconds: 1,200 millionths.
  private static let maximumSlope: Int64 = 24_000_000
  /// Deviation of a step from the drift in a span, in nanoseconds: networks vary.
  private static let stepTolerance: Int64 = 4_000_000
  /// Number of spans after which a latency that has changed is the usual one.
  private static let steadyCount = 30
  /// Drift that cannot be perceived, in nanoseconds.
  private static let tolerance: Int64 = 10_000_000
  /// Larger steps are jumps of a clock, in nanoseconds.
  private static let maximumStep: Int64 = 500_000_000
  /// Divisor of the time in which the shift changes: 10 ms in 5 s.
  private static let pace: Int64 = 500
  /// Time in which it changes between two packets: a pause of the video is no reason for a step.
  private static let maximumPause = MediaDuration.seconds(5)

  /// Time to be added to those of the next packet of a track, in nanoseconds; 0 for audio.
  ///
  /// - Parameters:
  ///   - time: Its time on the source's clock, in nanoseconds.
  ///   - arrival: Time of its arrival.
  mutating func shift(of kind: MediaKind, at time: Int64, arrival: MediaTime) -> Int64 {
    if kind == .video { self.advance(to: arrival) }
    if !self.hasEnded {
      let latency = arrival.nanoseconds &- time
      self.latencies[kind] = min(latency, self.latencies[kind] ?? latency)
      let end = self.spanEnd ?? arrival + Self.span
      self.spanEnd = end
      if arrival >= end { self.endSpan(at: arrival) }
    }
    return kind == .video ? self.shift : 0
  }

  /// Ends the measurement: the source has sent a report, by which its times are corrected. The shift fades away.
  mutating func end() {
    (self.hasEnded, self.target) = (true, 0)
  }

  private mutating func advance(to now: MediaTime) {
    defer { self.lastVideo = now }
    guard let lastVideo, now > lastVideo else { return }
    let maximum = min(now - lastVideo, Self.maximumPause).nanoseconds / Self.pace
    self.shift += min(max(self.target - self.shift, -maximum), maximum)
  }

  private mutating func endSpan(at now: MediaTime) {
    self.spanEnd = now + Self.span
    defer { (self.latencies, self.hasStarted) = ([:], true) }
    guard self.hasStarted, let video = self.latencies[.video], let audio = self.latencies[.audio] else { return }
    let difference = video &- audio
    defer { self.last = (difference, now) }
    guard let previous = self.last else { return }
    let change = difference &- previous.difference
    guard (-Self.maximumStep...Self.maximumStep).contains(change) else { return }
    let length = Self.span.nanoseconds
    let step = Step(change: change, spanCount: max(1, ((now - previous.at).nanoseconds + length / 2) / length))
    self.steps.append(step)
    self.slopes.append(step.change / step.spanCount)
    if self.slopes.count > Self.slopeCounts.maximum { self.slopes.removeFirst() }
    guard self.slopes.count >= Self.slopeCounts.minimum else { return }
    self.follow(self.slopes.sorted()[self.slopes.count / 2])
  }

  /// Adds the steps to the drift, or what the clocks have of them.
  ///
  /// - Parameter slope: Drift in a span.
  private mutating func follow(_ slope: Int64) {
    let steps = self.steps
    self.steps = []
    guard (-Self.maximumSlope...Self.maximumSlope).contains(slope) else { return }
    for step in steps {
      let expected = slope * step.spanCount
      if abs(step.change - expected) <= Self.stepTolerance {
        self.drift += step.change
        self.latency.steadyCount += 1
      } else {
        self.drift += expected
        self.latency = (self.latency.change + step.change - expected, 0)
      }
      if abs(self.latency.change) <= 2 * Self.stepTolerance {
        // The latency is the usual one again.
        self.drift += self.latency.change
        self.latency.change = 0
      } else if self.latency.steadyCount >= Self.steadyCount {
        self.latency.change = 0
      }
    }
    self.target = min(max(self.target, self.drift - Self.tolerance), self.drift + Self.tolerance)
  }
}
