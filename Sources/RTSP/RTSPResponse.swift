internal import Authentication
public import NIOCore

/// An answer, RFC 2326 §7.
public struct RTSPResponse: Hashable, Sendable {
  /// How the request ended.
  public var status: RTSPStatus
  /// The text after the number in the status line, for people only.
  public var reasonPhrase: String
  /// The header lines without `Content-Length`, which ``body`` says.
  public var headers: RTSPHeaders
  /// The body, empty when there is none.
  public var body: ByteBuffer

  /// An answer; without a reason phrase it takes the status' own.
  public init(
    status: RTSPStatus, reasonPhrase: String? = nil, headers: RTSPHeaders = [:], body: ByteBuffer = ByteBuffer()
  ) {
    self.status = status
    self.reasonPhrase = reasonPhrase ?? status.reasonPhrase
    self.headers = headers
    self.body = body
  }

  /// Writes the answer as it goes over the wire, `Content-Length` included when there is a body.
  ///
  /// Control characters become spaces: nothing in the values can add a line.
  public func serialize(into buffer: inout ByteBuffer) {
    buffer.writeStaticString("RTSP/1.0 ")
    buffer.writeString(String(self.status.code))
    buffer.writeStaticString(" ")
    buffer.writeString(self.reasonPhrase.withoutControls())
    buffer.writeStaticString("\r\n")
    buffer.writeHeaders(self.headers, body: self.body)
  }
}
