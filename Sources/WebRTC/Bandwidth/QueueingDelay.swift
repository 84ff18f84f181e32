internal import Media

/// The delay of packets in the queues of the path, beyond what the sender's own bursts explain.
///
/// The one-way delay of a packet (arrival minus sending, on clocks with an unknown offset) is that of the empty path plus the
/// queue. The minimum of the last 10 to 20 s stands for the empty path, as in RFC 8698 §4.2. A keyframe fills the queue for a
/// moment without exceeding what the path carries: the sender's backlog, if the path carried the estimated bitrate and no
/// more, is subtracted. The rest grows as soon as the path carries less than was estimated, and only then.
struct QueueingDelay: Sendable {
  /// Time after which the minimum is forgotten: one period at least, two at most.
  private static let period = MediaDuration.seconds(10)
  /// Time whose minimum delay counts, one span at least, two at most: a queue delays every packet of it, jitter does not.
  private static let span = MediaDuration.milliseconds(40)
  /// Maximum delay that the sender's backlog explains.
  private static let maximumExplained = 0.15

  /// Minimum delay of a span, in seconds.
  private struct SpanMinimum {
    var excess = Double.infinity
    var total = Double.infinity

    mutating func add(_ other: SpanMinimum) {
      self.excess = min(self.excess, other.excess)
      self.total = min(self.total, other.total)
    }
  }

  /// Minimum one-way delay in nanoseconds, of the current period and of the previous one.
  private var minimums: (current: Int64, previous: Int64) = (.max, .max)
  private var periodStart: MediaTime?
  private var current = SpanMinimum()
  private var previous = SpanMinimum()
  private var spanStart: MediaTime?
  /// Bytes that wait if the path carries the estimated bitrate.
  private var backlog = 0.0
  private var lastSent: MediaTime?

  /// Standing delay that our bursts do not explain, in seconds; nil before the first packet.
  var excess: Double? { self.value(min(self.current.excess, self.previous.excess)) }

  /// Standing delay in the queues, in seconds; nil before the first packet.
  var total: Double? { self.value(min(self.current.total, self.previous.total)) }

  private func value(_ seconds: Double) -> Double? { seconds == .infinity ? nil : seconds }

  /// Adds a packet, in the order of sending.
  ///
  /// - Parameters:
  ///   - arrival: On the client's clock; nil for a lost packet, which counts for the backlog only.
  ///   - bitrate: The estimate in bits per second, above 0.
  mutating func add(byteCount: Int, sent: MediaTime, arrival: MediaTime?, bitrate: Double) {
    let drained = bitrate / 8 * (self.lastSent.map { (sent - $0).seconds } ?? 0)
    self.backlog = min(max(0, self.backlog - drained) + Double(byteCount), bitrate / 8 * Self.maximumExplained)
    self.lastSent = sent
    guard let arrival else { return }

    let delay = (arrival - sent).nanoseconds
    if let start = self.periodStart, sent - start < Self.period {
      self.minimums.current = min(self.minimums.current, delay)
    } else {
      self.minimums = (delay, self.minimums.current)
      self.periodStart = sent
    }
    let total = Double(delay - min(self.minimums.current, self.minimums.previous)) / 1e9
    // A clock that was set back, or a reordered packet, stays in the span.
    if let start = self.spanStart, (arrival - start).nanoseconds < Self.span.nanoseconds {
    } else {
      self.previous = self.current
      self.current = SpanMinimum()
      self.spanStart = arrival
    }
    self.current.add(SpanMinimum(excess: total - self.backlog * 8 / bitrate, total: total))
  }

  /// Assumes the current delay to be that of the empty path: the client's clock was set, the route changed, or others
  /// fill the queue and do not give way.
  mutating func rebase() {
    self.minimums = (.max, .max)
    self.periodStart = nil
    self.current = SpanMinimum()
    self.previous = SpanMinimum()
    self.spanStart = nil
  }
}
