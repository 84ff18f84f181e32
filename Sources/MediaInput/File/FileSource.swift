public import Capture
public import Media

/// Video and audio source that plays a file in real time: anything that libavformat reads.
///
/// The file is opened once. ``video`` and ``audio`` are started and stopped independently on one timeline; a track that is not
/// started is not decoded after the first second, and joins at the current position when it is started, video at the next
/// keyframe. After both were stopped, the next start begins at the start of the file.
///
/// FFmpeg's own messages are turned off for the whole process; failures are reported by errors and counters.
///
/// - Frames in a format of ``PixelFormat`` are not copied; others are converted to I420. All frames have one format; when the
///   size changes within the file they are scaled.
/// - Audio is interleaved 32-bit float in one or two channels at the file's sample rate; gaps become silence.
/// - A still image, and a frame that is not followed by another within half a second, is repeated at the frame rate.
/// - Packets and frames that cannot be decoded are skipped and counted.
/// - When reading or decoding is too slow, non-reference frames are skipped; after a second of latency playback pauses for
///   both tracks.
public final class FileSource: Sendable {
  /// The video; nil when the file has none that can be decoded. Cover images of music do not count.
  public let video: (any VideoCapturer)?
  /// The audio; nil when the file has none that can be decoded.
  public let audio: (any AudioCapturer)?
  private let player: FilePlayer

  /// Opens a file, and decodes its first frame and audio block.
  ///
  /// - Parameters:
  ///   - path: The path of a file, or a URL. A network URL is waited for at most 10 seconds.
  ///   - loop: Whether to continue at the start after the end, without a timestamp jump; a pass lasts as long as the longer
  ///     started track. A still image never ends.
  /// - Throws: ``VidiconError``: ``VidiconError/Code/notFound``, ``VidiconError/Code/notPermitted``,
  ///   ``VidiconError/Code/invalidData`` when it is a directory, not a media file or cannot be decoded,
  ///   ``VidiconError/Code/missingTrack`` when it has neither video nor audio.
  public convenience init(path: String, loop: Bool = true) throws(VidiconError) {
    try self.init(path: path, loop: loop, isConfined: false)
  }

  /// Opens a file, and decodes its first frame and audio block.
  ///
  /// - Parameter isConfined: Whether only media containers on the disk are opened, no URLs and playlists, on behalf of a client.
  package init(path: String, loop: Bool, isConfined: Bool) throws(VidiconError) {
    let player = try FilePlayer(path: path, isLooped: loop, isConfined: isConfined)
    self.player = player
    self.video = player.videoFormat.map { _ in TrackVideoCapturer(player: player, sourceName: "file:\(path)") }
    self.audio = player.audioFormat.map { TrackAudioCapturer(player: player, format: $0) }
  }

  /// Whether a path is that of a named pipe, whose writers come and go.
  package static func isFIFO(_ path: String) -> Bool { FIFOReader.isFIFO(path) }

  /// Reason why a kind of track that the file has is not played; nil where it has none.
  package func failure(of kind: MediaKind) -> VidiconError? { self.player.failures[kind] }

  /// Number of packets and frames that could not be decoded.
  public var corruptPacketCount: Int {
    self.player.corruptCount
  }
}
