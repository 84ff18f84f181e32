public import Capture
public import Media
internal import Threading

/// Source whose media a publisher sends: OBS Studio, a drone, another encoder, the browser of a phone.
///
/// H.264 that every output supports is passed through (``VideoConsumer/consume(_:of:)``), other H.264 and VP8 are decoded on the
/// source's thread; all video where the source does not pass through. Audio is always decoded; blocks of AAC-LC also have the
/// packet (`AudioBlock.packet`).
///
/// Without a publisher, nothing is delivered, and the stream shows its slate. ``VideoConsumer/captureEnded(_:)`` is called at the end
/// of each publication; for audio also at the start, without a publisher.
///
/// A publisher may go on while the source is stopped: a start amid a group of pictures delivers its newest frame at once, decoded,
/// and decodes what follows up to the next keyframe.
///
/// A stream has its capturers; the servers find its input by them when a publisher comes:
///
/// ```swift
/// let source = PublishedSource(format: format, audioFormat: audioFormat, scheme: .whip)
/// stream.attachVideo(source.video)
/// stream.attachAudio(source.audio)
/// ```
public final class PublishedSource: Sendable {
  /// The protocol by which publishers send.
  public enum Scheme: String, Hashable, Sendable, CaseIterable {
    /// RTMP: OBS Studio, drones.
    case rtmp
    /// RTSP with ANNOUNCE and RECORD: ffmpeg, GStreamer, cameras.
    case rtsp
    /// WebRTC with WHIP, RFC 9725: browsers, OBS Studio, ffmpeg.
    case whip

    /// The name of the source: `rtmp:`, `rtsp:` or `whip:`.
    public var sourceName: String { "\(self.rawValue):" }
  }

  /// Video as it is published, for the stream.
  public let video: any VideoCapturer
  /// The audio; silent where the publisher sends none.
  public let audio: any AudioCapturer

  /// A source without a publisher.
  ///
  /// - Parameters:
  ///   - format: Format of the video until a publisher sends its own.
  ///   - audioFormat: Format of all audio, whatever the publisher sends.
  ///   - scheme: How publishers send.
  ///   - passesThrough: Whether H.264 that every output supports is passed through; otherwise all video is decoded.
  public convenience init(
    format: VideoFormat, audioFormat: AudioFormat, scheme: Scheme = .rtmp, passesThrough: Bool = true
  ) {
    self.init(format: format, audioFormat: audioFormat, scheme: scheme, passesThrough: passesThrough) {
      StreamClock.system.now()
    }
  }

  /// A source with a clock of its own, for tests.
  package init(
    format: VideoFormat, audioFormat: AudioFormat, scheme: Scheme = .rtmp, passesThrough: Bool = true,
    now: @escaping @Sendable () -> MediaTime
  ) {
    let input = PublishedInput(
      format: format, audioFormat: audioFormat, scheme: scheme, handling: passesThrough ? .passedThrough : .decoded,
      now: now)
    self.video = TrackVideoCapturer(player: input, sourceName: nil)
    self.audio = TrackAudioCapturer(player: input, format: audioFormat)
  }

  /// Input for publishers of a stream whose video source this is; nil for other sources, and other schemes.
  package static func input(of capturer: any VideoCapturer, over scheme: Scheme = .rtmp) -> PublishedInput? {
    PublishedInput.of(capturer).flatMap { $0.scheme == scheme ? $0 : nil }
  }
}
