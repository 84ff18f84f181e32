internal import Media

extension PushSender {
  /// The connection that a server has accepted.
  struct Connection {
    var start: MediaTime
    var isStarted = false
    /// Whether the configuration is to be sent before the next keyframe.
    var needsConfiguration = true
    /// Bytes passed to the connection, and those that have left it.
    var releasedByteCount: Int64 = 0
    var leftByteCount: Int64 = 0
    /// Samples that have not left: when each was enqueued and passed to the connection, and ``releasedByteCount`` behind it.
    var unsent: [(time: MediaTime, released: MediaTime, end: Int64)] = []
    /// Time that the last sample which has left took from then on, without the round trip.
    var lastTransit = MediaDuration.zero
    var lastProgress: MediaTime
    /// Minimum measured round-trip time; zero before the first measurement.
    var roundTripTime = MediaDuration.zero
    var lastMeasurement: MediaTime
    var nextCheck: MediaTime
    /// Bytes passed to the connection per second.
    var meter: PushMeter
    /// Nil where the bitrate does not follow the link.
    var rates: PushRates?
  }
}

extension PushSender.Connection {
  /// Follows what has left.
  mutating func measure(unsentByteCount: Int, roundTripTime: MediaDuration, at now: MediaTime) {
    if roundTripTime > .zero {
      // The system forgets its minimum after minutes; on a link that is always full, the delay of the queue would then count
      // as round-trip time.
      let known = self.roundTripTime > .zero ? self.roundTripTime : PushSender.maximumRoundTripTime
      self.roundTripTime = min(known, roundTripTime)
    }
    let left = max(self.leftByteCount, self.releasedByteCount - Int64(unsentByteCount))
    if left > self.leftByteCount || unsentByteCount == 0 { self.lastProgress = now }
    self.leftByteCount = left
    self.lastMeasurement = now
    self.rates?.measure(leftByteCount: left, roundTripTime: self.roundTripTime, at: now)
    let kept = self.unsent.firstIndex { $0.end > left } ?? self.unsent.count
    if kept > 0 {
      self.lastTransit = now - self.unsent[kept - 1].released - self.roundTripTime
      self.unsent.removeFirst(kept)
    }
  }

  /// Time that a sample passed to the connection now takes until it leaves, judged by the ones before it.
  func transit(at now: MediaTime) -> MediaDuration {
    let oldest = self.unsent.first.map { now - $0.released - self.roundTripTime } ?? .zero
    return min(max(.zero, self.lastTransit, oldest), PushSender.maximumTransit)
  }
}

/// The bitrate of what was passed to a connection during the last second. Pure: `now` is an argument.
struct PushMeter {
  /// Time over which bytes are counted.
  private static let interval = MediaDuration.seconds(1)

  /// Bits per second of the last whole interval; 0 before the first.
  private(set) var bitrate = 0
  private var start: MediaTime
  private var startByteCount: Int64 = 0

  init(at now: MediaTime) { self.start = now }

  /// Counts the bytes that were passed to the connection since it began; called several times a second.
  mutating func update(byteCount: Int64, at now: MediaTime) {
    let duration = now - self.start
    guard duration >= Self.interval else { return }
    self.bitrate = Int(Double(byteCount - self.startByteCount) * 8 / duration.seconds)
    (self.start, self.startByteCount) = (now, byteCount)
  }
}
