internal import Media
internal import NIOCore

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
