internal import Capture
internal import Media
internal import NIOCore
internal import Threading

/// Bounded queue between the video source and the pipeline thread: frames wait in a ``FrameQueue``, access units in a
/// ``SampleQueue``. Each drop is counted and reported to the source.
final class VideoInputQueue: SourceInputQueue {
  /// Events delivered to the pipeline thread.
  enum Event {
    case frame(SourceFrame)
    /// An access unit, and the number of those queued behind it.
    case sample(SourceSample, waiting: Int)
    case ended(VidiconError?)
    /// The source is connected, and decoding cannot start yet.
    case waits(VidiconError)
    case keyframeRequested
    /// A viewer of an encoding with keyframes of its own needs a frame.
    case frameRequested
    /// A snapshot needs the current frame, which is to be decoded where the source is passed through.
    case snapshotRequested
    /// The last frame is to be encoded again, since effects, rotation or mirroring have changed.
    case redrawRequested
    case closed
  }

  /// Item of a source.
  private enum Item {
    case frame(SourceFrame)
    case sample(SourceSample)
  }

  private struct State {
    var slot = SourceSlot<VideoFeed>()
    var frameQueue = FrameQueue()
    var samples = SampleQueue()
    /// Items of the source before the current one, at most ``FrameQueue/capacity``: dequeued first, so that a switch while the
    /// pipeline is briefly busy costs no frame.
    var previous: [Item] = []
    var ending: VidiconError??
    /// Reason why decoding of the current source cannot start yet; nil once it is reported.
    var wait: VidiconError?
    var isKeyframeRequested = false
    var isFrameRequested = false
    var isRedrawRequested = false
    var isSnapshotRequested = false
    var frameRate: FrameRate?
    var framesIn = 0
    var framesThinned = 0
    var drops: [FrameDrop.Reason: Int] = [:]

    /// Counts dropped frames.
    mutating func drop(_ frames: [SourceFrame], reason: FrameDrop.Reason) -> [SourceDrop] {
      frames.map { frame in
        self.drops[reason, default: 0] += 1
        return (frame.feed, FrameDrop(timestamp: frame.frame.timestamp, reason: reason))
      }
    }

    /// Moves the queued items of the source that is being replaced into ``previous``; drops them where the pipeline is too slow.
    mutating func keepItems(of feed: VideoFeed?) -> [SourceDrop] {
      let (frames, samples) = (self.frameQueue.removeAll(), self.samples)
      self.samples = SampleQueue()
      guard self.previous.count + frames.count + samples.samples.count <= FrameQueue.capacity else {
        let drops = samples.samples.map { FrameDrop(timestamp: $0.sample.presentationTime, reason: .late) }
        return self.drop(frames, reason: .late) + self.drop(drops, of: feed)
      }
      self.previous += samples.samples.map(Item.sample) + frames.map(Item.frame)
      return []
    }

    /// Counts dropped samples.
    mutating func drop(_ drops: [FrameDrop], of feed: VideoFeed?) -> [SourceDrop] {
      drops.compactMap { drop in
        self.drops[drop.reason, default: 0] += 1
        return feed.map { ($0, drop) }
      }
    }
  }

  /// A dropped frame and the source to report it to.
  typealias SourceDrop = (feed: VideoFeed, drop: FrameDrop)

  private let state = Monitor(State())

  /// The stream's frame rate, which limits faster sources; nil until the pipeline has opened.
  var frameRate: FrameRate? {
    self.state.read { $0.frameRate }
  }

  /// Sets the stream's frame rate.
  func limit(to frameRate: FrameRate) {
    let current = self.state.withLock { state in
      state.frameRate = frameRate
      return state.slot.current
    }
    current?.limit(to: frameRate)
  }

  /// First item of a source.
  enum First {
    /// A frame of this orientation.
    case frame(Orientation)
    /// An access unit.
    case sample(SourceSample)
  }

  /// Waits for the first item, which stays queued; nil when none arrives before the deadline.
  func first(until deadline: MediaTime) -> First? {
    self.state.wait(until: deadline) { state -> First?? in
      if let sample = state.samples.samples.first { return .some(.sample(sample)) }
      if let frame = state.frameQueue.frames.first {
        return .some(.frame(frame.feed.adjustment.applied(to: frame.frame).orientation))
      }
      return state.slot.isClosed || state.ending != nil ? .some(nil) : nil
    } ?? nil
  }

  /// Enqueues a frame.
  ///
  /// - Returns: The frames dropped for it; may include the new one.
  func consume(_ frame: SourceFrame) -> [SourceDrop] {
    self.state.withLock { state in
      state.framesIn += 1
      switch state.slot.role(of: frame.feed) {
      case .current: return state.drop(state.frameQueue.append(frame), reason: .late)
      case .waiting: return state.drop(state.slot.waitingItems.append(frame), reason: .late)
      case .dismissed: return state.drop([frame], reason: .stopped)
      }
    }
  }

