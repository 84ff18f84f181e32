internal import Effects
internal import HTTPServer
internal import Media
internal import NIOCore
internal import Streaming
internal import Synchronization

/// Sends the face metadata of a stream as server-sent events and as timed metadata of HLS.
final class FaceEventOutput: StreamOutput {
  private struct State {
    var messages = FaceMessages()
    /// The last event with the positions of the faces.
    var faces: ByteBuffer?
    var heartbeat: RepeatedTask?
  }

  /// Passes metadata to HLS.
  private let sendToHLS: @Sendable (TimedMetadata) -> Void
  private let listeners = Subscriptions<ByteBuffer>()
  private let state = Mutex(State())

  /// Interval of heartbeats: proxies close silent connections, and a failed write reveals a listener that has gone.
  static let heartbeatInterval = TimeAmount.seconds(10)
  /// Maximum number of messages queued for a listener, some seconds; the oldest are dropped.
  private static let maximumQueued = 64

  /// - Parameters:
  ///   - sendToHLS: Receives each message on the thread that delivers the frames, before the frame's sample.
  ///   - eventLoop: Runs the heartbeat.
  init(eventLoop: any EventLoop, sendToHLS: @escaping @Sendable (TimedMetadata) -> Void) {
    self.sendToHLS = sendToHLS
    let heartbeat = eventLoop.scheduleRepeatedTask(
      initialDelay: Self.heartbeatInterval, delay: Self.heartbeatInterval
    ) { [weak self] task in
      guard let self else { return task.cancel() }
      self.listeners.yield(ServerSentEvent.heartbeat)
    }
    self.state.withLock { $0.heartbeat = heartbeat }
  }

  /// False: it takes metadata only.
  var hasConsumers: Bool { false }

  /// The current positions of the faces, then all later events, as server-sent events; ends with the stream.
  func listen() -> EventsBody {
    // An event between these two steps is sent twice rather than missed.
    let events = self.listeners.subscribe(keeping: Self.maximumQueued)
    var opening = ServerSentEvent.opening
    if var faces = self.state.withLock({ $0.faces }) { opening.writeBuffer(&faces) }
    return EventsBody(opening: opening, events)
  }

  /// Current number of listeners.
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
      self.sendToHLS(message)
    }
  }

  func streamEnded() {
    self.state.withLock { $0.heartbeat.take() }?.cancel()
    self.listeners.finish()
  }
}

/// Server-sent events until the client disconnects or the stream ends.
final class EventsBody: StreamedBody {
  private let opening: ByteBuffer
  let events: AsyncStream<ByteBuffer>

  /// - Parameters:
  ///   - opening: The bytes before the first event.
  ///   - events: The events of one client, of which the oldest are dropped while it does not read.
  init(opening: ByteBuffer, _ events: AsyncStream<ByteBuffer>) {
    self.opening = opening
    self.events = events
  }

  @concurrent func write(to writer: inout BodyWriter) async throws {
    try await writer.write(self.opening)
    // A write waits until the client reads; meanwhile `events` drops its oldest messages.
    for await event in self.events { try await writer.write(event) }
  }
}

/// Serializes a `text/event-stream`, HTML §9.2.5.
enum ServerSentEvent {
  /// The first field: the reconnection time, in milliseconds.
  static let opening = ByteBuffer(string: "retry: 2000\n\n")
  /// A comment, which keeps the connection alive.
  static let heartbeat = ByteBuffer(string: ":\n\n")

  /// An event. Name and text must not contain line breaks; the JSON of this server has none.
  static func bytes(_ message: TimedMetadata) -> ByteBuffer {
    ByteBuffer(string: "event: \(message.name)\ndata: \(message.text)\n\n")
  }
}
