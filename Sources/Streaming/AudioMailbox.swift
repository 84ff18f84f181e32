internal import Capture
internal import Media

/// The bounded queue between an audio capturer and the pipeline.
///
/// Drop rule: when a second of sound waits, what comes next is dropped, counted and reported; the pipeline fills the
/// gap with silence, so that the sound stays in step.
final class AudioMailbox: AudioConsumer {
  /// What the pipeline wakes up for.
  enum Event {
    case block(AudioBlock)
    case ended(CaptureError?)
    case closed
  }

  private struct State {
    weak var capturer: (any AudioCapturer)?
    var blocks: [AudioBlock] = []
    var queued = MediaDuration.zero
    var ending: CaptureError??
    var isClosed = false
    var dropped = 0
  }

  private static let capacity = MediaDuration.seconds(1)
  private let state: Monitor<State>

  /// A mailbox of a capturer, which is not kept alive: it may keep its consumer.
  init(capturer: any AudioCapturer) {
    self.state = Monitor(State(capturer: capturer))
  }

  func consume(_ block: AudioBlock) {
    let reason = self.state.withLock { state -> FrameDrop.Reason? in
      if state.isClosed || state.queued >= Self.capacity {
        state.dropped += 1
        return state.isClosed ? .stopped : .late
      }
      state.queued = state.queued + block.duration
      state.blocks.append(block)
      return nil
    }
    if let reason { self.capturer?.didDrop(FrameDrop(timestamp: block.timestamp, reason: reason)) }
  }

  func captureEnded(_ error: CaptureError?) {
    self.state.withLock { $0.ending = .some(error) }
  }

  private var capturer: (any AudioCapturer)? {
    self.state.withLock { $0.capturer }
  }

  func close() {
    self.state.withLock { $0.isClosed = true }
  }

  /// The next event, or nil when none came before the deadline.
  func next(until deadline: MediaTime) -> Event? {
    self.state.wait(until: deadline) { state in
      if state.isClosed { return .closed }
      if !state.blocks.isEmpty {
        let block = state.blocks.removeFirst()
        state.queued = state.queued - block.duration
        return .block(block)
      }
      if let ending = state.ending {
        state.ending = nil
        return .ended(ending)
      }
      return nil
    }
  }

  /// Blocks handed over and not used, and those that wait, with their length.
  var counts: (dropped: Int, blocks: Int, queued: MediaDuration) {
    self.state.withLock { ($0.dropped, $0.blocks.count, $0.queued) }
  }
}
