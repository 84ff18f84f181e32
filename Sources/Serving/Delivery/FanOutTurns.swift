internal import Media
internal import NIOCore
internal import Synchronization

/// A group of viewers that sends what waits for it in turns.
protocol FanOutGroup: AnyObject {
  /// Sends some of what waits, on the event loop.
  ///
  /// - Returns: Whether deliveries are left.
  func sendTurn() -> Bool
}

/// Lets the viewer groups of one event loop, of all streams and protocols, send in turns, between which the loop serves its
/// sockets. Performs what ``TurnSchedule`` decides.
///
/// An event loop of NIO runs tasks until none is ready, also those that tasks have added, and looks at its sockets only then: a
/// backlog sent in one task, or by tasks that follow each other, would hold up every request and every new connection.
// Safe because all properties are used on the event loop only.
final class FanOutTurns: @unchecked Sendable {
  private let eventLoop: any EventLoop
  private var schedule = TurnSchedule<any FanOutGroup>()

  private struct Reference {
    weak var turns: FanOutTurns?
  }

  /// The turns of event loops with groups. An event loop is not released before its turns.
  private static let all = Mutex<[ObjectIdentifier: Reference]>([:])

  /// The turns of an event loop, the same for all of its groups; callable on any thread.
  static func shared(on eventLoop: any EventLoop) -> FanOutTurns {
    self.all.withLock { all in
      if let turns = all[ObjectIdentifier(eventLoop)]?.turns { return turns }
      all = all.filter { $0.value.turns != nil }
      let turns = FanOutTurns(eventLoop)
      all[ObjectIdentifier(eventLoop)] = Reference(turns: turns)
      return turns
    }
  }

  private init(_ eventLoop: any EventLoop) {
    self.eventLoop = eventLoop
  }

  private var now: MediaTime {
    MediaTime(nanoseconds: Int64(clamping: self.eventLoop.now.uptimeNanoseconds))
  }

  /// Lets a group send, now or after others; called on the event loop.
  func wakeUp(_ group: any FanOutGroup) {
    self.perform(self.schedule.wakeUp(group, at: self.now))
  }

  private func perform(_ step: TurnSchedule<any FanOutGroup>.Step) {
    var step = step
    while case .run(let group) = step {
      let start = self.now
      let hasMore = group.sendTurn()
      step = self.schedule.turnEnded(group, hasMore: hasMore, startedAt: start, at: self.now)
    }
    guard case .pause = step else { return }
    self.eventLoop.scheduleTask(in: .nanoseconds(TurnSchedule<any FanOutGroup>.pause.nanoseconds)) {
      if let group = self.schedule.pauseEnded() { self.perform(.run(group)) }
    }
  }
}
