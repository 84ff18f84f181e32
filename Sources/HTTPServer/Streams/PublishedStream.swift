internal import Media
internal import Streaming

/// A stream as HTTP offers it.
final class PublishedStream: Sendable {
  let stream: LiveStream
  /// When it was published: nanoseconds since 1970.
  let publishedAt: Int64

  init(_ stream: LiveStream, publishedAt: Int64) {
    self.stream = stream
    self.publishedAt = publishedAt
  }

  var name: String { self.stream.name }
}
