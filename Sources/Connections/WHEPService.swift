package import Authentication
package import NIOCore

/// Sessions of WebRTC viewers, as a server of WHEP (draft-ietf-wish-whep) opens, changes and ends them.
package protocol WHEPService: Sendable {
  /// Answers an offer.
  ///
  /// - Parameters:
  ///   - path: Name of a stream, or `NAME/RENDITION`.
  ///   - offer: The body of the POST.
  ///   - client: Where it came from, of whom the number of sessions is bounded.
  ///   - localAddress: The address of this machine that the client used: its first candidate.
  func open(
    path: String, offer: ByteBuffer, client: IPAddress, localAddress: IPAddress?
  ) async throws(WHEPRefusal) -> WHEPSession

  /// Takes candidates of a client, or restarts ICE.
  ///
  /// - Parameters:
  ///   - id: Identifies the session.
  ///   - path: The path of the session's stream.
  ///   - fragment: The body of the PATCH, `application/trickle-ice-sdpfrag`.
  ///   - entityTags: The value of `If-Match`; nil without one.
  func change(
    _ id: String, path: String, fragment: ByteBuffer, entityTags: String?
  ) async throws(WHEPRefusal) -> WHEPChange

  /// Ends a session, and notifies its client.
  ///
  /// - Returns: Whether there was one.
  func close(_ id: String, path: String) async -> Bool
}

/// An answered session.
package struct WHEPSession: Hashable, Sendable {
  /// Identifies the session in its URL; cannot be guessed.
  package var id: String
  /// The value of `ETag`, quotes included: another one after each ICE restart.
  package var entityTag: String
  /// The answer, `application/sdp`.
  package var answer: ByteBuffer

  /// Creates a session.
  package init(id: String, entityTag: String, answer: ByteBuffer) {
    self.id = id
    self.entityTag = entityTag
    self.answer = answer
  }
}

/// Changes that a PATCH has made.
package enum WHEPChange: Hashable, Sendable {
  /// Candidates were taken: 204.
  case candidates
  /// ICE was restarted: 200 with the server's new credentials, and another entity tag.
  case restarted(fragment: ByteBuffer, entityTag: String)
}

/// Why a request of WHEP is refused.
package enum WHEPRefusal: Error, Hashable, Sendable {
  /// There is no such stream, rendition or session: 404.
  case notFound
  /// The stream has nothing to send yet: 409, to be tried again.
  case nothingPublished
  /// The body is malformed, or lacks what an answer needs: 400.
  case malformed(String)
  /// No track of the offer can carry anything of the stream: 406.
  case nothingFits
  /// There are too many sessions, in total or of the client: 503.
  case tooManySessions
  /// A restart without `If-Match`: 428.
  case preconditionRequired
  /// `If-Match` names an entity tag of the past: 412.
  case preconditionFailed
}
