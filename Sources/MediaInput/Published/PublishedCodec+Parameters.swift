internal import Codecs
internal import Media

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
