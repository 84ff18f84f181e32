public import Capture
public import Media

/// Source whose H.264 and AAC a publisher sends: OBS Studio, a drone, another encoder.
///
/// H.264 that every output supports is passed through (``VideoConsumer/consume(_:of:)``), other H.264 is decoded on the source's
/// thread. Audio is always decoded; blocks of AAC-LC also have the packet (`AudioBlock.packet`).
///
/// Without a publisher, nothing is delivered, and the stream shows its slate. ``VideoConsumer/captureEnded(_:)`` is called at the end
/// of each publication; for audio also at the start, without a publisher.
public final class PublishedSource: Sendable {
  /// The protocol by which publishers send, named by the scheme of their addresses.
  public enum Scheme: String, Hashable, Sendable, CaseIterable {
    /// RTMP: OBS Studio, drones.
    case rtmp
    /// RTSP with ANNOUNCE and RECORD: ffmpeg, GStreamer, cameras.
    case rtsp

    /// The name of the source: `rtmp:` or `rtsp:`.
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
  public init(format: VideoFormat, audioFormat: AudioFormat, scheme: Scheme = .rtmp) {
    let input = PublishedInput(format: format, audioFormat: audioFormat, scheme: scheme)
    self.video = TrackVideoCapturer(player: input)
    self.audio = TrackAudioCapturer(player: input, format: audioFormat)
  }

  /// Input for publishers of a stream whose video source this is; nil for other sources, and other schemes.
  package static func input(of capturer: any VideoCapturer, over scheme: Scheme = .rtmp) -> PublishedInput? {
    guard let input = (capturer as? TrackVideoCapturer)?.player as? PublishedInput, input.scheme == scheme else {
      return nil
    }
    return input
  }
}
