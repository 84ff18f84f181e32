internal import Codecs
package import Media

/// Codec configuration of a publisher's track: what a decoder must know before the first sample.
package enum PublishedCodec: Hashable, Sendable {
  /// H.264 with its parameter sets; samples as in ``EncodedSample/payload``.
  case h264(H264Description)
  /// VP8, RFC 6386, of a size in pixels that changes at keyframes only; a sample is a frame.
  case vp8(width: Int, height: Int)
  /// AAC; samples as in ``EncodedSample/payload``.
  case aac(AACDescription)
  /// Opus, RFC 6716, decoded to two channels at 48 kHz; a sample is a packet.
  case opus

  /// The codec of a track that outputs carry too.
  package init(_ description: CodecDescription) {
    switch description {
    case .h264(let video): self = .h264(video)
    case .aac(let audio): self = .aac(audio)
    }
  }

  /// Whether the track carries video or audio.
  package var kind: MediaKind {
    switch self {
    case .h264, .vp8: .video
    case .aac, .opus: .audio
    }
  }

  /// Frame rate of video: nominal where the codec does not state it.
  var frameRate: FrameRate {
    if case .h264(let video) = self { video.frameRate } else { FrameRate(30) }
  }
}

extension PublishedCodec {
  /// The format of the frames of video; nil of audio, and without a size.
  var videoFormat: VideoFormat? {
    switch self {
    case .h264(let video):
      VideoFormat(decodedWidth: video.width, height: video.height, frameRate: self.frameRate)
    case .vp8(let width, let height): VideoFormat(decodedWidth: width, height: height, frameRate: self.frameRate)
    case .aac, .opus: nil
    }
  }

  /// Parameters of libavcodec with the decoder configuration of the track; nil when memory is exhausted.
  var parameters: CodecParameters? {
    switch self {
    case .h264(let video): CodecParameters(video)
    case .vp8(let width, let height): CodecParameters(vp8Width: width, height: height)
    case .opus: .opus()
    case .aac(let audio): CodecParameters(audio)
    }
  }
}
