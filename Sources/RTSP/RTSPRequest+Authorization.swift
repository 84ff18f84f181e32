package import Authentication
internal import Media

extension RTSPRequest {
  /// The parts of the request that decide on its access; a token may be in the query of the URL.
  ///
  /// - Parameter nonce: The nonce that the connection has authenticated with, which does not expire.
  package func accessRequest(from address: String, enteredWith nonce: String? = nil) -> AccessRequest {
    AccessRequest(
      method: self.method.rawValue, authorization: self.headers.values(of: "Authorization"),
      token: self.token, address: address, connectionNonce: nonce)
  }

  /// The token in the query of the URL: in ANNOUNCE also as `key`, which means nothing to viewers; in SETUP up to a slash, behind
  /// which ffmpeg appends the track that it sends.
  private var token: String? {
    let url = try? RTSPURL(parsing: self.uri)
    switch self.method {
    case .announce: return url?.token ?? url?.key
    case .setup: return url?.token.map { String($0.prefix { $0 != "/" }) }
    default: return url?.token
    }
  }

  /// Whether the `uri` of a Digest proof covers the request: it names the same resource, or a parent of it.
  ///
  /// live555 sends the stream's URL in requests for a track; some clients omit or add a trailing slash, the host or the
  /// query.
  func isCovered(byProofFor uri: String) -> Bool {
    if uri == self.uri { return true }
    guard let proven = try? RTSPURL(parsing: uri).pathComponents,
      let requested = try? RTSPURL(parsing: self.uri).pathComponents
    else { return false }
    return requested.starts(with: proven)
  }
}
