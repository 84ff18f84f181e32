internal import HTTPTypes
internal import NIOCore
internal import Streaming

/// A response before conditions, ranges and content codings of its request are applied.
struct ServerResponse: Sendable {
  /// The content of the response.
  enum Body: Sendable {
    /// No content.
    case empty
    /// Bytes, shared with other responses.
    case bytes(ByteBuffer)
    /// A byte range of a file, read as the client reads.
    case file(OpenFile, Range<Int>)
    /// Motion JPEG: JPEG images until the client disconnects or the stream ends.
    case motionJPEG(AsyncStream<MotionJPEGImage>, of: PublishedStream)
    /// Server-sent events until the client disconnects or the stream ends.
    case events(opening: ByteBuffer, AsyncStream<ByteBuffer>)
  }

  var status: HTTPResponse.Status
  var fields: HTTPFields
  var body: Body
  var caching: HTTPCaching
  /// The value of `ETag`, quotes included; nil for content that is never revalidated.
  var etag: String?
  /// The time of `Last-Modified` in seconds since 1970; nil for none.
  var lastModified: Int64?
  /// The web pages that may request, show or read it.
  var sharing = HTTPSharing.sameOrigin
  /// Whether gzip may be applied.
  var isCompressible = false
  /// Whether byte ranges may be requested.
  var hasRanges = false
  /// Status line and fields as HTTP/1.1 sends them, of a finished response; nil where they were not prepared.
  var serializedHead: ByteBuffer?
  /// Media of a stream in the body; nil for other bodies.
  var transfer: MediaTransfers.Transfer?
  /// Called on the connection's event loop once it is written, with the throughput; nil where that is of no interest.
  var measured: (@Sendable (ViewerThroughputs.Measurement) -> Void)?

  /// The head that is sent.
  var head: HTTPResponse { HTTPResponse(status: self.status, headerFields: self.fields) }

  init(
    _ status: HTTPResponse.Status, _ fields: HTTPFields = [:], body: Body = .empty, caching: HTTPCaching = .never
  ) {
    self.status = status
    self.fields = fields
    self.body = body
    self.caching = caching
  }

  /// A response with one line of plain text, such as an error message.
  static func text(
    _ status: HTTPResponse.Status, _ text: String, _ fields: HTTPFields = [:], caching: HTTPCaching = .never
  ) -> ServerResponse {
    var fields = fields
    fields[.contentType] = "text/plain; charset=utf-8"
    return ServerResponse(status, fields, body: .bytes(ByteBuffer(string: text + "\n")), caching: caching)
  }

  /// 404, never cached: a request for a part before it exists would keep it from all viewers of a cache.
  static func notFound(_ text: String = "not found") -> ServerResponse {
    .text(.notFound, text, caching: .never)
  }
}
