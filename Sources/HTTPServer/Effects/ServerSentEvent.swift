internal import Media
internal import NIOCore

/// What stands in a `text/event-stream`, HTML §9.2.5.
enum ServerSentEvent {
  /// The media type.
  static let mediaType = "text/event-stream"
  /// What comes first: after how many milliseconds without a connection a browser asks again.
  static let opening = ByteBuffer(string: "retry: 2000\n\n")
  /// A comment, which says that the connection lives.
  static let heartbeat = ByteBuffer(string: ":\n\n")

  /// A message, whose name and text have no line breaks: JSON as it is written here has none.
  static func bytes(_ message: TimedMetadata) -> ByteBuffer {
    ByteBuffer(string: "event: \(message.name)\ndata: \(message.text)\n\n")
  }
}
