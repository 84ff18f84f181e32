public import Media

/// Turns pictures into H.264: what one over libavcodec, and one over VideoToolbox, has to meet.
///
/// An encoder is used by one thread at a time.
public protocol VideoEncoder: AnyObject {
  /// The parameter sets; nil until the first keyframe for encoders that say them only there.
  var description: H264Description? { get }

  /// Encodes one picture.
  ///
  /// - Parameters:
  ///   - frame: I420 at the size the encoder was opened with, upright; its timestamp is above that of the one before.
  ///   - forcesKeyframe: Whether decoding must be able to start at this picture.
  ///   - emit: Called for each access unit that is complete, in order; with a zero-latency encoder, once.
  func encode(_ frame: VideoFrame, forcesKeyframe: Bool, emit: (EncodedSample) -> Void) throws(VidiconError)

  /// Changes the target bitrate from the next picture on.
  ///
  /// - Parameter bitrate: Bits a second, above 0.
  func setBitrate(_ bitrate: Int)
}

/// What an H.264 encoder is asked for.
public struct VideoEncoderSettings: Hashable, Sendable {
  /// Pixels across, even.
  public var width: Int
  /// Pixels down, even.
  public var height: Int
  /// The pictures a second that the bitrate is divided among.
  public var frameRate: FrameRate
  /// The matrix that the pictures are made with, said in the stream's VUI.
  public var colorMatrix: ColorMatrix
  /// Bits a second; the buffer that evens it out (VBV) is one second of it.
  public var bitrate: Int
  /// The longest time between two keyframes.
  public var keyframeInterval: MediaDuration
  /// The encoder's name in libavcodec.
  public var encoder: String

  /// Settings; the defaults are those of ``encoder`` libx264, 2.3 Mb/s and a keyframe each two seconds.
  public init(
    width: Int,
    height: Int,
    frameRate: FrameRate,
    colorMatrix: ColorMatrix = .bt601,
    bitrate: Int = 2_300_000,
    keyframeInterval: MediaDuration = .seconds(2),
    encoder: String = "libx264"
  ) {
    self.width = width
    self.height = height
    self.frameRate = frameRate
    self.colorMatrix = colorMatrix
    self.bitrate = bitrate
    self.keyframeInterval = keyframeInterval
    self.encoder = encoder
  }
}
