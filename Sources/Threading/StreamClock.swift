internal import Libc
public import Media
internal import Synchronization

/// The monotonic clock of every timestamp, and its mapping to wall-clock time.
///
/// Reads `CLOCK_MONOTONIC`, so timestamps never jump. The offset to `CLOCK_REALTIME` is shared by the process, so that
/// playlists and recordings agree, and is read again each second that it is used: wall-clock times follow when the machine's
/// clock is set or the machine wakes up. RTCP sender reports of a stream use the offset of its start, since players measure with
/// their differences.
///
/// Capturers read it at each frame, on their threads; everything with a deadline reads it where it waits:
///
/// ```swift
/// let time = StreamClock.system.now()                     // the timestamp of a frame
/// let unixTime = StreamClock.system.unixTime(at: time)    // in nanoseconds since 1970
/// ```
public struct StreamClock: Sendable {
  /// The clock that all sources and streams of this process share.
  public static let system = StreamClock()

  private let wall = WallOffset()

  private init() {}

  /// Returns the current time in nanoseconds; never goes back.
  public func now() -> MediaTime {
    MediaTime(nanoseconds: Self.read(CLOCK_MONOTONIC))
  }

  /// Converts a time of this clock to wall-clock time, in nanoseconds since 1970-01-01 00:00 UTC, by the current offset.
  public func unixTime(at time: MediaTime) -> Int64 {
    self.wall.unixTimeAtZero &+ time.nanoseconds
  }

  /// Converts wall-clock time, in nanoseconds since 1970-01-01 00:00 UTC, to a time of this clock, by the current offset.
  public func mediaTime(atUnixTime nanoseconds: Int64) -> MediaTime {
    MediaTime(nanoseconds: nanoseconds &- self.wall.unixTimeAtZero)
  }

  /// Number of steps of the wall clock that were noticed since the start of the process.
  public var stepCount: Int {
    _ = self.wall.unixTimeAtZero
    return self.wall.stepCount
  }

  fileprivate static func read(_ clock: clockid_t) -> Int64 {
    var time = timespec()
    clock_gettime(clock, &time)
    return Int64(time.tv_sec) * 1_000_000_000 + Int64(time.tv_nsec)
  }
}

/// The offset of the wall clock, measured again when the last measurement is a second old. Reading takes no lock.
private final class WallOffset: Sendable {
  /// Maximum age of a measurement in nanoseconds.
  private static let interval: Int64 = 1_000_000_000

  private let offset: Atomic<Int64>
  private let steps = Atomic(0)
  /// Monotonic time of the next measurement, in nanoseconds.
  private let due: Atomic<Int64>
  private let state: Mutex<WallClockOffset>

  init() {
    let measured = Self.measure()
    self.offset = Atomic(measured)
    self.due = Atomic(StreamClock.read(CLOCK_MONOTONIC) + Self.interval)
    self.state = Mutex(WallClockOffset(unixTimeAtZero: measured))
  }

  /// Wall-clock time at ``MediaTime/zero``, in nanoseconds since 1970-01-01 00:00 UTC.
  var unixTimeAtZero: Int64 {
    let (now, due) = (StreamClock.read(CLOCK_MONOTONIC), self.due.load(ordering: .relaxed))
    if now >= due,
      self.due.compareExchange(expected: due, desired: now + Self.interval, ordering: .relaxed).exchanged
    {
      self.update()
    }
    return self.offset.load(ordering: .relaxed)
  }

  var stepCount: Int { self.steps.load(ordering: .relaxed) }

  private func update() {
    let measured = Self.measure()
    self.state.withLock { offset in
      offset.update(unixTimeAtZero: measured)
      self.offset.store(offset.unixTimeAtZero, ordering: .relaxed)
      self.steps.store(offset.stepCount, ordering: .relaxed)
    }
  }

  private static func measure() -> Int64 {
    let readings = (0..<3).map { _ in
      (
        before: StreamClock.read(CLOCK_MONOTONIC), wall: StreamClock.read(CLOCK_REALTIME),
        after: StreamClock.read(CLOCK_MONOTONIC)
      )
    }
    return WallClockOffset.best(of: readings)
  }
}
