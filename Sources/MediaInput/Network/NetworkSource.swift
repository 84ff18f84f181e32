public import Capture
public import Media

/// A stream of the network as a source of pictures and sound: a camera, a media server, another Vidicon.
///
/// It is pulled through libavformat, in one connection for both. Its ``video`` and ``audio`` are started and stopped on their
/// own; the connection is there while one of them is started.
///
/// - H.264 that our outputs can carry is handed over as it came (``VideoConsumer/consume(_:of:)``); everything else is
///   decoded, on a thread of its own. Sound is decoded always; with AAC-LC goes its packet (`AudioBlock.packet`).
/// - Pictures go on as they come. HLS and files, which come in bursts, are kept until their time: half a second, or two
///   when they come early.
/// - Pictures and sound keep their distance; times rise also where those of the source jump.
/// - When the connection is lost, or nothing came for 10 s (30 s with HLS), ``VideoConsumer/captureEnded(_:)`` says so once;
///   it is tried again after 0.5, 1, 2, 4, 8 s and then each 10 s, and goes on by itself. The size of the pictures, and the
///   codecs, may be others then. A file over HTTP begins anew when it ends.
/// - Certificates of `https`, `rtsps` and `rtmps` are not verified: cameras have none that could be.
/// - What such a source names is read from the network only, never from the disk.
public final class NetworkSource: Sendable {
  /// The pictures; nil when the stream has none.
  public let video: (any VideoCapturer)?
  /// The sound; nil when the stream has none.
  public let audio: (any AudioCapturer)?
  private let player: NetworkPlayer

  /// Connects, and looks at what comes.
  ///
  /// - Parameter url: As for ``NetworkSpecification``.
  /// - Throws: ``VidiconError``: ``VidiconError/Code/invalidSpecification``, ``VidiconError/Code/notFound``,
  ///   ``VidiconError/Code/notPermitted`` where the user name or password is wrong, ``VidiconError/Code/missingTrack``,
  ///   ``VidiconError/Code/invalidData``, ``VidiconError/Code/failed`` when nobody answers.
  public convenience init(url: String) throws(VidiconError) {
    try self.init(try NetworkSpecification(parsing: url))
  }

  /// Connects, and looks at what comes; for 20 seconds at most.
  public init(_ specification: NetworkSpecification) throws(VidiconError) {
    let player = try NetworkPlayer(specification)
    self.player = player
    self.video = player.videoFormat.map { _ in TrackVideoCapturer(player: player) }
    self.audio = player.audioFormat.map { TrackAudioCapturer(player: player, format: $0) }
  }

  /// Packets that were left out, since decoding them took too long.
  public var droppedPacketCount: Int {
    self.player.droppedPacketCount
  }
}
