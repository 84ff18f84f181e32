internal import Effects
internal import Media
internal import NIOCore
internal import Streaming
internal import Synchronization

/// Tells what effects find out about the faces of a stream: to those who listen to its events, and to HLS.
final class FaceFeed: StreamOutput {
  private struct State {
    var messages = FaceMessages()
    /// Where the faces are, as it was told last.
    var faces: ByteBuffer?
    var heartbeat: RepeatedTask?
  }

  /// Tells HLS.
  private let tell: @Sendable (TimedMetadata) -> Void
  private let listeners = Subscriptions<ByteBuffer>()
  private let state = Mutex(State())

  /// How often those who listen get a sign of life: what stands in between closes connections that are silent, and a
  /// listener that has gone is found out by it.
  static let heartbeatInterval = TimeAmount.seconds(10)
  /// Messages that are kept for a listener who is slow: some seconds. The oldest are lost.
  private static let mostKept = 64

  /// - Parameters:
  ///   - tell: Called with each message, on the thread that hands over the pictures, before the picture's sample.
  ///   - eventLoop: Where the signs of life come from.
  init(eventLoop: any EventLoop, tell: @escaping @Sendable (TimedMetadata) -> Void) {
    self.tell = tell
    let heartbeat = eventLoop.scheduleRepeatedTask(
      initialDelay: Self.heartbeatInterval, delay: Self.heartbeatInterval
    ) { [weak self] task in
      guard let self else { return task.cancel() }
      self.listeners.yield(ServerSentEvent.heartbeat)
    }
    self.state.withLock { $0.heartbeat = heartbeat }
  }

  /// All that is told from now on, and first where the faces are now, as a stream of server-sent events; ends with the
  /// feed.
  func listen() -> (opening: ByteBuffer, events: AsyncStream<ByteBuffer>) {
    // What is told in between is told twice, not missed.
    let events = self.listeners.subscribe(keeping: Self.mostKept)
    var opening = ServerSentEvent.opening
    if var faces = self.state.withLock({ $0.faces }) { opening.writeBuffer(&faces) }
    return (opening, events)
  }

  /// Those who listen now.
  var listenerCount: Int { self.listeners.count }

  func consume(_ sample: EncodedSample) {}

  func consume(_ metadata: TimedFrameMetadata) {
    let messages = self.state.withLock { state in
      let messages = state.messages.messages(of: metadata)
      if let faces = messages.last(where: { $0.name == FaceMessages.faces }) {
        state.faces = ServerSentEvent.bytes(faces)
      }
      return messages
    }
    for message in messages {
      self.listeners.yield(ServerSentEvent.bytes(message))
      self.tell(message)
    }
  }

  func streamEnded() {
    self.state.withLock { $0.heartbeat.take() }?.cancel()
    self.listeners.finish()
  }
}
