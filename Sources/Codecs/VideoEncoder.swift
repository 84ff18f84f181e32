package import Media

/// An H.264 encoder, such as one over libavcodec or VideoToolbox.
///
/// Used by one thread at a time.
package protocol VideoEncoder: AnyObject {
  /// Parameter sets; nil until the first keyframe for encoders that output them only there.
  var description: H264Description? { get }

  /// Encodes one frame.
  ///
  /// - Parameters:
  ///   - frame: I420 of the size the encoder was opened with, upright; its timestamp is above the previous one's.
  ///   - forcesKeyframe: Whether decoding must be able to start at this frame.
  ///   - emit: Called for each complete access unit, in order; with a zero-latency encoder, once.
  func encode(_ frame: ReleasedFrame, forcesKeyframe: Bool, emit: (EncodedSample) -> Void) throws(VidiconError)

  /// Changes the target bitrate from the next frame on.
  ///
  /// - Parameter bitrate: In bits per second, above 0.
  func setBitrate(_ bitrate: Int)
}

/// Size, rate, colors and bitrate with which an H.264 encoder is opened.
package struct VideoEncoderSettings: Hashable, Sendable {
  /// Width of the frames in pixels, even.
  package var width: Int
  /// Height of the frames in pixels, even.
  package var height: Int
  /// Nominal frame rate, on which bitrate and keyframe interval are based.
  package var frameRate: FrameRate
  /// Color matrix of the frames, signaled in the VUI.
  package var colorMatrix: ColorMatrix
  /// Bitrate in bits per second.
  package var bitrate: Int
  /// Profile of libx264; of other encoders it is requested. Nil for the encoder's own, which is High for libx264.
  package var profile: H264Profile?
  /// Length of the rate control buffer (VBV) at ``bitrate``. A short one makes keyframes small, at some loss of quality.
  package var rateBuffer: MediaDuration
  /// Maximum time between two keyframes, rounded to whole frames of ``frameRate``, at least one.
  package var keyframeInterval: MediaDuration
  /// Name of the encoder in libavcodec, such as `libx264`.
  package var encoder: String
  /// Maximum length of a slice with its NAL unit header, in bytes, so that each is one packet; nil without a limit. Only libx264 and
  /// libopenh264 have one.
  package var maximumSliceLength: Int?

  /// Settings; the defaults are those of ``encoder`` libx264, 2.3 Mb/s a keyframe each two seconds
  /// and a rate control buffer of one.
  package init(
    width: Int,
    height: Int,
    frameRate: FrameRate,
    colorMatrix: ColorMatrix = .bt601,
    bitrate: Int = 2_300_000,
    keyframeInterval: MediaDuration = .seconds(2),
    encoder: String = "libx264",
    profile: H264Profile? = nil,
    rateBuffer: MediaDuration = .seconds(1),
    maximumSliceLength: Int? = nil
  ) {
    self.width = width
    self.height = height
    self.frameRate = frameRate
    self.colorMatrix = colorMatrix
    self.bitrate = bitrate
    self.keyframeInterval = keyframeInterval
    self.encoder = encoder
    self.profile = profile
    self.rateBuffer = rateBuffer
    self.maximumSliceLength = maximumSliceLength
  }
}
