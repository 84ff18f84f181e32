package import NIOCore

/// Session of a viewer or publisher whose offer was answered.
package struct WHEPSession: Hashable, Sendable {
  /// Identifies the session in its URL; cannot be guessed.
  package var id: String
  /// The value of `ETag`, quotes included: another one after each ICE restart.
  package var entityTag: String
  /// Body of the response to the offer, `application/sdp`.
  package var answer: ByteBuffer

  /// Creates the description of a session, whose entity tag has quotes.
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

/// Reasons why a request of WHEP or WHIP is refused.
package enum WebRTCRefusal: Error, Hashable, Sendable {
  /// There is no such stream, rendition or session: 404.
  case notFound
  /// The stream has no source `whip:`: 404.
  case noSource
  /// The stream has nothing to send yet: 409, to be tried again.
  case noMedia
  /// Another publisher is live: 409, to be tried again after some seconds.
  case taken(retryAfter: Int)
  /// The body is malformed, or lacks what an answer needs: 400.
  case malformed(String)
  /// No track of a viewer's offer can carry anything of the stream: 406.
  case nothingFits
  /// A viewer's offer wants to receive no track that the stream could fill: 406.
  case receivesNothing
  /// The H.264 of a viewer's offer does not decode the stream, for a reason: 406.
  case noDecoder(String)
  /// No track of a publisher's offer has a codec that can be received: 422.
  case nothingReceivable
  /// There are too many sessions, in total or of the client: 503.
  case tooManySessions
  /// A restart without `If-Match`: 428.
  case preconditionRequired
  /// `If-Match` names an entity tag of the past: 412.
  case preconditionFailed
}
