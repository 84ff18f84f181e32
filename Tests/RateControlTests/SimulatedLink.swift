import Media
import TestSupport

/// A link in virtual time: a queue in front of a rate that varies, with delay, and with bursts of loss during which
/// nothing arrives, as TCP's retransmissions make of them.
struct SimulatedLink {
  /// How the rate varies.
  enum Shape: CaseIterable {
    /// Always the same.
    case constant
    /// Half the rate from a third of the time to two thirds.
    case halved
    /// Between 60% and 140%, another rate every five seconds.
    case wandering
    /// Constant, with bursts of loss of 100 to 600 ms, one in ten seconds.
    case bursts
  }

  let shape: Shape
  /// Bits per second.
  let rate: Int
  let delay: MediaDuration
  let end: MediaTime
  private var numbers: SeededNumbers
  private var factor = 1.0
  private var nextFactor = MediaTime.zero
  private var nextBurst: MediaTime
  private var burstEnd = MediaTime.zero
  /// Bytes that wait, with the times at which they came.
  private var queue: [(time: MediaTime, byteCount: Double)] = []
  private var credit = 0.0
  private(set) var sentByteCount = 0.0
  private(set) var droppedByteCount = 0.0

  init(shape: Shape, rate: Int, end: MediaTime, seed: UInt64) {
    self.shape = shape
    self.rate = rate
    self.end = end
    self.numbers = SeededNumbers(seed: seed)
    self.delay = .milliseconds(Int64.random(in: 5...150, using: &self.numbers))
    self.nextBurst = MediaTime(nanoseconds: 0) + .seconds(Int64.random(in: 5...15, using: &self.numbers))
  }

  /// Bits per second that the link carries now, without bursts.
  mutating func capacity(at now: MediaTime) -> Double {
    switch self.shape {
    case .constant, .bursts: break
    case .halved:
      let share = now.seconds / self.end.seconds
      self.factor = share > 1.0 / 3 && share < 2.0 / 3 ? 0.5 : 1
    case .wandering:
      if now >= self.nextFactor {
        self.factor = Double.random(in: 0.6...1.4, using: &self.numbers)
        self.nextFactor = now + .seconds(5)
      }
    }
    return Double(self.rate) * self.factor
  }

  mutating func enqueue(byteCount: Int, at now: MediaTime) {
    self.queue.append((now, Double(byteCount)))
  }

  /// Sends for a time; what is older than `limit` is dropped, as a push's queue does.
  mutating func advance(to now: MediaTime, by span: MediaDuration, limit: MediaDuration = .seconds(2)) {
    let capacity = self.capacity(at: now)
    if self.shape == .bursts, now >= self.nextBurst {
      self.burstEnd = now + .milliseconds(Int64.random(in: 100...600, using: &self.numbers))
      self.nextBurst = now + .seconds(Int64.random(in: 5...15, using: &self.numbers))
    }
    guard now >= self.burstEnd else { return }
    // An idle link does not save its rate for later.
    self.credit = (self.queue.isEmpty ? 0 : self.credit) + capacity / 8 * span.seconds
    while let first = self.queue.first, self.credit > 0 {
      let count = min(first.byteCount, self.credit)
      self.credit -= count
      self.sentByteCount += count
      if count < first.byteCount { self.queue[0].byteCount -= count } else { self.queue.removeFirst() }
    }
    while let first = self.queue.first, now - first.time > limit {
      self.droppedByteCount += first.byteCount
      self.queue.removeFirst()
    }
  }

  func oldestAge(at now: MediaTime) -> MediaDuration {
    self.queue.first.map { now - $0.time } ?? .zero
  }
}
