internal import HTTPTypes
internal import NIOCore

/// The answer to a request, before it is put on a connection.
struct HTTPAnswer: Sendable {
  /// What follows the head.
  enum Body: Sendable {
    /// Nothing.
    case empty
    /// Bytes that are shared by all who get them.
    case bytes(ByteBuffer)
    /// Bytes of a file, which are read while the client takes them.
    case file(OpenFile, Range<Int>)
    /// Motion JPEG: pictures as long as the client is there.
    case pictures(AsyncStream<ByteBuffer>, of: PublishedStream)
    /// What comes first, and then messages as long as the client is there.
    case events(opening: ByteBuffer, AsyncStream<ByteBuffer>)
  }

  var status: HTTPResponse.Status
  var fields: HTTPFields
  var body: Body
  var caching: HTTPCaching
  /// The value of `ETag`, quotes included; nil for what is never asked for twice.
  var etag: String?
  /// When it was last changed, in seconds since 1970; nil for what tells no such time.
  var lastModified: Int64?
  /// Whether only pages of this server may ask for it and read it, not those of others.
  var isForSameOrigin = false
  /// Whether it is text that gets shorter.
  var isCompressible = false
  /// Whether parts of it may be asked for.
  var hasRanges = false

  init(
    _ status: HTTPResponse.Status, _ fields: HTTPFields = [:], body: Body = .empty, caching: HTTPCaching = .never
  ) {
    self.status = status
    self.fields = fields
    self.body = body
    self.caching = caching
  }

  /// A line of text, such as what is wrong.
  static func text(
    _ status: HTTPResponse.Status, _ text: String, _ fields: HTTPFields = [:], caching: HTTPCaching = .never
  ) -> HTTPAnswer {
    var fields = fields
    fields[.contentType] = "text/plain; charset=utf-8"
    return HTTPAnswer(status, fields, body: .bytes(ByteBuffer(string: text + "\n")), caching: caching)
  }

  /// 404, which a cache may keep for a moment: what is not there yet may be there soon.
  static func notFound(_ text: String = "there is nothing here") -> HTTPAnswer {
    .text(.notFound, text, caching: .seconds(1))
  }
}
