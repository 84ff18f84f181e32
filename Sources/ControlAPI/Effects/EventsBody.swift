internal import HTTPServer
internal import NIOCore

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
