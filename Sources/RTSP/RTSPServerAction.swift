/// An action of an RTSP connection, performed in the order of the array.
package enum RTSPServerAction: Hashable, Sendable {
  /// Send the response.
  case respond(RTSPResponse)
  /// Prepare the description of a stream, and pass the request to
  /// ``RTSPServerSession/streamPrepared(_:directory:)`` then. No request may be handled meanwhile.
  case prepareStream(path: String, RTSPRequest)
  /// Join the stream, wait for a keyframe, and call ``RTSPServerSession/playingStarted(at:now:)`` before the first
  /// packet is sent, or ``RTSPServerSession/playingFailed(now:)``. No request may be handled meanwhile.
  case startPlaying(RTSPPlayback)
  /// Leave the stream: no packet is sent from now on. Returned once for each `startPlaying`.
  case stopPlaying
  /// Take the stream for this client, or refuse it: call ``RTSPServerSession/publicationBegan(now:)`` or
  /// ``RTSPServerSession/publicationRefused(_:)`` before the next request is handled.
  case beginPublication(RTSPAnnouncement)
  /// Take the packets of these tracks from now on, while ``RTSPServerSession/isRecording``.
  case startRecording(RTSPRecording)
  /// Give up the stream that the client sends. Returned once for each publication that began.
  case endPublication
  /// Send pending responses and close the connection. Always the last action.
  case close
}

/// The tracks to play and their transports.
package struct RTSPPlayback: Hashable, Sendable {
  /// One track that the client has set up.
  package struct Track: Hashable, Sendable {
    /// Index of the track in ``RTSPStreamDescription/tracks``.
    package var index: Int
    /// The track's ``RTSPStreamDescription/Track/ssrc`` at SETUP.
    package var ssrc: UInt32
    /// Destination of the track's packets: channels of the connection, or UDP ports.
    package var transport: RTSPTrackTransport
  }

  /// The session's identifier, RFC 2326 §3.4: the value of `Session` in its requests.
  package var sessionID: String
  /// Name of the stream to play: its ``RTSPStreamDescription/name``.
  package var streamName: String
  /// The tracks that were set up, ordered by ``Track/index``.
  package var tracks: [Track]
  /// Whether to start with the last keyframe and all that followed it, which are sent at once, instead of the next keyframe.
  package var startsCached = false
}

/// The transport of the packets of a track.
package enum RTSPTrackTransport: Hashable, Sendable {
  /// Channels of the connection.
  case interleaved(RTSPTransport.Pair<UInt8>)
  /// UDP ports at the client's address.
  case udp(clientPorts: RTSPTransport.Pair<UInt16>)
}

/// The first packet of a track, for `RTP-Info`, RFC 2326 §12.33.
package struct RTSPTrackPosition: Hashable, Sendable {
  /// Index of the track in ``RTSPStreamDescription/tracks``.
  package var index: Int
  /// The sequence number of the next packet.
  package var sequenceNumber: UInt16
  /// The RTP timestamp of the next packet.
  package var rtpTimestamp: UInt32

  /// Creates the position of a track's next packet, for `RTP-Info`.
  package init(index: Int, sequenceNumber: UInt16, rtpTimestamp: UInt32) {
    self.index = index
    self.sequenceNumber = sequenceNumber
    self.rtpTimestamp = rtpTimestamp
  }
}
