public import Media
internal import Synchronization

/// Counters of the viewers of a stream over one protocol since it was first served.
public struct ViewerStatistics: Hashable, Sendable {
  /// Viewers that play, or wait for their first keyframe.
  public var viewers = 0
  /// Bytes of media passed to the system for all viewers, with the protocol's framing.
  public var bytesSent = 0
  /// Frames not sent to viewers that read too slowly, or because an event loop was too slow; one for each frame and viewer.
  public var framesSkipped = 0
  /// Viewers closed because they read nothing for the server's stall timeout.
  public var viewersClosedAsSlow = 0
  /// Maximum time that media, or a task of each second, have waited for an event loop, in the last 10 to 20 s. More than a
  /// frame interval means that the machine cannot keep up with its viewers.
  public var loopLag = MediaDuration.zero

  /// Datagrams dropped because the network could not carry them within a second, or the destination cannot be reached; RTSP over
  /// UDP.
  public var datagramsDropped = 0
  /// Length of the send buffer that the system has granted for UDP, in bytes of its own accounting; nil without RTSP over UDP.
  /// 16 KiB are requested, of which Linux grants twice as much; datagrams beyond that wait in the server, where they can be dropped.
  public var udpSendBufferLength: Int?

  /// Packets sent again, since viewers had lost them; WebRTC.
  public var packetsRetransmitted = 0
  /// Keyframe requests of viewers, ignored ones included; WebRTC.
  public var keyframesRequested = 0
  /// Number of sessions that ended before media could flow, by reason; empty for other protocols than WebRTC.
  public var sessionsFailed: [WebRTCSessionFailure: Int] = [:]
  /// Counters of each viewer whose network is measured, in the order of their numbers; nil for other protocols than WebRTC.
  public var viewerList: [WebRTCViewerStatistics]?

  /// Creates counters, all of them zero.
  public init() {}

  /// Adds the counters of another rendition of the stream, and keeps the greater lag.
  package mutating func add(_ other: ViewerStatistics) {
    self.viewers += other.viewers
    self.bytesSent += other.bytesSent
    self.framesSkipped += other.framesSkipped
    self.viewersClosedAsSlow += other.viewersClosedAsSlow
    self.loopLag = max(self.loopLag, other.loopLag)
    self.datagramsDropped += other.datagramsDropped
    self.udpSendBufferLength = self.udpSendBufferLength ?? other.udpSendBufferLength
    self.packetsRetransmitted += other.packetsRetransmitted
    self.keyframesRequested += other.keyframesRequested
    self.sessionsFailed.merge(other.sessionsFailed, uniquingKeysWith: +)
    if let list = other.viewerList {
      self.viewerList = ((self.viewerList ?? []) + list).sorted { $0.number < $1.number }
    }
  }
}

extension Broadcast {
  /// A snapshot of the viewers' counters and the event loops' lag.
  package var statistics: ViewerStatistics {
    var statistics = ViewerStatistics()
    statistics.viewers = self.counters.viewers.load(ordering: .relaxed)
    statistics.bytesSent = self.counters.bytesSent.load(ordering: .relaxed)
    statistics.framesSkipped = self.counters.framesSkipped.load(ordering: .relaxed)
    statistics.viewersClosedAsSlow = self.counters.viewersClosedAsSlow.load(ordering: .relaxed)
    statistics.loopLag = self.groups.lazy.map(\.lag).max() ?? .zero
    return statistics
  }
}
