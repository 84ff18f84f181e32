internal import Codecs
internal import Media

extension PublishedCodec {
  /// The format of the frames of video; nil of audio, and without a size. No decoder is opened.
  var videoFormat: VideoFormat? {
    guard self.kind == .video, let parameters = self.parameters else { return nil }
    return VideoFormat(parameters.pointer.pointee, frameRate: self.frameRate)
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
