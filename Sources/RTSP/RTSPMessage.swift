package import Media
package import NIOCore

/// One element of the byte stream of an RTSP connection, in either direction.
package enum RTSPMessage: Hashable, Sendable {
  /// A request, RFC 2326 §6.
  case request(RTSPRequest)
  /// A response, RFC 2326 §7.
  case response(RTSPResponse)
  /// An RTP or RTCP packet between the messages, RFC 2326 §10.12; the payload shares the memory of the received buffer.
  case interleaved(channel: UInt8, payload: ByteBuffer)
  /// A message that breaks the grammar or a limit.
  case malformed(RTSPMalformedMessage)
}

/// A message that cannot be parsed: the error, the data for its response, and whether more messages can follow.
package struct RTSPMalformedMessage: Hashable, Sendable {
  /// The first error of the message. ``RTSPStatus/init(rejecting:)`` is the status of the response.
  package var error: ParsingError
  /// The value of the message's `CSeq` header, if that was parsed before the error.
  package var cSeq: String?
  /// Whether the end of the message was found and the next message can be parsed; otherwise the connection has to be
  /// closed.
  package var canContinue: Bool

  /// Creates the report of a malformed message, with the `CSeq` to answer if it was received.
  package init(_ error: ParsingError, cSeq: String? = nil, canContinue: Bool) {
    self.error = error
    self.cSeq = cSeq
    self.canContinue = canContinue
  }
}

extension RTSPStatus {
  /// The status of the response to a request with this error, RFC 2326 §11: 413, 414, 461, 505, else 400.
  package init(rejecting error: ParsingError) {
    self =
      switch (error.code, error.field) {
      case (.tooLarge, RTSPField.startLine): .requestURITooLarge
      case (.tooLarge, RTSPField.contentLength): .requestEntityTooLarge
      case (.unsupported, RTSPField.transport): .unsupportedTransport
      case (.unsupported, RTSPField.version): .versionNotSupported
      default: .badRequest
      }
  }
}

/// The fields that a ``ParsingError`` of this module names.
enum RTSPField {
  /// The request or status line, RFC 2326 §6.1 and §7.1.
  static let startLine = "start line"
  /// The version in the start line.
  static let version = "RTSP-Version"
  /// One header line with the lines that continue it.
  static let header = "header"
  /// The number of header lines.
  static let headerCount = "header count"
  /// An interleaved packet, RFC 2326 §10.12.
  static let interleavedPacket = "interleaved packet"
  /// The length of the body.
  static let contentLength = "Content-Length"
  /// A request URI, RFC 2326 §3.2.
  static let requestURI = "Request-URI"
  /// A transport specification, RFC 2326 §12.39.
  static let transport = "Transport"
}
