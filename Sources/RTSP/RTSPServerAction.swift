/// What a connection has to do, in the order given.
public enum RTSPServerAction: Hashable, Sendable {
  /// Send this answer.
  case respond(RTSPResponse)
  /// Join the stream, wait for a keyframe, and tell the session with ``RTSPServerSession/playingStarted(at:now:)`` before
  /// the first packet goes out, or with ``RTSPServerSession/playingFailed(now:)``. No request may be handled meanwhile.
  case startPlaying(RTSPPlayback)
  /// Leave the stream: no packet goes out from now on. Comes once for each `startPlaying`.
  case stopPlaying
  /// Send what is to be sent and close the connection. Always the last action.
  case close
}

/// What to send, and how.
public struct RTSPPlayback: Hashable, Sendable {
  /// One track that the client has set up.
  public struct Track: Hashable, Sendable {
    /// The place of the track in ``RTSPStreamDescription/tracks``.
    public var index: Int
    /// The track's ``RTSPStreamDescription/Track/ssrc`` as it was set up.
    public var ssrc: UInt32
    /// How its packets go.
    public var transport: RTSPTrackTransport
  }

  /// The session's identifier.
  public var sessionID: String
  /// The ``RTSPStreamDescription/name`` of the stream.
  public var streamName: String
  /// The tracks, ordered by index.
  public var tracks: [Track]
}

/// Where the packets of a track go.
public enum RTSPTrackTransport: Hashable, Sendable {
  /// Channels of the connection.
  case interleaved(RTSPTransport.Pair<UInt8>)
  /// UDP ports at the address that the connection comes from.
  case udp(clientPorts: RTSPTransport.Pair<UInt16>)
}

/// Where a track is at its first packet: what `RTP-Info` tells, RFC 2326 §12.33.
public struct RTSPTrackPosition: Hashable, Sendable {
  /// The place of the track in ``RTSPStreamDescription/tracks``.
  public var index: Int
  /// The sequence number of the next packet.
  public var sequenceNumber: UInt16
  /// The RTP timestamp of the next packet.
  public var rtpTimestamp: UInt32

  /// A position.
  public init(index: Int, sequenceNumber: UInt16, rtpTimestamp: UInt32) {
    self.index = index
    self.sequenceNumber = sequenceNumber
    self.rtpTimestamp = rtpTimestamp
  }
}
