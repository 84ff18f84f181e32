internal import Authentication
internal import Media

extension Authenticator {
  /// Verifies the credentials of a request.
  ///
  /// - Parameter nonce: The nonce that the connection has authenticated with, which does not expire.
  func judge(_ request: RTSPRequest, enteredWith nonce: String?, now: MediaTime) -> Verdict {
    self.judge(
      method: request.method.rawValue, authorization: request.headers.values(of: "Authorization"),
      covers: { Self.names($0, resourceOf: request.uri) }, enteredWith: nonce, now: now)
  }

  /// Whether the `uri` of a Digest proof covers a request: it names the same resource, or a parent of it.
  ///
  /// live555 sends the stream's URL in requests for a track; some clients omit or add a trailing slash, the host or the
  /// query.
  private static func names(_ uri: String, resourceOf requestURI: String) -> Bool {
    if uri == requestURI { return true }
    guard let proven = try? RTSPURL(parsing: uri).pathComponents,
      let asked = try? RTSPURL(parsing: requestURI).pathComponents
    else { return false }
    return asked.starts(with: proven)
  }
}
