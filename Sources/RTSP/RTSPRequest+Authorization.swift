internal import Authentication
internal import Media

extension Authenticator {
  /// Judges a request.
  ///
  /// - Parameter nonce: The one that the connection has entered with, which does not expire.
  func judge(_ request: RTSPRequest, enteredWith nonce: String?, now: MediaTime) -> Verdict {
    self.judge(
      method: request.method.rawValue, authorization: request.headers.values(of: "Authorization"),
      covers: { Self.names($0, resourceOf: request.uri) }, enteredWith: nonce, now: now)
  }

  /// Whether the `uri` of a proof covers a request: the same resource, or one above it.
  ///
  /// live555 proves the stream's URL when it asks for a track, some clients leave out or add the slash at the end, the
  /// host or the query.
  private static func names(_ uri: String, resourceOf requestURI: String) -> Bool {
    if uri == requestURI { return true }
    guard let proven = try? RTSPURL(parsing: uri).pathComponents,
      let asked = try? RTSPURL(parsing: requestURI).pathComponents
    else { return false }
    return asked.starts(with: proven)
  }
}
