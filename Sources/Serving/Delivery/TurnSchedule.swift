package import Media

/// Decides which viewer group of an event loop sends next, and when the loop serves its sockets first. Pure: `now` is an
/// argument.
///
/// A group that wakes up sends at once, as long as the turns since the last pause have taken less than ``budget``. Otherwise,
/// and while groups wait, it waits for the next pause: a timer, for which an event loop looks at its sockets. A group that has
/// not sent everything in its turn waits behind the others.
package struct TurnSchedule<Member> {
  /// Next step of the event loop.
  package enum Step {
    /// The turn of a group.
    case run(Member)
    /// Call ``pauseEnded()`` after ``pause``.
    case pause
    /// No step: no group waits, or a pause is scheduled.
    case none
  }

  /// Time of turns after which the sockets are served before the next: that of 100 writes.
  package static var budget: MediaDuration { .milliseconds(1) }
  /// Time between two turns. The event loop needs some microseconds of it to find that no task is ready.
  package static var pause: MediaDuration { .microseconds(50) }
  /// Time without a turn after which the sockets have been served.
  package static var idleTime: MediaDuration { .milliseconds(1) }

  private var waiting: [Member] = []
  private var isPauseScheduled = false
  /// Time of the turns since the last pause.
  private var spent = MediaDuration.zero
  private var lastEnd: MediaTime?

  /// Creates a schedule without groups of viewers.
  package init() {}

  /// Number of groups that wait for their turn.
  package var waitingCount: Int { self.waiting.count }

  /// Decides whether a group with deliveries has its turn.
  package mutating func wakeUp(_ member: Member, at now: MediaTime) -> Step {
    if self.isPauseScheduled {
      self.waiting.append(member)
      return .none
    }
    if let lastEnd, now - lastEnd >= Self.idleTime { self.spent = .zero }
    guard self.spent >= Self.budget else { return .run(member) }
    self.waiting.append(member)
    return self.schedulePause()
  }

  /// Decides what follows a turn.
  ///
  /// - Parameters:
  ///   - hasMore: Whether the group has deliveries that it did not send.
  ///   - start: Time at which the turn began.
  package mutating func turnEnded(
    _ member: Member, hasMore: Bool, startedAt start: MediaTime, at now: MediaTime
  ) -> Step {
    self.spent = self.spent + (now - start)
    self.lastEnd = now
    if hasMore { self.waiting.append(member) }
    guard !self.waiting.isEmpty else { return .none }
    return hasMore || self.spent >= Self.budget ? self.schedulePause() : .run(self.waiting.removeFirst())
  }

  /// Returns the group that has its turn after a pause; nil when none waits.
  package mutating func pauseEnded() -> Member? {
    self.isPauseScheduled = false
    self.spent = .zero
    return self.waiting.isEmpty ? nil : self.waiting.removeFirst()
  }

  private mutating func schedulePause() -> Step {
    self.isPauseScheduled = true
    return .pause
  }
}
