internal import Capture
internal import Media
internal import Synchronization

/// A block of sound, and where it came from.
struct SourceSound: Sendable {
  var block: AudioBlock
  let feed: AudioFeed
}

/// The way of one source's sound to the mailbox.
final class AudioFeed: AudioConsumer, SourceFeed {
  typealias Item = SourceSound

  private struct State {
    /// Not kept alive: a capturer may keep its consumer.
    weak var capturer: (any AudioCapturer)?
  }

  private let state: Mutex<State>
  private let mailbox: AudioMailbox

  init(capturer: any AudioCapturer, mailbox: AudioMailbox) {
    self.state = Mutex(State(capturer: capturer))
    self.mailbox = mailbox
  }

  func consume(_ block: AudioBlock) {
    guard let reason = self.mailbox.consume(SourceSound(block: block, feed: self)) else { return }
    self.state.withLock { $0.capturer }?.didDrop(FrameDrop(timestamp: block.timestamp, reason: reason))
  }

  func captureEnded(_ error: CaptureError?) {
    self.mailbox.end(self, error)
  }
}
