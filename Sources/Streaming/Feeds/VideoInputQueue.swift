internal import Capture
internal import Media
internal import Threading

/// The one place between the source and the pipeline: frames wait here in a ``FrameQueue``, compressed pictures in a
/// ``SampleQueue``. Those that were not fetched in time are dropped, counted and reported.
final class VideoInputQueue: SourceInputQueue {
  /// What the pipeline wakes up for.
  enum Event {
    case picture(SourcePicture)
    /// A compressed picture, and how many more wait.
    case sample(SourceSample, waiting: Int)
    case ended(VidiconError?)
    case keyframeRequested
    /// Somebody looks for a picture after the one of this number.
    case pictureRequested(after: Int)
    /// The last picture is to be shown anew, since the source was turned or mirrored.
    case redrawRequested
    case closed
  }

  private struct State {
    var seat = SourceSlot<VideoFeed>()
    var pictures = FrameQueue()
    var samples = SampleQueue()
    /// Of the source that waits to take the place of the present one.
    var waitingSamples = SampleQueue()
    var ending: VidiconError??
    var isKeyframeRequested = false
    var isRedrawRequested = false
    var requestedPicture: Int?
    var frameRate: FrameRate?
    var framesIn = 0
    var framesThinned = 0
    var drops: [FrameDrop.Reason: Int] = [:]

    /// Counts pictures that are not used.
    mutating func drop(_ pictures: [SourcePicture], reason: FrameDrop.Reason) -> [SourceDrop] {
      pictures.map { picture in
        self.drops[reason, default: 0] += 1
        return (picture.feed, FrameDrop(timestamp: picture.frame.timestamp, reason: reason))
      }
    }

    /// Counts compressed pictures of a source that are not used.
    mutating func drop(_ drops: [FrameDrop], of feed: VideoFeed?) -> [SourceDrop] {
      drops.compactMap { drop in
        self.drops[drop.reason, default: 0] += 1
        return feed.map { ($0, drop) }
      }
    }
  }

  /// What its source is to be told of.
  typealias SourceDrop = (feed: VideoFeed, drop: FrameDrop)

  private let state = Monitor(State())

  /// The stream's frame rate, which faster sources are thinned out to; nil until the pipeline has opened.
  var frameRate: FrameRate? {
    self.state.withLock { $0.frameRate }
  }

  /// Sets the stream's frame rate.
  func limit(to frameRate: FrameRate) {
    let present = self.state.withLock { state in
      state.frameRate = frameRate
      return state.seat.present
    }
    present?.limit(to: frameRate)
  }

  /// What a source begins with.
  enum First {
    /// A picture, turned so.
    case picture(Orientation)
    /// A compressed one.
    case sample(SourceSample)
  }

  /// Waits for the first picture, which stays here; nil when none came before the deadline.
  func first(until deadline: MediaTime) -> First? {
    self.state.wait(until: deadline) { state -> First?? in
      if let sample = state.samples.samples.first { return .some(.sample(sample)) }
      if let picture = state.pictures.pictures.first {
        return .some(.picture(picture.feed.adjustment.applied(to: picture.frame).orientation))
      }
      return state.seat.isClosed || state.ending != nil ? .some(nil) : nil
    } ?? nil
  }

  /// Takes a picture over.
  ///
  /// - Returns: The pictures that are dropped for it, or it itself.
  func consume(_ picture: SourcePicture) -> [SourceDrop] {
    self.state.withLock { state in
      state.framesIn += 1
      var dropped: [SourcePicture] = []
      switch state.seat.role(of: picture.feed) {
      case .present: dropped = state.pictures.append(picture)
      case .waiting:
        if case .picture(let last) = state.seat.waitingItems.last { dropped = [last] }
        state.seat.waitingItems = [.picture(picture)]
      case .dismissed:
        return state.drop([picture], reason: .stopped)
      }
      return state.drop(dropped, reason: .late)
    }
  }

