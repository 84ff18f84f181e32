internal import Authentication
public import NIOCore

/// A request, RFC 2326 §6.
public struct RTSPRequest: Hashable, Sendable {
  /// What is asked for.
  public var method: RTSPMethod
  /// What it is asked of, as written in the request line: a URL, a path or `*`.
  public var uri: String
  /// The header lines without `Content-Length`, which ``body`` says.
  public var headers: RTSPHeaders
  /// The body, empty when there is none.
  public var body: ByteBuffer

  /// A request.
  public init(method: RTSPMethod, uri: String, headers: RTSPHeaders = [:], body: ByteBuffer = ByteBuffer()) {
    self.method = method
    self.uri = uri
    self.headers = headers
    self.body = body
  }

  /// Writes the request as it goes over the wire, `Content-Length` included when there is a body.
  ///
  /// Control characters become spaces: nothing in the values can add a line.
  public func serialize(into buffer: inout ByteBuffer) {
    buffer.writeString(self.method.rawValue.withoutControls())
    buffer.writeStaticString(" ")
    buffer.writeString(self.uri.withoutControls())
    buffer.writeStaticString(" RTSP/1.0\r\n")
    buffer.writeHeaders(self.headers, body: self.body)
  }
}

extension ByteBuffer {
  /// Writes header lines, the empty line and the body.
  mutating func writeHeaders(_ headers: RTSPHeaders, body: ByteBuffer) {
    for field in headers.fields where !field.name.equalsIgnoringCase("Content-Length") {
      self.writeString(field.name)
      self.writeStaticString(": ")
      self.writeString(field.value)
      self.writeStaticString("\r\n")
    }
    if body.readableBytes > 0 {
      self.writeStaticString("Content-Length: ")
      self.writeString(String(body.readableBytes))
      self.writeStaticString("\r\n")
    }
    self.writeStaticString("\r\n")
    self.writeImmutableBuffer(body)
  }
}
