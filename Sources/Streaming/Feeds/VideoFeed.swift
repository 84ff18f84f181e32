internal import Capture
internal import Media
internal import Synchronization

/// A frame and its source.
struct SourceFrame: Sendable {
  var frame: VideoFrame
  /// Matrix of Y'CbCr pixels; without meaning for RGB.
  let colorMatrix: ColorMatrix
  /// The source.
  let feed: VideoFeed

  /// A copy in memory of its own.
  var copy: SourceFrame {
    SourceFrame(
      frame: self.frame.copy, colorMatrix: self.frame.format.pixelFormat.isYCbCr ? self.colorMatrix : .bt601,
      feed: self.feed)
  }
}

/// An access unit and its source.
struct SourceSample: Sendable {
  var sample: EncodedSample
  let description: CodecDescription
  /// Orientation of the decoded frames.
  var orientation = Orientation.up
  /// The source of the access unit.
  let feed: VideoFeed
}

/// Items of a video source that waits to become the current one: its last frame, or its access units.
struct WaitingVideo: WaitingSourceItems {
  /// The last frame; nil where the source compresses its video.
  private(set) var frame: SourceFrame?
  /// Access units, under the drop policy of their queue.
  private(set) var samples = SampleQueue()

  var isEmpty: Bool { self.frame == nil && self.samples.samples.isEmpty }

  /// Replaces the last frame.
  ///
  /// - Returns: The frame that is dropped for it.
  mutating func append(_ frame: SourceFrame) -> [SourceFrame] {
    defer { (self.frame, self.samples) = (frame, SampleQueue()) }
    return [self.frame].compactMap(\.self)
  }

  /// Enqueues an access unit.
  ///
  /// - Returns: The dropped ones; may include the new one.
  mutating func append(_ sample: SourceSample, at now: MediaTime) -> [FrameDrop] {
    self.frame = nil
    return self.samples.append(sample, at: now)
  }
}

/// Connects one video source to the input queue: drops frames of unannounced formats, skips those beyond the frame
/// rate, and holds the rotation and mirroring of the source.
final class VideoFeed: VideoConsumer, SourceFeed {
  typealias WaitingItems = WaitingVideo

  /// Handling of a frame.
  private enum Verdict {
    case pass(ColorMatrix)
    case thin
    case drop(FrameDrop.Reason)
  }

  private struct State {
    /// Weak: a capturer may retain its consumer.
    weak var capturer: (any VideoCapturer)?
    var adjustment: SourceAdjustment
    /// Announced format; nil until the source has started.
    var format: VideoFormat?
    /// The stream's frame rate, once known.
    var frameRate: FrameRate?
    var limiter: FrameRateLimiter?

    mutating func updateLimiter() {
      guard let frameRate, let format, frameRate < format.frameRate else {
        self.limiter = nil
        return
      }
      self.limiter = FrameRateLimiter(frameRate)
    }
  }

  /// Distinguishes this connection of a source from all others of the process.
  let id = VideoSchedule.SourceID(number: VideoFeed.count.wrappingAdd(1, ordering: .relaxed).newValue)
  private static let count = Atomic(0)
  /// See ``VideoCapturer/reportsLoss``.
  let reportsLoss: Bool
  private let state: Mutex<State>
  private let inputQueue: VideoInputQueue

  init(capturer: any VideoCapturer, inputQueue: VideoInputQueue, adjustment: SourceAdjustment = SourceAdjustment()) {
    self.reportsLoss = capturer.reportsLoss
    self.state = Mutex(State(capturer: capturer, adjustment: adjustment, frameRate: inputQueue.frameRate))
    self.inputQueue = inputQueue
  }

  /// Announces the format of the frames that follow; others are dropped.
  func announce(_ format: VideoFormat) {
    self.state.withLock {
      $0.format = format
      $0.updateLimiter()
    }
  }

  /// Limits the frame rate; faster frames are skipped.
  func limit(to frameRate: FrameRate) {
    self.state.withLock {
      $0.frameRate = frameRate
      $0.updateLimiter()
    }
  }

  /// Rotation and mirroring of the source.
  var adjustment: SourceAdjustment {
    self.state.withLock { $0.adjustment }
  }

