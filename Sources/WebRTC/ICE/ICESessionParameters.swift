internal import Media

/// ICE of a session as its URL shows it: the entity tag, candidates of the client, and restarts, RFC 9725 §4.3 and RFC 8840 §9.
package struct ICESessionParameters: Sendable {
  /// Reasons why a restart is refused.
  package enum Refusal: Error, Hashable, Sendable {
    /// Refusal of a restart without `If-Match`: 428.
    case preconditionRequired
    /// `If-Match` names an entity tag of the past: 412.
    case preconditionFailed
  }

  /// The server's ICE credentials; others after a restart.
  package private(set) var credentials: ICECredentials
  /// The client's username fragment, which differs at a restart, not for further candidates.
  package private(set) var clientFragment: String
  /// Addresses of the server in the answer, the best one first.
  package let candidates: [TransportAddress]
  /// Kind and mid of the first track with media; nil where the client gave none.
  private let media: (kind: MediaKind, mid: String)?

  /// The parameters of an answer.
  ///
  /// - Parameters:
  ///   - clientFragment: The username fragment of the offer.
  ///   - videoMid: The mid of the video track; nil without one.
  ///   - audioMid: The mid of the audio track; nil without one.
  package init(
    credentials: ICECredentials, clientFragment: String, candidates: [TransportAddress], videoMid: String?,
    audioMid: String?
  ) {
    self.credentials = credentials
    self.clientFragment = clientFragment
    self.candidates = candidates
    self.media = videoMid.map { (.video, $0) } ?? audioMid.map { (.audio, $0) }
  }

  /// Value of `ETag`, quotes included: the username fragment, which changes with each restart.
  package var entityTag: String { "\"\(self.credentials.usernameFragment)\"" }

  /// Whether a fragment restarts ICE. One with the known username fragment has candidates only: a lite agent learns the addresses of
  /// clients from their checks, and a wrong entity tag does no harm there.
  ///
  /// - Parameter entityTags: The value of `If-Match`; nil without one.
  package func isRestart(_ fragment: TrickleFragment, entityTags: String?) throws(Refusal) -> Bool {
    guard let client = fragment.credentials, client.usernameFragment != self.clientFragment else { return false }
    guard let entityTags else { throw .preconditionRequired }
    let isMatching = entityTags.split(separator: ",").contains {
      let tag = $0.drop { $0 == " " }
      return tag.hasPrefix("*") || tag.hasPrefix(self.entityTag)
    }
    guard isMatching else { throw .preconditionFailed }
    return true
  }

  /// Adopts the credentials of both sides after a restart.
  package mutating func restart(credentials: ICECredentials, client: TrickleFragment) {
    self.credentials = credentials
    if let credentials = client.credentials { self.clientFragment = credentials.usernameFragment }
  }

  /// The server's side of a restart, `application/trickle-ice-sdpfrag`.
  package var fragment: String {
    var lines = ["a=ice-lite", "a=ice-options:ice2"]
    if let media {
      lines += ["a=group:BUNDLE \(media.mid)", "m=\(media.kind.rawValue) 9 UDP/TLS/RTP/SAVPF 0", "a=mid:\(media.mid)"]
    }
    lines += ["a=ice-ufrag:\(self.credentials.usernameFragment)", "a=ice-pwd:\(self.credentials.password)"]
    lines += self.candidates.enumerated().map { "a=candidate:\(ICECandidate(host: $1, rank: $0))" }
    return lines.joined(separator: "\r\n") + "\r\na=end-of-candidates\r\n"
  }
}
