internal import Capture
internal import Media
internal import Synchronization

/// A picture of a source, and what is known of that source.
struct SourcePicture: Sendable {
  var frame: VideoFrame
  /// The matrix behind Y'CbCr pixels; of no meaning for RGB ones.
  let colorMatrix: ColorMatrix
  /// Where it came from.
  let feed: VideoFeed

  /// The same picture in memory of its own.
  var copy: SourcePicture {
    SourcePicture(
      frame: self.frame.copy, colorMatrix: self.frame.format.pixelFormat.isYCbCr ? self.colorMatrix : .bt601,
      feed: self.feed)
  }
}

/// A compressed picture of a source.
struct SourceSample: Sendable {
  var sample: EncodedSample
  let description: CodecDescription
  /// How what is decoded is to be turned.
  var orientation = Orientation.up
  /// Where it came from.
  let feed: VideoFeed
}

/// What a source of pictures hands over.
enum SourceVideo: Sendable {
  case picture(SourcePicture)
  case sample(SourceSample)
}

/// The way of one source's pictures to the inputQueue: what was not announced is sorted out here, what comes faster than the
/// stream is thinned out, and here is kept how this source is turned and mirrored.
final class VideoFeed: VideoConsumer, SourceFeed {
  typealias Item = SourceVideo

  /// What is done with a frame.
  private enum Verdict {
    case pass(ColorMatrix)
    case thin
    case drop(FrameDrop.Reason)
  }

  private struct State {
    /// Not kept alive: a capturer may keep its consumer.
    weak var capturer: (any VideoCapturer)?
    var adjustment: SourceAdjustment
    /// What the frames look like; nil until the source has started.
    var format: VideoFormat?
    /// The stream's, once that is known.
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
  private let state: Mutex<State>
  private let inputQueue: VideoInputQueue

  init(capturer: any VideoCapturer, inputQueue: VideoInputQueue, adjustment: SourceAdjustment = SourceAdjustment()) {
    self.state = Mutex(State(capturer: capturer, adjustment: adjustment, frameRate: inputQueue.frameRate))
    self.inputQueue = inputQueue
  }

  /// Tells what frames look like that come from now on; others are dropped.
  func announce(_ format: VideoFormat) {
    self.state.withLock {
      $0.format = format
      $0.updateLimiter()
    }
  }

  /// From now on frames that come faster than a rate are left out.
  func limit(to frameRate: FrameRate) {
    self.state.withLock {
      $0.frameRate = frameRate
      $0.updateLimiter()
    }
  }

  /// How the source's pictures are turned and mirrored.
  var adjustment: SourceAdjustment {
    self.state.withLock { $0.adjustment }
  }

  func adjust(_ body: (inout SourceAdjustment) -> Void) {
    self.state.withLock { body(&$0.adjustment) }
  }

  func consume(_ frame: VideoFrame) {
    switch self.judge(frame) {
    case .pass(let matrix):
      for (feed, drop) in self.inputQueue.consume(SourcePicture(frame: frame, colorMatrix: matrix, feed: self)) {
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

  /// Whether a picture that was decoded here is wanted, and does not come faster than the stream is to be.
  func accepts(_ timestamp: MediaTime) -> Bool {
    self.state.withLock { $0.limiter?.accepts(timestamp) ?? true }
  }

  func captureSkipped(at timestamp: MediaTime) {
    self.drop(timestamp, reason: .noMemory)
  }

  func captureFormatChanged(to format: VideoFormat) {
    self.announce(format)
  }

  func captureEnded(_ error: VidiconError?) {
    self.inputQueue.end(self, error)
  }

  /// Asks a source that compresses itself for a keyframe.
  func requestKeyframe() {
    self.state.withLock { $0.capturer }?.requestKeyframe()
  }

  /// Counts and reports a frame that was not used.
  func drop(_ timestamp: MediaTime, reason: FrameDrop.Reason) {
    self.inputQueue.countDrop(reason)
    self.report(FrameDrop(timestamp: timestamp, reason: reason))
  }

  /// Tells the capturer of a frame that the inputQueue has counted.
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
  /// Whether a frame of this format is what was announced; rows may be of another length.
  fileprivate func hasSamePixels(as other: VideoFormat) -> Bool {
    self.width == other.width && self.height == other.height && self.pixelFormat == other.pixelFormat
  }
}
