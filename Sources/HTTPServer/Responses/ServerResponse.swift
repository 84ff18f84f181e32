package import HTTPTypes
package import NIOCore

/// A response before conditions, ranges and content codings of its request are applied.
package struct ServerResponse: Sendable {
  /// The content of the response.
  package enum Body: Sendable {
    /// No content.
    case empty
    /// Bytes, shared with other responses.
    case bytes(ByteBuffer)
    /// A byte range of a file, read as the client reads.
    case file(OpenFile, Range<Int>)
    /// Content that is made while the client reads it, without a length.
    case streamed(any StreamedBody)
  }

  /// Status of the response.
  package var status: HTTPResponse.Status
  /// Fields of the head.
  package var fields: HTTPFields
  /// Content of the response.
  package var body: Body
  /// Rule for caches.
  package var caching: HTTPCaching
  /// The value of `ETag`, quotes included; nil for content that is never revalidated.
  package var etag: String?
  /// The time of `Last-Modified` in seconds since 1970; nil for none.
  package var lastModified: Int64?
  /// The web pages that may request, show or read it.
  package var sharing = HTTPSharing.sameOrigin
  /// Whether gzip may be applied.
  package var isCompressible = false
  /// Whether byte ranges may be requested.
  package var hasRanges = false
  /// Status line and fields as HTTP/1.1 sends them, of a finished response; nil where they were not prepared.
  package var serializedHead: ByteBuffer?
  /// Content of the body that may be discarded before the client has it; nil for other bodies.
  package var transfer: DiscardableTransfers.Transfer?
  /// Called on the connection's event loop once it is written, with the throughput; nil where that is of no interest.
  package var measured: (@Sendable (ConnectionThroughput) -> Void)?

  /// The head that is sent.
  var head: HTTPResponse { HTTPResponse(status: self.status, headerFields: self.fields) }

  /// Creates a response; without a rule for caches none stores it.
  package init(
    _ status: HTTPResponse.Status, _ fields: HTTPFields = [:], body: Body = .empty, caching: HTTPCaching = .never
  ) {
    self.status = status
    self.fields = fields
    self.body = body
    self.caching = caching
  }

  /// A response with one line of plain text, such as an error message.
  package static func text(
    _ status: HTTPResponse.Status, _ text: String, _ fields: HTTPFields = [:], caching: HTTPCaching = .never
  ) -> ServerResponse {
    var fields = fields
    fields[.contentType] = "text/plain; charset=utf-8"
    return ServerResponse(status, fields, body: .bytes(ByteBuffer(string: text + "\n")), caching: caching)
  }

  /// 404, never cached: a request for a file before it exists would keep it from all clients of a cache.
  package static func notFound(_ text: String = "not found") -> ServerResponse {
    .text(.notFound, text, caching: .never)
  }
}

/// Media types of responses that have no end of their own, by which connections are given up for others.
package enum EndlessMediaType {
  /// Server-sent events, HTML §9.2.5.
  package static let events = "text/event-stream"
  /// Parts of which each replaces the one before, such as motion JPEG.
  package static let replacedParts = "multipart/x-mixed-replace"
}
