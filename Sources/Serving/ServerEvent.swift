package import Authentication
package import Media

/// An event of a server for the log of its owner; has no password, token or key.
///
/// ``ConnectionRegistry`` passes those of all servers on:
///
/// ```swift
/// let registry = ConnectionRegistry(log: { event in print(event) })
/// ```
package enum ServerEvent: Hashable, Sendable {
  /// A line in words, such as about a port that is in use, a certificate or a publisher.
  case line(String)
  /// A client was refused.
  case refused(AccessRefusal)
  /// A viewer has begun to be sent media.
  case viewerJoined(ViewerVisit)
  /// A viewer is sent no media any more, after this time.
  case viewerLeft(ViewerVisit, after: MediaDuration)
  /// A viewer of a stream could not connect, for a reason in words.
  case viewerFailed(stream: String, String)
  /// A client has requested a change over HTTP that needs the right to control, and was answered with this status. The path is that of the
  /// API's description, such as `/api/streams/{name}`: a client cannot make further ones.
  case controlled(method: String, path: String, stream: String?, role: Role?, address: String, status: Int)

  /// A line for the owner; nil for an event that needs no attention.
  package var text: String? {
    switch self {
    case .line(let text): text
    case .refused(let refusal): refusal.text
    case .viewerFailed(_, let text): text
    case .viewerJoined, .viewerLeft, .controlled: nil
    }
  }
}
