internal import Authentication
package import NIOCore

/// A response, RFC 2326 §7: status, reason phrase, header lines and body.
package struct RTSPResponse: Hashable, Sendable {
  /// The status code of the status line, RFC 2326 §7.1.1.
  package var status: RTSPStatus
  /// The text behind the status code, for humans only, RFC 2326 §7.1.1.
  package var reasonPhrase: String
  /// The header lines without `Content-Length`, which is the length of ``body``.
  package var headers: RTSPHeaders
  /// The body, empty when there is none.
  package var body: ByteBuffer

  /// A response; without a reason phrase it has the one of the status.
  package init(
    status: RTSPStatus, reasonPhrase: String? = nil, headers: RTSPHeaders = [:], body: ByteBuffer = ByteBuffer()
  ) {
    self.status = status
    self.reasonPhrase = reasonPhrase ?? status.reasonPhrase
    self.headers = headers
    self.body = body
  }

  /// Appends the response to a buffer, with `Content-Length` when it has a body.
  ///
  /// Control characters become spaces, so that a value cannot start a new line.
  package func serialize(into buffer: inout ByteBuffer) {
    buffer.writeStaticString("RTSP/1.0 ")
    buffer.writeString(String(self.status.code))
    buffer.writeStaticString(" ")
    buffer.writeString(self.reasonPhrase.withoutControls())
    buffer.writeStaticString("\r\n")
    buffer.writeHeaders(self.headers, body: self.body)
  }
}