  /// Enqueues an access unit.
  ///
  /// - Returns: Dropped samples of the same source.
  func consume(_ sample: SourceSample) -> [FrameDrop] {
    self.state.withLock { state in
      state.framesIn += 1
      let dropped: [FrameDrop]
      switch state.slot.role(of: sample.feed) {
      case .current: dropped = state.samples.append(sample, at: StreamClock.system.now())
      case .waiting: dropped = state.slot.waitingItems.append(sample, at: StreamClock.system.now())
      case .dismissed:
        dropped = [FrameDrop(timestamp: sample.sample.presentationTime, reason: .stopped)]
      }
      for drop in dropped { state.drops[drop.reason, default: 0] += 1 }
      return dropped
    }
  }

  /// Counts a frame skipped for the frame rate.
  func countThinned() {
    self.state.withLockWakingNone {
      $0.framesIn += 1
      $0.framesThinned += 1
    }
  }

  /// Counts a frame that is dropped before it is enqueued.
  func countFrame() {
    self.state.withLockWakingNone { $0.framesIn += 1 }
  }

  func countDrop(_ reason: FrameDrop.Reason) {
    self.state.withLockWakingNone { $0.drops[reason, default: 0] += 1 }
  }

  /// Records the end of a source.
  func end(_ feed: VideoFeed, _ error: VidiconError?) {
    self.state.withLock { state in
      switch state.slot.role(of: feed) {
      case .current: state.ending = .some(error)
      case .waiting: state.slot.waitingEnding = .some(error)
      case .dismissed: break
      }
    }
  }

  /// Records that decoding of a source cannot start yet; one that waits to become the current source shows so by having no frame.
  func noteWait(of feed: VideoFeed, _ reason: VidiconError) {
    self.state.withLock { state in
      if case .current = state.slot.role(of: feed) { state.wait = reason }
    }
  }

  func requestKeyframe() {
    self.state.withLock { $0.isKeyframeRequested = true }
  }

  func requestFrame() {
    self.state.withLock { $0.isFrameRequested = true }
  }

  func requestRedraw() {
    self.state.withLock { $0.isRedrawRequested = true }
  }

  func requestSnapshot() {
    self.state.withLock { $0.isSnapshotRequested = true }
  }

  func close() {
    self.state.withLock { state in
      state.slot.close()
      _ = state.frameQueue.removeAll()
      _ = state.samples.removeAll()
      state.previous = []
    }
  }

  /// Dequeues the next event; nil when none arrives before the deadline.
  func next(until deadline: MediaTime) -> Event? {
    self.state.take(until: deadline) { state in
      if state.slot.isClosed { return .closed }
      if state.isKeyframeRequested {
        state.isKeyframeRequested = false
        return .keyframeRequested
      }
      if state.isFrameRequested {
        state.isFrameRequested = false
        return .frameRequested
      }
      if state.isSnapshotRequested {
        state.isSnapshotRequested = false
        return .snapshotRequested
      }
      if state.isRedrawRequested {
        state.isRedrawRequested = false
        return .redrawRequested
      }
      if !state.previous.isEmpty {
        switch state.previous.removeFirst() {
        case .frame(let frame): return .frame(frame)
        case .sample(let sample): return .sample(sample, waiting: state.previous.count)
        }
      }
      if let sample = state.samples.popFirst() { return .sample(sample, waiting: state.samples.samples.count) }
      if let frame = state.frameQueue.popFirst() { return .frame(frame) }
      if let wait = state.wait.take() { return .waits(wait) }
      if let ending = state.ending.take() { return .ended(ending) }
      return nil
    }
  }

  /// Frames delivered, skipped for the frame rate, dropped by reason, and queued.
  var counts: (framesIn: Int, thinned: Int, drops: [FrameDrop.Reason: Int], queued: Int) {
    self.state.read {
      let queued = $0.previous.count + $0.frameQueue.frames.count + $0.samples.samples.count
      return ($0.framesIn, $0.framesThinned, $0.drops, queued)
    }
  }
}

// MARK: Switching

extension VideoInputQueue {
  var currentFeed: VideoFeed? { self.state.read { $0.slot.current } }

  func withSlot<Result>(_ body: (inout SourceSlot<VideoFeed>) -> Result) -> Result {
    self.state.withLock { body(&$0.slot) }
  }

  func waitForSlot<Result>(until deadline: MediaTime, _ body: (inout SourceSlot<VideoFeed>) -> Result?) -> Result? {
    self.state.take(until: deadline) { body(&$0.slot) }
  }

  func cut(to feed: VideoFeed) -> Bool {
    let dropped = self.state.withLock { state -> [SourceDrop]? in
      let previous = state.slot.current
      guard let (items, ending) = state.slot.promote(feed) else { return nil }
      (state.ending, state.wait) = (ending, nil)
      var dropped = state.keepItems(of: previous)
      if let frame = items.frame { dropped += state.drop(state.frameQueue.append(frame), reason: .late) }
      for sample in items.samples.samples {
        dropped += state.drop(state.samples.append(sample, at: StreamClock.system.now()), of: feed)
      }
      return dropped
    }
    guard let dropped else { return false }
    for (feed, drop) in dropped { feed.report(drop) }
    return true
  }
}
