internal import Authentication
package import NIOCore

/// A request, RFC 2326 §6: method, URI, header lines and body.
package struct RTSPRequest: Hashable, Sendable {
  /// The method; one that no RFC defines is kept as written.
  package var method: RTSPMethod
  /// The request URI as written: a URL, a path or `*`.
  package var uri: String
  /// The header lines without `Content-Length`, which is the length of ``body``.
  package var headers: RTSPHeaders
  /// The body, empty when there is none.
  package var body: ByteBuffer

  /// A request with headers and body.
  package init(method: RTSPMethod, uri: String, headers: RTSPHeaders = [:], body: ByteBuffer = ByteBuffer()) {
    self.method = method
    self.uri = uri
    self.headers = headers
    self.body = body
  }

  /// Appends the request to a buffer, with `Content-Length` when it has a body.
  ///
  /// Control characters become spaces, so that a value cannot start a new line.
  package func serialize(into buffer: inout ByteBuffer) {
    buffer.writeString(self.method.rawValue.withoutControls())
    buffer.writeStaticString(" ")
    buffer.writeString(self.uri.withoutControls())
    buffer.writeStaticString(" RTSP/1.0\r\n")
    buffer.writeHeaders(self.headers, body: self.body)
  }
}

extension ByteBuffer {
  /// Writes header lines, an empty line and the body.
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
