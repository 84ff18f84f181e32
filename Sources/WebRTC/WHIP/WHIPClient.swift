package import Authentication
package import Media
package import NIOCore

/// A request of a WHIP client.
package struct WHIPRequest: Hashable, Sendable {
  /// Method of HTTP.
  package enum Method: String, Hashable, Sendable {
    case post = "POST"
    case delete = "DELETE"
  }

  /// Method of HTTP.
  package var method: Method
  /// URL of the request.
  package var url: WHIPURL
  /// The token of `Authorization: Bearer`; nil without one.
  package var token: Secret?
  /// The offer, `application/sdp`; nil without a body.
  package var offer: ByteBuffer?
}

/// A server's response to a ``WHIPRequest``.
package struct WHIPResponse: Hashable, Sendable {
  /// Status of HTTP.
  package var status: Int
  /// Value of `Location`; nil without one.
  package var location: String?
  /// Value of `Retry-After`; nil without one.
  package var retryAfter: String?
  /// The body.
  package var body: ByteBuffer

  /// Creates a response.
  package init(status: Int, location: String? = nil, retryAfter: String? = nil, body: ByteBuffer = ByteBuffer()) {
    self.status = status
    self.location = location
    self.retryAfter = retryAfter
    self.body = body
  }
}

/// Requests a session of a WHIP server and ends it, RFC 9725 §4. Pure: the caller sends each request, and passes its response to
/// ``handle(_:)``.
///
/// ```
///            POST offer         201 + Location + answer              DELETE
///   idle ───────────────▶ offered ──────────────────────▶ open ──────────────▶ ended
///                          │   ▲        any other status │
///                          └───┘                         ▼
///                     307, 308: the same request      failure, perhaps with Retry-After
/// ```
///
/// A redirect is followed at most ``maximumRedirectCount`` times and never from HTTPS to HTTP. The token goes to another origin, by a
/// redirect or by the session's URL, over HTTPS only. ICE servers in `Link` are not used: the server is reached without TURN.
package struct WHIPClient: Sendable {
  /// Consequence of a response.
  package enum Result: Hashable, Sendable {
    /// The request to send now.
    case send(WHIPRequest)
    /// The server's session description.
    case answered(ByteBuffer)
    /// The session was refused.
    case failed(Failure)
  }

  /// Reason for a missing session; its text is one line for the owner, without anything of the server's text.
  package struct Failure: Error, Hashable, Sendable, CustomStringConvertible {
    /// Cause of a failure.
    package enum Cause: Hashable, Sendable {
      /// A status without a session.
      case status(Int)
      /// A redirect without a usable target, or one too many.
      case redirect
      /// A session without a usable URL.
      case noSession
    }

    /// Cause of the failure.
    package var cause: Cause
    /// Time that the server wants to pass before the next attempt; nil when it names none.
    package var retryAfter: MediaDuration?

    /// One line for the owner.
    package var description: String {
      switch self.cause {
      case .status(let status): "\(Self.text(status)) (\(status))"
      case .redirect: "the server redirects to an address that is not followed"
      case .noSession: "the server's session has no address"
      }
    }

    private static func text(_ status: Int) -> String {
      switch status {
      case 400, 406, 415, 422: "the server does not accept the offer"
      case 401, 403: "the token is refused"
      case 404, 405, 410: "no WHIP endpoint there"
      case 409: "another publisher is live"
      case 429, 503: "the server is busy"
      case 300...399: "the server redirects in a way that WHIP does not have"
      case 500...599: "the server has failed"
      default: "no WHIP server there"
      }
    }
  }

  /// Maximum number of redirects of an offer.
  package static let maximumRedirectCount = 5
  /// Maximum `Retry-After` that is followed.
  package static let maximumRetryDelay = MediaDuration.seconds(300)

  private let endpoint: WHIPURL
  private let token: Secret?
  /// The offer that is on its way, and where it was sent.
  private var pending: (offer: ByteBuffer, url: WHIPURL)?
  private var redirectCount = 0
  /// The URL of the session; nil before, and after its end.
  private var session: WHIPURL?

  /// A client without a session.
  ///
  /// - Parameter token: Goes to the endpoint with each request; nil without one.
  package init(endpoint: WHIPURL, token: Secret?) {
    self.endpoint = endpoint
    self.token = token
  }

  /// The first request.
  package mutating func post(_ offer: ByteBuffer) -> WHIPRequest {
    self.pending = (offer, self.endpoint)
    self.redirectCount = 0
    return WHIPRequest(method: .post, url: self.endpoint, token: self.token, offer: offer)
  }

  /// Returns the answer of a response to an offer, the next request where that redirects, or the failure.
  package mutating func handle(_ response: WHIPResponse) -> Result {
    guard let (offer, url) = self.pending.take() else { return .failed(Failure(cause: .noSession)) }
    switch response.status {
    case 201:
      guard let session = response.location.flatMap({ url.resolved($0) }) else {
        return .failed(Failure(cause: .noSession))
      }
      self.session = session
      return .answered(response.body)
    case 307, 308:
      guard self.redirectCount < Self.maximumRedirectCount, let next = response.location.flatMap({ url.resolved($0) })
      else { return .failed(Failure(cause: .redirect)) }
      self.redirectCount += 1
      self.pending = (offer, next)
      return .send(WHIPRequest(method: .post, url: next, token: self.token(for: next), offer: offer))
    default:
      return .failed(Failure(cause: .status(response.status), retryAfter: Self.retryDelay(response.retryAfter)))
    }
  }

  /// The request that ends the session; nil without one. Its response does not matter.
  package mutating func end() -> WHIPRequest? {
    self.pending = nil
    guard let session = self.session.take() else { return nil }
    return WHIPRequest(method: .delete, url: session, token: self.token(for: session), offer: nil)
  }

  private func token(for url: WHIPURL) -> Secret? {
    url.isEncrypted || url.hasOrigin(of: self.endpoint) ? self.token : nil
  }

  /// Seconds of `Retry-After`, RFC 9110 §10.2.3; its dates are not read, since the server's clock may be another one.
  private static func retryDelay(_ text: String?) -> MediaDuration? {
    guard let text, let seconds = Int64(text), seconds >= 0 else { return nil }
    return min(.seconds(seconds), Self.maximumRetryDelay)
  }
}
