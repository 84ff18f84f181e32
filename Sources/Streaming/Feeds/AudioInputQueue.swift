internal import Capture
internal import Media
internal import Threading

/// The bounded queue between the source of the sound and the pipeline.
///
/// Drop rule: when a second of sound waits, what comes next is dropped, counted and reported; the pipeline fills the
/// gap with silence, so that the sound stays in step.
final class AudioInputQueue: SourceInputQueue {
  /// What the pipeline wakes up for.
  enum Event {
    case sound(SourceSound)
    case ended(VidiconError?)
    case closed
  }

  private struct State {
    var seat = SourceSlot<AudioFeed>()
    var queue: [SourceSound] = []
    var queued = MediaDuration.zero
    var ending: VidiconError??
    var dropped = 0

    mutating func append(_ sound: SourceSound) {
      self.queued = self.queued + sound.block.duration
      self.queue.append(sound)
    }
  }

  private static let capacity = MediaDuration.seconds(1)
  private let state = Monitor(State())

  /// Takes a block over, or says why not.
  func consume(_ sound: SourceSound) -> FrameDrop.Reason? {
    self.state.withLock { state in
      switch state.seat.role(of: sound.feed) {
      case .present:
        guard state.queued < Self.capacity else { break }
        state.append(sound)
        return nil
      case .waiting:
        guard Self.duration(of: state.seat.waitingItems) < Self.capacity else { break }
        state.seat.waitingItems.append(sound)
        return nil
      case .dismissed:
        state.dropped += 1
        return .stopped
      }
      state.dropped += 1
      return .late
    }
  }

  /// Told that a source has ended.
  func end(_ feed: AudioFeed, _ error: VidiconError?) {
    self.state.withLock { state in
      switch state.seat.role(of: feed) {
      case .present: state.ending = .some(error)
      case .waiting: state.seat.waitingEnding = .some(error)
      case .dismissed: break
      }
    }
  }

  func close() {
    self.state.withLock { state in
      state.seat.close()
      state.queue = []
      state.queued = .zero
    }
  }

  /// The next event, or nil when none came before the deadline.
  func next(until deadline: MediaTime) -> Event? {
    self.state.take(until: deadline) { state in
      if state.seat.isClosed { return .closed }
      if !state.queue.isEmpty {
        let sound = state.queue.removeFirst()
        state.queued = state.queued - sound.block.duration
        return .sound(sound)
      }
      if let ending = state.ending.take() { return .ended(ending) }
      return nil
    }
  }

  /// Blocks handed over and not used, and those that wait, with their length.
  var counts: (dropped: Int, blocks: Int, queued: MediaDuration) {
    self.state.withLock { ($0.dropped, $0.queue.count, $0.queued) }
  }

  private static func duration(of sounds: [SourceSound]) -> MediaDuration {
    sounds.reduce(.zero) { $0 + $1.block.duration }
  }
}

// MARK: Switching

extension AudioInputQueue {
  func withSlot<Result>(_ body: (inout SourceSlot<AudioFeed>) -> Result) -> Result {
    self.state.withLock { body(&$0.seat) }
  }

  func waitForSlot<Result>(until deadline: MediaTime, _ body: (inout SourceSlot<AudioFeed>) -> Result?) -> Result? {
    self.state.take(until: deadline) { body(&$0.seat) }
  }

  /// What the present source has handed over until now is still used; where the two overlap, the earlier one is.
  func cut(to feed: AudioFeed) -> Bool {
    self.state.withLock { state in
      guard let (sounds, ending) = state.seat.promote(feed) else { return false }
      for sound in sounds { state.append(sound) }
      state.ending = ending
      return true
    }
  }
}
