/// A status code, RFC 2326 §7.1.1 and §11.
///
/// Codes without a section below have the meaning that they have in HTTP/1.1 (RFC 2068 §10).
package struct RTSPStatus: Hashable, Sendable, CustomStringConvertible {
  /// The code: three digits, 100 to 999.
  package let code: Int

  /// A status by its code, clamped to 100...999.
  package init(code: Int) {
    self.code = min(max(code, 100), 999)
  }

  /// 200 OK: the request has succeeded.
  package static let ok = RTSPStatus(code: 200)
  /// 400 Bad Request: the message is malformed, or lacks a header that its method requires.
  package static let badRequest = RTSPStatus(code: 400)
  /// 401 Unauthorized: `WWW-Authenticate` has the challenges for credentials.
  package static let unauthorized = RTSPStatus(code: 401)
  /// 403 Forbidden: the credentials are valid, but do not permit the request.
  package static let forbidden = RTSPStatus(code: 403)
  /// 404 Not Found: no stream or track has the URI.
  package static let notFound = RTSPStatus(code: 404)
  /// 406 Not Acceptable: `Accept` allows no session description in SDP.
  package static let notAcceptable = RTSPStatus(code: 406)
  /// 413 Request Entity Too Large: the body is longer than the limit.
  package static let requestEntityTooLarge = RTSPStatus(code: 413)
  /// 414 Request-URI Too Large: the request line is longer than the limit.
  package static let requestURITooLarge = RTSPStatus(code: 414)
  /// 415 Unsupported Media Type: an announced stream has other codecs than H.264 and AAC.
  package static let unsupportedMediaType = RTSPStatus(code: 415)
  /// 451 Parameter Not Understood, §11.3.2: a parameter in the body is not supported.
  package static let parameterNotUnderstood = RTSPStatus(code: 451)
  /// 454 Session Not Found, §11.3.5: the identifier in `Session` is missing, unknown or has expired.
  package static let sessionNotFound = RTSPStatus(code: 454)
  /// 455 Method Not Valid in This State, §11.3.6: for example PLAY before SETUP.
  package static let methodNotValidInThisState = RTSPStatus(code: 455)
  /// 459 Aggregate Operation Not Allowed, §11.3.10: the URI has to name one track, for example in SETUP.
  package static let aggregateOperationNotAllowed = RTSPStatus(code: 459)
  /// 460 Only Aggregate Operation Allowed, §11.3.11: the URI has to name the whole stream, not one track.
  package static let onlyAggregateOperationAllowed = RTSPStatus(code: 460)
  /// 461 Unsupported Transport, §11.3.12: no alternative in `Transport` is supported.
  package static let unsupportedTransport = RTSPStatus(code: 461)
  /// 500 Internal Server Error: the server has failed to process the request.
  package static let internalServerError = RTSPStatus(code: 500)
  /// 501 Not Implemented: the server does not support the method.
  package static let notImplemented = RTSPStatus(code: 501)
  /// 503 Service Unavailable: a temporary state; `Retry-After` may have the delay in seconds.
  package static let serviceUnavailable = RTSPStatus(code: 503)
  /// 505 RTSP Version Not Supported: the version of the request is not RTSP/1.0.
  package static let versionNotSupported = RTSPStatus(code: 505)
  /// 551 Option Not Supported, §11.3.14: `Unsupported` repeats the options that `Require` asked for.
  package static let optionNotSupported = RTSPStatus(code: 551)

  /// The reason phrase of RFC 2326 §7.1.1; "OK" or "Error" for other codes.
  package var reasonPhrase: String {
    Self.reasonPhrases[self.code] ?? (self.code < 400 ? "OK" : "Error")
  }

  /// Code and reason phrase, such as "404 Not Found".
  package var description: String {
    "\(self.code) \(self.reasonPhrase)"
  }

  private static let reasonPhrases: [Int: String] = [
    100: "Continue",
    200: "OK",
    201: "Created",
    250: "Low on Storage Space",
    300: "Multiple Choices",
    301: "Moved Permanently",
    302: "Moved Temporarily",
    303: "See Other",
    304: "Not Modified",
    305: "Use Proxy",
    400: "Bad Request",
    401: "Unauthorized",
    402: "Payment Required",
    403: "Forbidden",
    404: "Not Found",
    405: "Method Not Allowed",
    406: "Not Acceptable",
    407: "Proxy Authentication Required",
    408: "Request Time-out",
    410: "Gone",
    411: "Length Required",
    412: "Precondition Failed",
    413: "Request Entity Too Large",
    414: "Request-URI Too Large",
    415: "Unsupported Media Type",
    451: "Parameter Not Understood",
    452: "Conference Not Found",
    453: "Not Enough Bandwidth",
    454: "Session Not Found",
    455: "Method Not Valid in This State",
    456: "Header Field Not Valid for Resource",
    457: "Invalid Range",
    458: "Parameter Is Read-Only",
    459: "Aggregate Operation Not Allowed",
    460: "Only Aggregate Operation Allowed",
    461: "Unsupported Transport",
    462: "Destination Unreachable",
    500: "Internal Server Error",
    501: "Not Implemented",
    502: "Bad Gateway",
    503: "Service Unavailable",
    504: "Gateway Time-out",
    505: "RTSP Version Not Supported",
    551: "Option Not Supported",
  ]
}
