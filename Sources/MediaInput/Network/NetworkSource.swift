public import Capture
public import Media

/// Video and audio source that reads a network stream: an IP camera, a media server, another Vidicon.
///
/// libavformat reads both tracks over one connection, which is open while ``video`` or ``audio`` is started.
///
/// - A source that is connected and has not sent anything at which decoding can start is waited for, without end; its audio is
///   delivered, and ``VideoConsumer/captureWaits(_:)`` is called once. Where its parameter sets have not come, the format of
///   ``video`` is presumed.
/// - H.264 that every output supports is passed through (``VideoConsumer/consume(_:of:)``); everything else is decoded on its own
///   thread. Audio is always decoded; blocks of AAC-LC also have the packet (`AudioBlock.packet`).
/// - Live frames are delivered on arrival. HLS and files, which arrive in bursts, are buffered for half a second, up to two
///   seconds when they arrive early. What has no timestamps, as H.264 without a container, is counted while it arrives faster than it
///   plays.
/// - A snapshot, which is one JPEG image in a response, is requested again each second.
/// - Audio and video keep their offset; timestamps increase even where those of the source jump.
/// - When the connection is lost, or no packet arrives for a minute although it lives (30 s for HLS; up to five minutes for a source
///   whose own pauses are long), ``VideoConsumer/captureEnded(_:)`` is called once.
///   Reconnection is attempted after 0.5, 1, 2, 4, 8 s and then every 10 s; frame size and codecs may differ then. A file over
///   HTTP restarts when it ends.
/// - TLS certificates are verified, those of redirections, segments and keys too, unless the address has `?insecure=1`. Formats
///   and protocols that libavformat cannot verify need it: DASH over `https`, and `rtsps` with a version that has no option for it, as 5.1.
/// - Playlists and redirections are followed on the network only, never to local files.
public final class NetworkSource: Sendable {
  /// Formats of a source until it is connected.
  package struct AssumedFormats: Sendable {
    var video: VideoFormat
    var audio: AudioFormat
    /// Kind without which the source counts as not there yet: its stream may begin later than its connection.
    package var needed = MediaKind.video

    package init(video: VideoFormat, audio: AudioFormat) { (self.video, self.audio) = (video, audio) }
  }

  /// The video; nil when the stream has none.
  public let video: (any VideoCapturer)?
  /// The audio; nil when the stream has none.
  public let audio: (any AudioCapturer)?
  private let player: NetworkPlayer

  /// Connects and reads the stream information; takes at most 20 seconds.
  ///
  /// - Parameter url: As for ``NetworkSpecification``.
  /// - Throws: ``VidiconError``: ``VidiconError/Code/invalidSpecification``, ``VidiconError/Code/notFound``,
  ///   ``VidiconError/Code/notPermitted`` where the user name or password is wrong, ``VidiconError/Code/missingTrack``,
  ///   ``VidiconError/Code/invalidData``, ``VidiconError/Code/failed`` when the server does not respond.
  public convenience init(url: String) throws(VidiconError) {
    try self.init(try NetworkSpecification(parsing: url))
  }

  /// Connects and reads the stream information; takes at most 20 seconds.
  public init(_ specification: NetworkSpecification) throws(VidiconError) {
    let player = try NetworkPlayer(specification)
    self.player = player
    self.video = player.videoFormat.map { _ in TrackVideoCapturer(player: player, sourceName: specification.sourceName)
    }
    self.audio = player.audioFormat.map { TrackAudioCapturer(player: player, format: $0) }
  }

  /// Connects, or goes on connecting in the background where that may succeed later: a camera that boots, a stream that is not
  /// published yet, a named pipe without a writer.
  ///
  /// - Parameter formats: Formats until the first connection; frames are delivered in the source's own after it.
  /// - Throws: ``VidiconError`` where trying again is of no use: a wrong address, a wrong password.
  package init(_ specification: NetworkSpecification, until formats: AssumedFormats) throws(VidiconError) {
    let player = try NetworkPlayer(specification, until: formats)
    self.player = player
    self.video = player.videoFormat.map { _ in TrackVideoCapturer(player: player, sourceName: specification.sourceName)
    }
    self.audio = player.audioFormat.map { TrackAudioCapturer(player: player, format: $0) }
  }

  /// Reason why it was not connected at first; nil where it was.
  package var pendingFailure: VidiconError? { self.player.pendingFailure }

  /// Number of packets that were dropped because decoding was too slow.
  public var droppedPacketCount: Int {
    self.player.droppedPacketCount
  }
}
