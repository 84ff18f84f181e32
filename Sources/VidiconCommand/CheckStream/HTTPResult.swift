import NIOCore

/// Response of a server of HTTP to a request of a check. Times are in seconds since the request.
struct HTTPResult: Equatable, Sendable {
  /// Bytes of the body that have arrived at a time.
  struct Piece: Equatable, Sendable {
    var time: Double
    var bytes: ByteBuffer
  }

  /// Status of HTTP.
  var status: Int
  /// Names in lower case, and values.
  var headers: [Header] = []
  /// The body as far as it was received.
  var pieces: [Piece] = []
  /// Reason for the end of the body.
  var ending = Ending.cutOff
  /// Time until the head, and until the end.
  var headTime = 0.0
  var endTime = 0.0

  /// Reasons for the end of a body.
  enum Ending: Equatable, Sendable {
    /// All of it was received.
    case complete
    /// The server, or a proxy, has closed the connection before.
    case closed
    /// The time for it was over.
    case cutOff
    /// The rest beyond a maximum length was not received.
    case tooLong
  }

  /// A header line.
  struct Header: Equatable, Sendable {
    var name: String
    var value: String
  }

  /// The value of the first header with a name; nil without it.
  func header(_ name: String) -> String? {
    self.headers.first { $0.name == name }?.value
  }

  /// The media type without parameters, in lower case, such as `text/html`; nil without one.
  var contentType: String? {
    self.header("content-type")?.split(separator: ";").first?.lowercased().filter { $0 != " " }
  }

  /// The body.
  var body: ByteBuffer {
    var body = ByteBuffer()
    for piece in self.pieces { body.writeImmutableBuffer(piece.bytes) }
    return body
  }

  /// Whether scripts of pages of other servers may read it, Fetch §3.2.
  var allowsOtherOrigins: Bool {
    let origin = self.header("access-control-allow-origin")
    return origin == "*" || origin == HTTPExchange.origin
  }
}
