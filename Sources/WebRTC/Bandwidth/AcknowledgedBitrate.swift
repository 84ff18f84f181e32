internal import Media

/// The bitrate that arrives at a client, by the client's clock: bytes in intervals of 25 ms over the last second.
struct AcknowledgedBitrate: Sendable {
  private static let interval = MediaDuration.milliseconds(25)
  private static let intervalCount: Int64 = 40
  /// Number of intervals below which a rate says little.
  private static let minimumCount: Int64 = 4

  /// Bytes by the number of their interval, modulo ``intervalCount``.
  private var byteCounts = [Int](repeating: 0, count: Int(Self.intervalCount))
  /// First and last interval since the start, or since the client's clock was set.
  private var intervals: ClosedRange<Int64>?

  /// Adds a packet that arrived. A packet whose arrival is a second or more from the last one starts a new measurement: none
  /// arrived for as long, or the client's clock was set.
  mutating func add(byteCount: Int, arrival: MediaTime) {
    let number = arrival.nanoseconds / Self.interval.nanoseconds
    if let intervals, abs(number - intervals.upperBound) < Self.intervalCount {
      if number > intervals.upperBound {
        for empty in intervals.upperBound + 1...number { self.byteCounts[Self.index(of: empty)] = 0 }
        self.intervals = intervals.lowerBound...number
      } else if number < intervals.lowerBound {
        return
      }
    } else {
      for index in self.byteCounts.indices { self.byteCounts[index] = 0 }
      self.intervals = number...number
    }
    self.byteCounts[Self.index(of: number)] += byteCount
  }

  /// Bits per second over the last complete intervals; nil while fewer than 100 ms are known.
  ///
  /// - Parameter span: At most one second counts.
  func bitrate(over span: MediaDuration) -> Double? {
    guard let intervals else { return nil }
    let known = intervals.upperBound - intervals.lowerBound
    let count = min(max(span.nanoseconds / Self.interval.nanoseconds, Self.minimumCount), known, Self.intervalCount - 1)
    guard count >= Self.minimumCount else { return nil }
    var sum = 0
    for number in intervals.upperBound - count..<intervals.upperBound { sum += self.byteCounts[Self.index(of: number)] }
    return Double(sum) * 8 / (Double(count) * Self.interval.seconds)
  }

  private static func index(of number: Int64) -> Int {
    let rest = number % Self.intervalCount
    return Int(rest < 0 ? rest + Self.intervalCount : rest)
  }
}
