internal import Codecs

extension PublishedCodec {
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
