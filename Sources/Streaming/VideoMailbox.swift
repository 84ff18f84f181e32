internal import Capture
internal import Media

/// The one place between a capturer and the pipeline: the newest frame waits here, an older one that was not fetched in
/// time is dropped, counted and reported.
final class VideoMailbox: VideoConsumer {
  /// What the pipeline wakes up for.
  enum Event {
    case frame(VideoFrame)
    case ended(CaptureError?)
    case keyframeRequested
    /// Somebody looks for a picture after the one of this number.
    case pictureRequested(after: Int)
    case closed
  }

  private struct State {
    weak var capturer: (any VideoCapturer)?
    var frame: VideoFrame?
    var ending: CaptureError??
    var isKeyframeRequested = false
    var requestedPicture: Int?
    var isClosed = false
    var limiter: FrameRateLimiter?
    var expected: VideoFormat?
    var framesIn = 0
    var framesThinned = 0
    var drops: [FrameDrop.Reason: Int] = [:]
  }

  private let state: Monitor<State>

  /// A mailbox of a capturer, which is not kept alive: it may keep its consumer.
  init(capturer: any VideoCapturer) {
    self.state = Monitor(State(capturer: capturer))
  }

  /// From now on frames of another shape are dropped, and those that come faster than a rate.
  func expect(_ format: VideoFormat, limit: FrameRate?) {
    self.state.withLock {
      $0.expected = format
      $0.limiter = limit.map(FrameRateLimiter.init)
    }
  }

  /// Waits for the first frame, which stays here, and tells how it is turned; nil when none came before the deadline.
  func firstOrientation(until deadline: MediaTime) -> Orientation? {
    self.state.wait(until: deadline) { state -> Orientation?? in
      if let frame = state.frame { return .some(frame.orientation) }
      return state.isClosed || state.ending != nil ? .some(nil) : nil
    } ?? nil
  }

  func consume(_ frame: VideoFrame) {
    let drop = self.state.withLock { state -> FrameDrop? in
      state.framesIn += 1
      var drop: FrameDrop?
      if state.isClosed {
        drop = FrameDrop(timestamp: frame.timestamp, reason: .stopped)
      } else if let expected = state.expected, !frame.format.hasSamePixels(as: expected) {
        drop = FrameDrop(timestamp: frame.timestamp, reason: .wrongFormat)
      } else if state.limiter?.accepts(frame.timestamp) == false {
        state.framesThinned += 1
      } else {
        drop = state.frame.map { FrameDrop(timestamp: $0.timestamp, reason: .late) }
        state.frame = frame
      }
      if let drop { state.drops[drop.reason, default: 0] += 1 }
      return drop
    }
    if let drop { self.capturer?.didDrop(drop) }
  }

  func captureSkipped(at timestamp: MediaTime) {
    self.countDrop(at: timestamp, reason: .noMemory)
  }

  func captureEnded(_ error: CaptureError?) {
    self.state.withLock { $0.ending = .some(error) }
  }

  /// Counts and reports a frame that the pipeline fetched and could not use.
  func drop(_ frame: VideoFrame, reason: FrameDrop.Reason) {
    self.countDrop(at: frame.timestamp, reason: reason)
  }

  private func countDrop(at timestamp: MediaTime, reason: FrameDrop.Reason) {
    self.state.withLock { $0.drops[reason, default: 0] += 1 }
    self.capturer?.didDrop(FrameDrop(timestamp: timestamp, reason: reason))
  }

  func requestKeyframe() {
    self.state.withLock { $0.isKeyframeRequested = true }
  }

  /// Asks for a picture after the one of a number, as ``PictureFeed`` counts them.
  func requestPicture(after number: Int) {
    self.state.withLock { $0.requestedPicture = min($0.requestedPicture ?? number, number) }
  }

  private var capturer: (any VideoCapturer)? {
    self.state.withLock { $0.capturer }
  }

  func close() {
    self.state.withLock { $0.isClosed = true }
  }

  /// The next event, or nil when none came before the deadline.
  func next(until deadline: MediaTime) -> Event? {
    self.state.wait(until: deadline) { state in
      if state.isClosed { return .closed }
      if state.isKeyframeRequested {
        state.isKeyframeRequested = false
        return .keyframeRequested
      }
      if let number = state.requestedPicture.take() { return .pictureRequested(after: number) }
      if let frame = state.frame {
        state.frame = nil
        return .frame(frame)
      }
      if let ending = state.ending {
        state.ending = nil
        return .ended(ending)
      }
      return nil
    }
  }

  /// Frames handed over, those left out for the frame rate, those dropped by reason, and those that wait.
  var counts: (framesIn: Int, thinned: Int, drops: [FrameDrop.Reason: Int], queued: Int) {
    self.state.withLock { ($0.framesIn, $0.framesThinned, $0.drops, $0.frame == nil ? 0 : 1) }
  }
}

extension VideoFormat {
  /// Whether a frame of this format is what was announced; rows may be of another length.
  func hasSamePixels(as other: VideoFormat) -> Bool {
    self.width == other.width && self.height == other.height && self.pixelFormat == other.pixelFormat
  }
}
