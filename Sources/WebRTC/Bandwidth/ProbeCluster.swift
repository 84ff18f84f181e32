internal import Media

/// Packets that are sent faster than the estimate for a moment, to see whether they arrive as fast.
///
/// Media goes first; retransmissions or padding fill the rest. About 40 ms long: long enough that a radio link which delivers
/// packets in groups of 10 ms does not look faster than it is by much, short enough that a failed probe delays media by
/// as little.
package struct ProbeCluster: Hashable, Sendable {
  /// Number of the cluster among those of a client, from 1.
  package var id: UInt32
  /// Bits per second at which it is sent.
  package var bitrate: Int
  /// Bytes after which it ends.
  package var byteCount: Int

  static let duration = MediaDuration.milliseconds(40)
  static let minimumByteCount = 6 * 1200
  static let maximumByteCount = 48 * 1200
  /// Packets that must arrive for a measurement.
  static let minimumArrivals = 5

  init(id: UInt32, bitrate: Int) {
    self.id = id
    self.bitrate = bitrate
    self.byteCount = min(
      max(Int(Double(bitrate) / 8 * Self.duration.seconds), Self.minimumByteCount), Self.maximumByteCount)
  }
}

/// Packets of a probe cluster that have arrived.
struct ProbeMeasurement: Sendable {
  let cluster: ProbeCluster
  let started: MediaTime
  private var sent: ClosedRange<MediaTime>?
  private var arrival: ClosedRange<MediaTime>?
  private var byteCount = 0
  private var lastByteCount = 0
  private var firstByteCount = 0
  private var count = 0
  private(set) var lostCount = 0

  /// Result of a probe.
  struct Result: Hashable {
    /// Bits per second that arrived.
    var bitrate: Double
    /// Whether the path carried less than was sent.
    var isSaturated: Bool
  }

  init(_ cluster: ProbeCluster, at now: MediaTime) {
    self.cluster = cluster
    self.started = now
  }

  /// Adds a packet of the cluster.
  mutating func add(byteCount: Int, sent: MediaTime, arrival: MediaTime?) {
    guard let arrival else { return self.lostCount += 1 }
    self.count += 1
    self.byteCount += byteCount
    if sent <= self.sent?.lowerBound ?? sent { self.firstByteCount = byteCount }
    if sent >= self.sent?.upperBound ?? sent { self.lastByteCount = byteCount }
    self.sent = Self.extend(self.sent, by: sent)
    self.arrival = Self.extend(self.arrival, by: arrival)
  }

  private static func extend(_ range: ClosedRange<MediaTime>?, by time: MediaTime) -> ClosedRange<MediaTime> {
    guard let range else { return time...time }
    return min(range.lowerBound, time)...max(range.upperBound, time)
  }

  /// Number of bytes that are known to have arrived or to be lost.
  var isComplete: Bool {
    self.byteCount + self.lostCount * 1200 >= self.cluster.byteCount - 1200
  }

  /// The result; nil when too little arrived, or all at once.
  var result: Result? {
    guard let sent, let arrival, self.count >= ProbeCluster.minimumArrivals else { return nil }
    let sendSpan = (sent.upperBound - sent.lowerBound).seconds
    let arrivalSpan = (arrival.upperBound - arrival.lowerBound).seconds
    guard sendSpan > 0.005, arrivalSpan > 0.001 else { return nil }
    // The last packet ends the span of sending, the first one begins that of arrival: their bytes are outside.
    let sendBitrate = Double(self.byteCount - self.lastByteCount) * 8 / sendSpan
    let arrivalBitrate = Double(self.byteCount - self.firstByteCount) * 8 / arrivalSpan
    let isSaturated = arrivalBitrate < sendBitrate * 0.85
    return Result(bitrate: min(sendBitrate, arrivalBitrate), isSaturated: isSaturated)
  }
}
