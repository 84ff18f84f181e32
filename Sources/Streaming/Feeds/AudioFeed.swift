internal import Capture
internal import Media
internal import Synchronization

/// A block of sound, and where it came from.
struct SourceSound: Sendable {
  var block: AudioBlock
  let feed: AudioFeed
}

/// The way of one source's sound to the inputQueue.
final class AudioFeed: AudioConsumer, SourceFeed {
  typealias Item = SourceSound

  private struct State {
    /// Not kept alive: a capturer may keep its consumer.
    weak var capturer: (any AudioCapturer)?
  }

  private let state: Mutex<State>
  private let inputQueue: AudioInputQueue

  init(capturer: any AudioCapturer, inputQueue: AudioInputQueue) {
    self.state = Mutex(State(capturer: capturer))
    self.inputQueue = inputQueue
  }

  func consume(_ block: AudioBlock) {
    guard let reason = self.inputQueue.consume(SourceSound(block: block, feed: self)) else { return }
    self.state.withLock { $0.capturer }?.didDrop(FrameDrop(timestamp: block.timestamp, reason: reason))
  }

  func captureEnded(_ error: VidiconError?) {
    self.inputQueue.end(self, error)
  }
}
