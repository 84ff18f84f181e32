internal import Media
internal import RTSP

/// A connection to a network source: its tracks and packets. Used by one thread at a time.
protocol NetworkConnection: AnyObject, Sendable {
  /// The tracks, at least one.
  var tracks: NetworkTracks { get }
  /// Whether packets arrive live or in bursts.
  var pace: SourceTimeline.Pace { get }
  /// Ends blocking calls.
  var interrupt: LibavInterrupt { get }

  /// Reads the next content.
  ///
  /// - Returns: Nil where it is of no use, as a packet of another stream, and when the source was stopped.
  /// - Throws: ``VidiconError`` when the connection is lost.
  func read() throws(VidiconError) -> NetworkItem?
}

/// Content of a network source.
enum NetworkItem {
  case packet(NetworkPacket)
  /// Another pace of the packets that follow, and another clock.
  case changedPace(SourceTimeline.Pace)
  /// Codecs of tracks that replace those of their kind; others go on.
  case changedCodecs(TrackCodecs)
  /// Video that begins, or replaces the one before; the audio goes on.
  case changedVideo(NetworkVideoTrack)
  /// Audio that begins, or replaces the one before; the video goes on.
  case changedAudio(NetworkAudioTrack)
  /// Decoding of the video cannot start yet; audio goes on.
  case videoWaits(VidiconError)
  /// The end of a named pipe's writer; another one may come, over another connection.
  case ended
}

/// Opens connections to network sources.
enum NetworkConnections {
  /// Connects and finds out the tracks; each takes at most 10 seconds.
  ///
  /// - Parameter interrupt: Interrupts blocking calls.
  static func open(
    _ specification: NetworkSpecification, interrupt: LibavInterrupt
  ) throws(VidiconError) -> any NetworkConnection {
    var backChannels = RTSPBackChannels()
    if RTSPConnection.supports(specification) {
      do throws(RTSPTransfer.Failure) {
        return try RTSPConnection(specification, interrupt: interrupt)
      } catch {
        switch error {
        case .failed(let error): throw error
        case .unsupported(let described): backChannels = described
        }
      }
    }
    return try LibavConnection.connect(specification, interrupt: interrupt, backChannels: backChannels)
  }
}
