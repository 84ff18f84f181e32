internal import HTTPTypes
internal import HummingbirdCore
internal import NIOCore

/// The answer to a request, before it is put on a connection.
struct HTTPAnswer: Sendable {
  /// What follows the head.
  enum Body: Sendable {
    /// Nothing.
    case empty
    /// Bytes that are shared by all who get them.
    case bytes(ByteBuffer)
    /// What comes as long as the client is there; each element is sent at once.
    case stream(AsyncStream<ByteBuffer>)
  }

  var status: HTTPResponse.Status
  var fields: HTTPFields
  var body: Body

  init(_ status: HTTPResponse.Status, _ fields: HTTPFields = [:], body: Body = .empty) {
    self.status = status
    self.fields = fields
    self.body = body
  }

  /// A line of text, such as what is wrong.
  static func text(_ status: HTTPResponse.Status, _ text: String, _ fields: HTTPFields = [:]) -> HTTPAnswer {
    var fields = fields
    fields[.contentType] = "text/plain; charset=utf-8"
    if fields[.cacheControl] == nil { fields[.cacheControl] = "no-store" }
    return HTTPAnswer(status, fields, body: .bytes(ByteBuffer(string: text + "\n")))
  }
}
