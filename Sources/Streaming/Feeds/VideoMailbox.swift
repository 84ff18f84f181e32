internal import Capture
internal import Media

/// The one place between the source and the pipeline: the newest frame waits here, an older one that was not fetched in
/// time is dropped, counted and reported.
final class VideoMailbox: SourceMailbox {
  /// What the pipeline wakes up for.
  enum Event {
    case picture(SourcePicture)
    case ended(CaptureError?)
    case keyframeRequested
    /// Somebody looks for a picture after the one of this number.
    case pictureRequested(after: Int)
    /// The last picture is to be shown anew, since the source was turned or mirrored.
    case redrawRequested
    case closed
  }

  private struct State {
    var seat = SourceSeat<VideoFeed>()
    var picture: SourcePicture?
    var ending: CaptureError??
    var isKeyframeRequested = false
    var isRedrawRequested = false
    var requestedPicture: Int?
    var frameRate: FrameRate?
    var framesIn = 0
    var framesThinned = 0
    var drops: [FrameDrop.Reason: Int] = [:]
  }

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

  /// Waits for the first picture, which stays here, and tells how it is turned; nil when none came before the deadline.
  func firstOrientation(until deadline: MediaTime) -> Orientation? {
    self.state.wait(until: deadline) { state -> Orientation?? in
      if let picture = state.picture { return .some(picture.feed.adjustment.applied(to: picture.frame).orientation) }
      return state.seat.isClosed || state.ending != nil ? .some(nil) : nil
    } ?? nil
  }

  /// Takes a picture over.
  ///
  /// - Returns: A picture of the same source that is dropped for it, or it itself.
  func consume(_ picture: SourcePicture) -> FrameDrop? {
    self.state.withLock { state in
      state.framesIn += 1
      var older: SourcePicture?
      switch state.seat.role(of: picture.feed) {
      case .present:
        older = state.picture
        state.picture = picture
      case .waiting:
        older = state.seat.waitingItems.last
        state.seat.waitingItems = [picture]
      case .dismissed:
        state.drops[.stopped, default: 0] += 1
        return FrameDrop(timestamp: picture.frame.timestamp, reason: .stopped)
      }
      guard let older else { return nil }
      state.drops[.late, default: 0] += 1
      return FrameDrop(timestamp: older.frame.timestamp, reason: .late)
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
  func end(_ feed: VideoFeed, _ error: CaptureError?) {
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
      state.picture = nil
    }
  }

  /// The next event, or nil when none came before the deadline.
  func next(until deadline: MediaTime) -> Event? {
    self.state.wait(until: deadline) { state in
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
      if let picture = state.picture.take() { return .picture(picture) }
      if let ending = state.ending.take() { return .ended(ending) }
      return nil
    }
  }

  /// Frames handed over, those left out for the frame rate, those dropped by reason, and those that wait.
  var counts: (framesIn: Int, thinned: Int, drops: [FrameDrop.Reason: Int], queued: Int) {
    self.state.withLock { ($0.framesIn, $0.framesThinned, $0.drops, $0.picture == nil ? 0 : 1) }
  }
}

// MARK: Switching

extension VideoMailbox {
  func withSeat<Result>(_ body: (inout SourceSeat<VideoFeed>) -> Result) -> Result {
    self.state.withLock { body(&$0.seat) }
  }

  func waitForSeat<Result>(until deadline: MediaTime, _ body: (inout SourceSeat<VideoFeed>) -> Result?) -> Result? {
    self.state.wait(until: deadline) { body(&$0.seat) }
  }

  func cut(to feed: VideoFeed) -> Bool {
    let older = self.state.withLock { state -> SourcePicture?? in
      guard let (pictures, ending) = state.seat.promote(feed) else { return nil }
      state.ending = ending
      guard let first = pictures.last else { return .some(nil) }
      let older = state.picture
      state.picture = first
      if older != nil { state.drops[.late, default: 0] += 1 }
      return .some(older)
    }
    guard let older else { return false }
    if let older { older.feed.report(FrameDrop(timestamp: older.frame.timestamp, reason: .late)) }
    return true
  }
}