  /// Takes a compressed picture over.
  ///
  /// - Returns: Those of the same source that are dropped.
  func consume(_ sample: SourceSample) -> [FrameDrop] {
    self.state.withLock { state in
      state.framesIn += 1
      var dropped: [FrameDrop]
      switch state.seat.role(of: sample.feed) {
      case .present: dropped = state.samples.append(sample)
      case .waiting:
        if state.seat.waitingItems.isEmpty { state.waitingSamples = SampleQueue() }
        dropped = state.waitingSamples.append(sample)
        state.seat.waitingItems = state.waitingSamples.samples.map(SourceVideo.sample)
      case .dismissed:
        dropped = [FrameDrop(timestamp: sample.sample.presentationTime, reason: .stopped)]
      }
      for drop in dropped { state.drops[drop.reason, default: 0] += 1 }
      return dropped
    }
  }

  /// Counts a frame that is left out for the frame rate.
  func countThinned() {
    self.state.withLock {
      $0.framesIn += 1
      $0.framesThinned += 1
    }
  }

  /// Counts a frame that does not get as far as here.
  func countFrame() {
    self.state.withLock { $0.framesIn += 1 }
  }

  func countDrop(_ reason: FrameDrop.Reason) {
    self.state.withLock { $0.drops[reason, default: 0] += 1 }
  }

  /// Told that a source has ended.
  func end(_ feed: VideoFeed, _ error: VidiconError?) {
    self.state.withLock { state in
      switch state.seat.role(of: feed) {
      case .present: state.ending = .some(error)
      case .waiting: state.seat.waitingEnding = .some(error)
      case .dismissed: break
      }
    }
  }

  func requestKeyframe() {
    self.state.withLock { $0.isKeyframeRequested = true }
  }

  func requestRedraw() {
    self.state.withLock { $0.isRedrawRequested = true }
  }

  /// Asks for a picture after the one of a number, as ``PictureFeed`` counts them.
  func requestPicture(after number: Int) {
    self.state.withLock { $0.requestedPicture = min($0.requestedPicture ?? number, number) }
  }

  func close() {
    self.state.withLock { state in
      state.seat.close()
      _ = state.pictures.removeAll()
      _ = state.samples.removeAll()
    }
  }

  /// The next event, or nil when none came before the deadline.
  func next(until deadline: MediaTime) -> Event? {
    self.state.take(until: deadline) { state in
      if state.seat.isClosed { return .closed }
      if state.isKeyframeRequested {
        state.isKeyframeRequested = false
        return .keyframeRequested
      }
      if let number = state.requestedPicture.take() { return .pictureRequested(after: number) }
      if state.isRedrawRequested {
        state.isRedrawRequested = false
        return .redrawRequested
      }
      if let sample = state.samples.popFirst() { return .sample(sample, waiting: state.samples.samples.count) }
      if let picture = state.pictures.popFirst() { return .picture(picture) }
      if let ending = state.ending.take() { return .ended(ending) }
      return nil
    }
  }

  /// Frames handed over, those left out for the frame rate, those dropped by reason, and those that wait.
  var counts: (framesIn: Int, thinned: Int, drops: [FrameDrop.Reason: Int], queued: Int) {
    self.state.withLock {
      ($0.framesIn, $0.framesThinned, $0.drops, $0.pictures.pictures.count + $0.samples.samples.count)
    }
  }
}

// MARK: Switching

extension VideoInputQueue {
  func withSlot<Result>(_ body: (inout SourceSlot<VideoFeed>) -> Result) -> Result {
    self.state.withLock { body(&$0.seat) }
  }

  func waitForSlot<Result>(until deadline: MediaTime, _ body: (inout SourceSlot<VideoFeed>) -> Result?) -> Result? {
    self.state.take(until: deadline) { body(&$0.seat) }
  }

  func cut(to feed: VideoFeed) -> Bool {
    let dropped = self.state.withLock { state -> [SourceDrop]? in
      let earlier = state.seat.present
      guard let (items, ending) = state.seat.promote(feed) else { return nil }
      state.ending = ending
      var dropped = state.drop(state.samples.removeAll(), of: earlier)
      state.samples = SampleQueue()
      for item in items {
        switch item {
        case .picture(let picture): dropped += state.drop(state.pictures.append(picture), reason: .late)
        case .sample(let sample):
          // They do not wait for the earlier source's pictures.
          dropped += state.drop(state.pictures.removeAll(), reason: .late)
          dropped += state.drop(state.samples.append(sample), of: feed)
        }
      }
      return dropped
    }
    guard let dropped else { return false }
    for (feed, drop) in dropped { feed.report(drop) }
    return true
  }
}
