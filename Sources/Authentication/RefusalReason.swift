internal import Synchronization

/// Reason for which a request, connection or datagram is refused; the label of its counter.
public enum RefusalReason: String, Hashable, Sendable, CaseIterable {
  /// HTTP 421: the `Host` is not a name of this server.
  case badHost = "bad_host"
  /// HTTP 403: the `Origin` is a web page of another site.
  case badOrigin = "bad_origin"
  /// A wrong password or token, or a password that was sent in the clear.
  case failedLogin = "failed_login"
  /// HTTP and RTSP 401: a request without credentials where watching is protected, or with a nonce of the past. Players that
  /// log in with Digest begin with one.
  case unauthorized
  /// HTTP 429, RTSP 503: too many wrong passwords or tokens, or too many comparisons with hashes at once.
  case throttled
  /// The request needs a role that the client does not have.
  case forbidden
  /// A connection, upload, download, snapshot or change closed or refused because there are too many.
  case overLimit = "over_limit"
  /// A malformed request, message or packet.
  case malformed
  /// RTSP 454: the session does not exist.
  case sessionNotFound = "rtsp_454"
  /// RTSP 455: the method is not valid in the session's state.
  case methodNotValid = "rtsp_455"
  /// RTSP 461: the transport is not supported.
  case unsupportedTransport = "rtsp_461"
  /// A TLS handshake that failed.
  case tlsFailure = "tls_failure"
  /// A datagram dropped because the system's send buffer was full.
  case datagramDropped = "datagram_dropped"
  /// A connection closed because its client read too slowly.
  case slowViewer = "slow_viewer"
}

/// Number of refusals by reason since the start, shared by all protocols.
public final class RefusalCounters: Sendable {
  private let counts = Mutex<[RefusalReason: Int]>([:])

  /// Counters that are all zero.
  public init() {}

  /// Adds refusals of a reason; callable from any thread.
  public func count(_ reason: RefusalReason, _ number: Int = 1) {
    self.counts.withLock { $0[reason, default: 0] += number }
  }

  /// Number of refusals for a reason.
  public subscript(reason: RefusalReason) -> Int {
    self.counts.withLock { $0[reason, default: 0] }
  }

  /// Every reason with its number, in the order of declaration, zeros included.
  public var all: [(reason: RefusalReason, count: Int)] {
    let counts = self.counts.withLock { $0 }
    return RefusalReason.allCases.map { ($0, counts[$0, default: 0]) }
  }
}
