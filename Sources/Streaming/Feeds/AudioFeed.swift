internal import Capture
internal import Media
internal import Synchronization
internal import Threading

/// A block of audio and its source.
struct SourceAudio: Sendable {
  var block: AudioBlock
  let feed: AudioFeed
}

/// Connects one audio source to the input queue.
final class AudioFeed: AudioConsumer, SourceFeed {
  typealias WaitingItems = [SourceAudio]

  private struct State {
    /// Weak: a capturer may retain its consumer.
    weak var capturer: (any AudioCapturer)?
  }

  private let state: Mutex<State>
  private let inputQueue: AudioInputQueue

  init(capturer: any AudioCapturer, inputQueue: AudioInputQueue) {
    self.state = Mutex(State(capturer: capturer))
    self.inputQueue = inputQueue
  }

  func consume(_ block: AudioBlock) {
    let now = StreamClock.system.now()
    guard let reason = self.inputQueue.consume(SourceAudio(block: block, feed: self), at: now) else { return }
    self.state.withLock { $0.capturer }?.didDrop(FrameDrop(timestamp: block.timestamp, reason: reason))
  }

  func captureEnded(_ error: VidiconError?) {
    self.inputQueue.end(self, error)
  }
}
