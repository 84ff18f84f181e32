internal import Capture
internal import Media
internal import Threading

/// Bounded queue between the audio source and the pipeline.
///
/// Drop policy: while one second of audio waits, and has done so for a second, or six seconds wait, further blocks are dropped, counted
/// and reported; the pipeline fills the gap with silence, so that audio stays in sync. Blocks of a network source may come at once, as at
/// the start of a connection: that is no slow pipeline.
final class AudioInputQueue: SourceInputQueue {
  /// Events delivered to the pipeline thread.
  enum Event {
    case audio(SourceAudio)
    case ended(VidiconError?)
    case closed
  }

  private struct State {
    var slot = SourceSlot<AudioFeed>()
    var queue: [(audio: SourceAudio, arrival: MediaTime)] = []
    var queued = MediaDuration.zero
    var ending: VidiconError??
    var dropped = 0

    mutating func append(_ audio: SourceAudio, at now: MediaTime) {
      self.queued = self.queued + audio.block.duration
      self.queue.append((audio, now))
    }

    /// Whether the pipeline is too slow for a further block.
    func isFull(at now: MediaTime) -> Bool {
      guard self.queued >= AudioInputQueue.capacity, let first = self.queue.first else { return false }
      return now - first.arrival >= AudioInputQueue.capacity || self.queued >= AudioInputQueue.burstCapacity
    }
  }

  private static let capacity = MediaDuration.seconds(1)
  /// Maximum duration of blocks that come at once.
  private static let burstCapacity = MediaDuration.seconds(6)
  private let state = Monitor(State())

  /// Enqueues a block.
  ///
  /// - Parameter now: Its arrival.
  /// - Returns: The reason when the block is dropped.
  func consume(_ audio: SourceAudio, at now: MediaTime) -> FrameDrop.Reason? {
    self.state.withLock { state in
      switch state.slot.role(of: audio.feed) {
      case .current:
        guard !state.isFull(at: now) else { break }
        state.append(audio, at: now)
        return nil
      case .waiting:
        guard Self.duration(of: state.slot.waitingItems) < Self.capacity else { break }
        state.slot.waitingItems.append(audio)
        return nil
      case .dismissed:
        state.dropped += 1
        return .stopped
      }
      state.dropped += 1
      return .late
    }
  }

  /// Records the end of a source.
  func end(_ feed: AudioFeed, _ error: VidiconError?) {
    self.state.withLock { state in
      switch state.slot.role(of: feed) {
      case .current: state.ending = .some(error)
      case .waiting: state.slot.waitingEnding = .some(error)
      case .dismissed: break
      }
    }
  }

  func close() {
    self.state.withLock { state in
      state.slot.close()
      state.queue = []
      state.queued = .zero
    }
  }

  /// Dequeues the next event; nil when none arrives before the deadline.
  func next(until deadline: MediaTime) -> Event? {
    self.state.take(until: deadline) { state in
      if state.slot.isClosed { return .closed }
      if !state.queue.isEmpty {
        let audio = state.queue.removeFirst().audio
        state.queued = state.queued - audio.block.duration
        return .audio(audio)
      }
      if let ending = state.ending.take() { return .ended(ending) }
      return nil
    }
  }

  /// Number of dropped blocks, and number and duration of queued ones.
  var counts: (dropped: Int, blocks: Int, queued: MediaDuration) {
    self.state.read { ($0.dropped, $0.queue.count, $0.queued) }
  }

  private static func duration(of blocks: [SourceAudio]) -> MediaDuration {
    blocks.reduce(.zero) { $0 + $1.block.duration }
  }
}

// MARK: Switching

extension AudioInputQueue {
  var currentFeed: AudioFeed? { self.state.read { $0.slot.current } }

  func withSlot<Result>(_ body: (inout SourceSlot<AudioFeed>) -> Result) -> Result {
    self.state.withLock { body(&$0.slot) }
  }

  func waitForSlot<Result>(until deadline: MediaTime, _ body: (inout SourceSlot<AudioFeed>) -> Result?) -> Result? {
    self.state.take(until: deadline) { body(&$0.slot) }
  }

  /// Blocks of the current source that are queued already are still used; where the two overlap, the earlier one is.
  func cut(to feed: AudioFeed) -> Bool {
    self.state.withLock { state in
      guard let (blocks, ending) = state.slot.promote(feed) else { return false }
      let now = StreamClock.system.now()
      for audio in blocks { state.append(audio, at: now) }
      state.ending = ending
      return true
    }
  }
}
