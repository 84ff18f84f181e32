internal import Media
internal import Synchronization

/// Status and events of a recording, written by its threads and read by its owner.
final class RecordingStatusStore: Sendable {
  let events: AsyncStream<RecordingEvent>
  private let continuation: AsyncStream<RecordingEvent>.Continuation
  private let current = Mutex(RecordingStatus())

  init() {
    (self.events, self.continuation) = AsyncStream.makeStream(bufferingPolicy: .bufferingNewest(64))
  }

  deinit {
    self.continuation.finish()
  }

  var status: RecordingStatus { self.current.withLock { $0 } }

  func update(_ body: (inout RecordingStatus) -> Void) {
    self.current.withLock { body(&$0) }
  }

  func report(_ event: RecordingEvent) {
    self.continuation.yield(event)
  }
}
