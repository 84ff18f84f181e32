internal import Delivery
internal import Synchronization
internal import WebRTC

/// One viewer: its session, on the hub's event loop.
final class WebRTCViewer {
  /// Identifies the session in its URL.
  let id: String
  let broadcaster: WebRTCBroadcaster
  /// The path of the URL that it was opened with.
  let path: String
  var session: WebRTCSession
  /// The server's ICE credentials; others after a restart.
  var credentials: ICECredentials
  /// The client's username fragment, which differs at a restart, not for further candidates.
  var clientFragment: String
  /// The mid of the first track, for the answer to a restart.
  let mid: String?
  /// Addresses in the answer.
  let candidates: [TransportAddress]
  /// Whether media could flow once.
  var wasReady = false
  /// The part of the session's counters that the broadcaster has.
  private var counted = WebRTCSessionStatistics()

  init(
    id: String, broadcaster: WebRTCBroadcaster, path: String, session: WebRTCSession, credentials: ICECredentials,
    clientFragment: String, mid: String?, candidates: [TransportAddress]
  ) {
    self.id = id
    self.broadcaster = broadcaster
    self.path = path
    self.session = session
    self.credentials = credentials
    self.clientFragment = clientFragment
    self.mid = mid
    self.candidates = candidates
  }

  /// The value of `ETag`.
  var entityTag: String { "\"\(self.credentials.usernameFragment)\"" }

  /// Adds what happened since the last call to the counters of the stream.
  func count() {
    let new = self.session.statistics
    let old = self.counted
    self.counted = new
    let counters = self.broadcaster
    counters.retransmittedPackets.add(new.packetsRetransmitted - old.packetsRetransmitted, ordering: .relaxed)
    counters.requestedKeyframes.add(new.keyframesRequested - old.keyframesRequested, ordering: .relaxed)
    counters.counters.framesSkipped.add(new.framesDropped - old.framesDropped, ordering: .relaxed)
  }
}
