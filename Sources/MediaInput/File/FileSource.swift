public import Capture
public import Media

/// A file as a source of pictures and sound: anything that libavformat reads, played in real time on one timeline.
///
/// The file is opened once. Its ``video`` and ``audio`` are started and stopped on their own; when only one of them is
/// started the other is not decoded after the first second, and when one is started later it joins where the other one
/// is, pictures with the next keyframe. When both were stopped, the next start begins at the start of the file.
///
/// FFmpeg's own messages are turned off for the whole process: what goes wrong is in errors and counters.
///
/// - Frames of 4:2:0 and of the RGB formats of ``PixelFormat`` lie where the decoder put them; others are converted to
///   I420. All have one format, also when the size changes within the file: they are scaled then.
/// - Sound is interleaved floating point in one or two channels at the file's own rate. It has no gaps: where the file
///   has no sound, there is silence.
/// - A still picture, and a picture followed by none for more than half a second, is repeated at the frame rate.
/// - What cannot be decoded is left out and counted.
/// - When the file cannot be decoded or read as fast as it is to play, pictures that no other one needs are left out;
///   more than a second late, the playback pauses for both tracks.
public final class FileSource: Sendable {
  /// The pictures; nil when the file has none. The cover picture of music does not count.
  public let video: (any VideoCapturer)?
  /// The sound; nil when the file has none.
  public let audio: (any AudioCapturer)?
  private let player: FilePlayer

  /// Opens a file, and decodes its first picture and sound.
  ///
  /// - Parameters:
  ///   - path: The path of a file, or a URL. A URL of the network is waited for, for 10 seconds at most.
  ///   - loop: Whether to go on at the start when the end is reached, without a jump of the timestamps: a pass takes as
  ///     long as the longer of the tracks that are played. A still picture never ends.
  /// - Throws: ``VidiconError``: ``VidiconError/Code/notFound``, ``VidiconError/Code/notPermitted``,
  ///   ``VidiconError/Code/invalidData`` when it is a directory, not a media file or cannot be decoded,
  ///   ``VidiconError/Code/missingTrack`` when it holds neither pictures nor sound.
  public init(path: String, loop: Bool = true) throws(VidiconError) {
    let player = try FilePlayer(path: path, isLooped: loop)
    self.player = player
    self.video = player.videoFormat.map { _ in TrackVideoCapturer(player: player) }
    self.audio = player.audioFormat.map { TrackAudioCapturer(player: player, format: $0) }
  }

  /// The packets and frames that could not be decoded so far.
  public var corruptPacketCount: Int {
    self.player.corruptCount
  }
}
