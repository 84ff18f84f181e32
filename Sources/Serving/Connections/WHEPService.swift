package import Authentication
package import NIOCore

/// Sessions of WebRTC viewers, as a server of WHEP (draft-ietf-wish-whep) opens, changes and ends them.
package protocol WHEPService: Sendable {
  /// Values of `Link` for clients that may watch: the STUN and TURN servers, RFC 9725 §4.6.
  var links: [String] { get }

  /// Answers an offer.
  ///
  /// - Parameters:
  ///   - path: Name of a stream, or `NAME/RENDITION`.
  ///   - offer: The body of the POST.
  ///   - client: Where it came from, of whom the number of sessions is bounded.
  ///   - serverAddresses: Addresses at which the client has reached this machine, its first candidates: that of the connection, and the
  ///     numeric one of the URL, which differ where a port is forwarded.
  func open(
    path: String, offer: ByteBuffer, client: IPAddress, serverAddresses: [IPAddress]
  ) async throws(WebRTCRefusal) -> WHEPSession

  /// Acknowledges a client's candidates, which an ICE lite agent does not use, or restarts ICE.
  ///
  /// - Parameters:
  ///   - id: Identifies the session.
  ///   - path: The path of the session's stream.
  ///   - fragment: The body of the PATCH, `application/trickle-ice-sdpfrag`.
  ///   - entityTags: The value of `If-Match`; nil without one.
  func change(
    _ id: String, path: String, fragment: ByteBuffer, entityTags: String?
  ) async throws(WebRTCRefusal) -> WHEPChange

  /// Ends a session, and notifies its client.
  ///
  /// - Returns: Whether there was one.
  func close(_ id: String, path: String) async -> Bool
}
