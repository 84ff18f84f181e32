package import Media
internal import Synchronization

/// A viewer whose media leaves by a ``MediaConnection``, on its event loop. Performs what ``ViewerState`` decides when the connection
/// has sent what it was given, or has not.
package protocol ConnectedViewer: AnyObject {
  /// Decides what the viewer is sent.
  var state: ViewerState { get set }
  /// Counters of all viewers of its rendition.
  var counters: ViewerCounters { get }
  /// Writes the first of the deliveries that wait, which are those that `state` counts.
  func sendQueued()
  /// Empties the queue.
  func removeQueued()
  /// Sends what waits beside the queue: everything else is sent. Without effect by default.
  func queueIsSent(at now: MediaTime)
  /// Requests a keyframe to resume at.
  func requestKeyframe()
}

extension ConnectedViewer {
  /// Does nothing: for viewers of which everything waits in the queue.
  package func queueIsSent(at now: MediaTime) {}

  /// Whether the connection has unsent bytes, as far as the viewer was notified.
  package var isBlocked: Bool { self.state.isBlocked }

  /// Time at which ``checkProgress(byteCount:at:)`` is due; nil while everything is sent.
  package var nextDeadline: MediaTime? { self.state.nextDeadline }

  /// Records that the connection has unsent bytes.
  package func connectionBlocked(byteCount: Int, at now: MediaTime) {
    self.state.handleBlocked(byteCount: byteCount, at: now)
  }

  /// Sends what is queued while the connection takes it, or requests a keyframe to resume at, when the connection has sent
  /// everything.
  package func connectionDrained(at now: MediaTime) {
    repeat {
      switch self.state.handleDrained(at: now) {
      case .none: return self.queueIsSent(at: now)
      case .sendQueued: self.sendQueued()
      case .resume(let frames, let requestsKeyframe):
        self.drop(frames: frames)
        if requestsKeyframe { self.requestKeyframe() }
        return
      }
    } while !self.isBlocked
  }

  /// Empties the queue, in which were this number of access units, with those that are not queued.
  package func drop(frames: Int) {
    self.removeQueued()
    if frames > 0 { self.counters.framesSkipped.add(frames, ordering: .relaxed) }
  }

  /// Whether the connection is to be closed, since it makes no progress; counts it then.
  package func checkProgress(byteCount: Int, at now: MediaTime) -> Bool {
    guard self.state.handleTimer(byteCount: byteCount, at: now) == .close else { return false }
    self.counters.countSlowViewer()
    return true
  }
}
