package import Authentication
package import NIOCore

/// Sessions of WebRTC publishers, as a server of WHIP (RFC 9725) opens, changes and ends them. Callers have verified that the client
/// may publish.
package protocol WHIPService: Sendable {
  /// Values of `Link` for publishers: the STUN and TURN servers, RFC 9725 §4.6.
  var links: [String] { get }

  /// Decides about an offer before its body is read.
  ///
  /// - Parameters:
  ///   - name: Name of the stream.
  ///   - takesOver: Whether the publisher requests to displace another one.
  func admitPublication(of name: String, takesOver: Bool) async throws(WebRTCRefusal)

  /// Answers an offer, and gives the stream to its session.
  ///
  /// - Parameters:
  ///   - name: Name of the stream.
  ///   - offer: The body of the POST.
  ///   - takesOver: Whether the publisher requests to displace another one.
  ///   - serverAddresses: Addresses at which the client has reached this machine, its first candidates.
  func openPublication(
    of name: String, offer: ByteBuffer, takesOver: Bool, serverAddresses: [IPAddress]
  ) async throws(WebRTCRefusal) -> WHEPSession

  /// Acknowledges a publisher's candidates, which an ICE lite agent does not use, or restarts ICE.
  ///
  /// - Parameters:
  ///   - id: Identifies the session.
  ///   - name: Name of the session's stream.
  ///   - fragment: The body of the PATCH, `application/trickle-ice-sdpfrag`.
  ///   - entityTags: The value of `If-Match`; nil without one.
  func changePublication(
    _ id: String, of name: String, fragment: ByteBuffer, entityTags: String?
  ) async throws(WebRTCRefusal) -> WHEPChange

  /// Ends a session, and notifies its client.
  ///
  /// - Returns: Whether there was one.
  func closePublication(_ id: String, of name: String) async -> Bool
}
