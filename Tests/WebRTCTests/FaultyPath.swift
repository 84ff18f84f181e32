import Media
import NIOCore
import TestSupport

/// Datagrams between a client and a server, in virtual time: the same numbers for the same seed.
struct FaultyPath {
  /// Faults of a path.
  struct Faults {
    /// Share of datagrams that are lost, in each direction, between two times in seconds.
    var loss = 0.0
    var lossTimes = 0.0...Double.infinity
    /// Delay of each direction, and maximum further delay.
    var delay = MediaDuration.zero
    var jitter = MediaDuration.zero
    /// Share of datagrams that arrive 5 to 20 ms later than others, or twice.
    var disorder = 0.0
  }

  /// A datagram on its way.
  struct Scheduled {
    var time: MediaTime
    fileprivate var order: Int
    var datagram: ByteBuffer
    var isToServer: Bool
  }

  let faults: Faults
  private var scheduled: [Scheduled] = []
  private var order = 0
  private var numbers: SplitMix

  init(_ faults: Faults, seed: UInt64) {
    self.faults = faults
    self.numbers = SplitMix(seed: seed)
  }

  /// Time at which the next datagram arrives.
  var nextTime: MediaTime? { self.scheduled.map(\.time).min() }

  /// Whether the next datagram is lost; to be asked once for each.
  mutating func loses(at now: MediaTime) -> Bool {
    self.faults.lossTimes.contains(now.seconds) && self.chance(self.faults.loss)
  }

  /// Sends a datagram that was not lost.
  mutating func send(_ datagram: ByteBuffer, isToServer: Bool, leaving start: MediaTime) {
    var time = start + self.faults.delay
    if self.faults.jitter > .zero {
      time += MediaDuration(nanoseconds: Int64.random(in: 0...self.faults.jitter.nanoseconds, using: &self.numbers))
    }
    if self.chance(self.faults.disorder) { time += .milliseconds(Int64.random(in: 5...20, using: &self.numbers)) }
    for copy in 0...(self.chance(self.faults.disorder) ? 1 : 0) {
      self.order += 1
      self.scheduled.append(
        Scheduled(
          time: time + .milliseconds(Int64(copy)), order: self.order, datagram: datagram, isToServer: isToServer))
    }
  }

  /// Removes and returns what has arrived.
  mutating func arrived(at now: MediaTime) -> [Scheduled] {
    defer { self.scheduled.removeAll { $0.time <= now } }
    return self.scheduled.filter { $0.time <= now }.sorted { ($0.time, $0.order) < ($1.time, $1.order) }
  }

  private mutating func chance(_ share: Double) -> Bool {
    share > 0 && Double.random(in: 0..<1, using: &self.numbers) < share
  }
}
