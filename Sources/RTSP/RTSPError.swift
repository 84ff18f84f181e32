/// What is wrong with a message, which answer it deserves, and whether more can follow it.
public struct RTSPError: Error, Hashable, Sendable, CustomStringConvertible {
  /// What is wrong.
  public enum Code: Hashable, Sendable {
    /// The first line is neither a request nor a status line.
    case malformedStartLine
    /// The version is not RTSP/1.0.
    case unsupportedVersion
    /// The first line is longer than allowed.
    case startLineTooLong
    /// A header line has no colon, a bad name or a control character.
    case malformedHeader
    /// A header line, its folded lines included, is longer than allowed.
    case headerTooLong
    /// There are more header lines than allowed.
    case tooManyHeaders
    /// `Content-Length` is not a number, or several ones differ.
    case malformedContentLength
    /// `Content-Length` is more than allowed.
    case bodyTooLarge
    /// A URL cannot be read.
    case malformedURL
    /// A `Transport` header cannot be read.
    case malformedTransport
    /// A `Transport` header names only transports that are not known here.
    case unsupportedTransport
  }

  /// What is wrong.
  public var code: Code
  /// The `CSeq` of the message if that was read, for the answer.
  public var cSeq: String?
  /// Whether the message's end was found, so that the next one can be read; otherwise the connection has to be closed.
  public var canContinue: Bool

  /// An error.
  public init(_ code: Code, cSeq: String? = nil, canContinue: Bool) {
    self.code = code
    self.cSeq = cSeq
    self.canContinue = canContinue
  }

  /// The status to answer with, RFC 2326 §11.
  public var status: RTSPStatus {
    switch self.code {
    case .malformedStartLine, .malformedHeader, .headerTooLong, .tooManyHeaders, .malformedContentLength,
      .malformedURL, .malformedTransport:
      .badRequest
    case .unsupportedVersion: .versionNotSupported
    case .startLineTooLong: .requestURITooLarge
    case .bodyTooLarge: .requestEntityTooLarge
    case .unsupportedTransport: .unsupportedTransport
    }
  }

  /// One line for a log.
  public var description: String {
    "RTSP \(self.code), answered with \(self.status)\(self.canContinue ? "" : ", connection lost")"
  }
}
