package import Authentication
internal import Media

extension RTSPRequest {
  /// The parts of the request that decide on its access; a token may be in the query of the URL.
  ///
  /// - Parameter nonce: The nonce that the connection has authenticated with, which does not expire.
  package func accessRequest(from address: String, enteredWith nonce: String? = nil) -> AccessRequest {
    AccessRequest(
      method: self.method.rawValue, authorization: self.headers.values(of: "Authorization"),
      token: (try? RTSPURL(parsing: self.uri))?.token, address: address, connectionNonce: nonce)
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