  func adjust(_ body: (inout SourceAdjustment) -> Void) {
    self.state.withLock { body(&$0.adjustment) }
  }

  func consume(_ frame: VideoFrame) {
    switch self.judge(frame) {
    case .pass(let matrix):
      for (feed, drop) in self.inputQueue.consume(SourceFrame(frame: frame, colorMatrix: matrix, feed: self)) {
        feed.report(drop)
      }
    case .thin: self.inputQueue.countThinned()
    case .drop(let reason):
      self.inputQueue.countFrame()
      self.drop(frame.timestamp, reason: reason)
    }
  }

  func consume(_ sample: EncodedSample, of description: CodecDescription) {
    let orientation = self.state.withLock { $0.capturer }?.sampleOrientation ?? .up
    let dropped = self.inputQueue.consume(
      SourceSample(sample: sample, description: description, orientation: orientation, feed: self))
    for drop in dropped { self.report(drop) }
  }

  /// Whether a frame decoded here is within the frame rate.
  func accepts(_ timestamp: MediaTime) -> Bool {
    self.state.withLock { $0.limiter?.accepts(timestamp) ?? true }
  }

  func captureSkipped(at timestamp: MediaTime) {
    self.drop(timestamp, reason: .noMemory)
  }

  func captureFormatChanged(to format: VideoFormat) {
    self.announce(format)
  }

  func captureWaits(_ reason: VidiconError) {
    self.inputQueue.noteWait(of: self, reason)
  }

  func captureEnded(_ error: VidiconError?) {
    self.inputQueue.end(self, error)
  }

  /// Requests a keyframe from a source that compresses its video.
  func requestKeyframe() {
    self.state.withLock { $0.capturer }?.requestKeyframe()
  }

  /// Counts and reports a dropped frame.
  func drop(_ timestamp: MediaTime, reason: FrameDrop.Reason) {
    self.inputQueue.countDrop(reason)
    self.report(FrameDrop(timestamp: timestamp, reason: reason))
  }

  /// Reports to the capturer a dropped frame that the input queue has counted.
  func report(_ drop: FrameDrop) {
    self.state.withLock { $0.capturer }?.didDrop(drop)
  }

  private func judge(_ frame: VideoFrame) -> Verdict {
    self.state.withLock { state in
      if let format = state.format, !frame.format.hasSamePixels(as: format) { return .drop(.wrongFormat) }
      if state.limiter?.accepts(frame.timestamp) == false { return .thin }
      return .pass((state.format ?? frame.format).colorMatrix)
    }
  }
}

extension VideoFormat {
  /// Whether size and pixel format are equal; row lengths may differ.
  fileprivate func hasSamePixels(as other: VideoFormat) -> Bool {
    self.width == other.width && self.height == other.height && self.pixelFormat == other.pixelFormat
  }
}

extension VideoFrame {
  /// A copy of the frame in I420, without rotation or mirroring applied, so that a device can reuse its buffer. RGB is
  /// converted to BT.601.
  var copy: VideoFrame {
    let matrix = self.format.pixelFormat.isYCbCr ? self.format.colorMatrix : .bt601
    let buffer = PixelBuffer(
      format: VideoFormat(
        width: self.format.width, height: self.format.height, frameRate: self.format.frameRate, colorMatrix: matrix))
    I420Planes(buffer).convert(self.buffer)
    defer { withExtendedLifetime(self) {} }
    return VideoFrame(
      buffer: buffer, timestamp: self.timestamp, orientation: self.orientation, isMirrored: self.isMirrored,
      captureLatency: self.captureLatency)
  }
}

/// Skips frames of a source that is faster than the stream.
struct FrameRateLimiter {
  private let interval: MediaDuration
  private var due: MediaTime?

  init(_ rate: FrameRate) {
    self.interval = rate.frameInterval
  }

  /// Whether to use the frame of this time; up to a quarter of an interval early counts as on time.
  mutating func accepts(_ time: MediaTime) -> Bool {
    guard let due else {
      self.due = time + self.interval
      return true
    }
    // The source was restarted, or its clock has jumped.
    if time - due > .seconds(1) || due - time > .seconds(1) {
      self.due = time + self.interval
      return true
    }
    guard time + self.interval / 4 >= due else { return false }
    self.due = max(due + self.interval, time)
    return true
  }
}
