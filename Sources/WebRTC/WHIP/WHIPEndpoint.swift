package import Media

/// Decides which session publishes to a stream by WHIP, RFC 9725. Pure: no request, session or clock; `now` is an argument.
///
/// ```
///                    POST                          DELETE, session closed
///   free ──────────────────────▶ taken by a session ─────────────────────▶ free
///                                  │  ▲
///            POST, taken over or   │  │ the new session
///            the session is silent └──┘ displaces it
/// ```
///
/// The caller verifies the publisher's token, as it verifies other credentials, asks ``admit(takesOver:at:)`` when the head of an offer
/// was read, reads its body, and calls ``open(_:takesOver:at:)`` for an offer that can be answered. A session that has sent media
/// lately is displaced only by a publisher's request to take over: two programs that reconnect by themselves would displace each other
/// again and again.
package struct WHIPEndpoint: Sendable {
  /// Another publisher is live: 409 with `Retry-After`.
  package struct Taken: Error, Hashable, Sendable {
    /// Seconds after which the publisher can try again, the value of `Retry-After`.
    package var retryAfter: Int
  }

  /// Attempts to publish, by their result.
  package struct Counters: Hashable, Sendable {
    /// Number of sessions that were opened.
    package var opened = 0
    /// Sessions that were displaced because they were silent.
    package var replaced = 0
    /// Sessions that another publisher took over.
    package var takenOver = 0
    /// Attempts that found another publisher live.
    package var refused = 0

    /// Creates counters, all of them zero.
    package init() {}
  }

  private struct Publication {
    var session: String
    var opened: MediaTime
    var lastMedia: MediaTime?
  }

  /// Time without media after which a session may be displaced.
  package static let silence = MediaDuration.seconds(2)
  /// Time for which a new session may connect before it counts as silent.
  package static let connectTime = MediaDuration.seconds(5)

  private var publication: Publication?
  /// Number of attempts to publish since the endpoint was made, by their result.
  package private(set) var counters = Counters()

  /// An endpoint without a publisher.
  package init() {}

  /// The session that publishes; nil while there is none.
  package var session: String? { self.publication?.session }

  /// Whether the session has sent media lately.
  package func isLive(at now: MediaTime) -> Bool {
    self.publication?.lastMedia.map { now - $0 < Self.silence } ?? false
  }

  /// Decides about an offer before its body is read.
  ///
  /// - Throws: ``Taken`` when another publisher is live.
  package mutating func admit(takesOver: Bool, at now: MediaTime) throws(Taken) {
    guard !takesOver, self.isHeld(at: now) else { return }
    self.counters.refused += 1
    throw Taken(retryAfter: Int(Self.silence.seconds) + 1)
  }

  /// Gives the stream to a new session, after its offer was read: another one may have come first.
  ///
  /// - Returns: The session that it displaces, which the caller closes; nil without one.
  package mutating func open(_ session: String, takesOver: Bool, at now: MediaTime) throws(Taken) -> String? {
    try self.admit(takesOver: takesOver, at: now)
    let displaced = self.publication
    if displaced != nil {
      if self.isHeld(at: now) { self.counters.takenOver += 1 } else { self.counters.replaced += 1 }
    }
    self.counters.opened += 1
    self.publication = Publication(session: session, opened: now)
    return displaced?.session
  }

  /// Records media of a session; that of a displaced one is ignored.
  package mutating func handleMedia(of session: String, at now: MediaTime) {
    guard self.publication?.session == session else { return }
    self.publication?.lastMedia = now
  }

  /// Ends the publication with its session; that of a displaced one is ignored.
  package mutating func close(_ session: String) {
    if self.publication?.session == session { self.publication = nil }
  }

  /// Whether the session that publishes is live, or may still connect.
  private func isHeld(at now: MediaTime) -> Bool {
    guard let publication = self.publication else { return false }
    if let media = publication.lastMedia { return now - media < Self.silence }
    return now - publication.opened < Self.connectTime
  }
}
