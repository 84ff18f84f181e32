internal import Bitstreams
internal import CLibav
internal import Media
internal import NIOCore

/// Codec parameters of libavcodec for a description, which is not read from a file or connection.
final class CodecParameters {
  let pointer: UnsafeMutablePointer<AVCodecParameters>

  /// Parameters with the decoder configuration of a track; nil when memory is exhausted.
  init?(_ description: CodecDescription) {
    guard let pointer = avcodec_parameters_alloc() else { return nil }
    self.pointer = pointer
    var configuration = ByteBuffer()
    switch description {
    case .h264(let video):
      pointer.pointee.codec_type = AVMEDIA_TYPE_VIDEO
      pointer.pointee.codec_id = AV_CODEC_ID_H264
      pointer.pointee.width = Int32(clamping: video.width)
      pointer.pointee.height = Int32(clamping: video.height)
      AVCDecoderConfiguration(video).serialize(into: &configuration)
    case .aac(let audio):
      pointer.pointee.codec_type = AVMEDIA_TYPE_AUDIO
      pointer.pointee.codec_id = AV_CODEC_ID_AAC
      pointer.pointee.sample_rate = Int32(clamping: audio.format.sampleRate)
      av_channel_layout_default(&pointer.pointee.ch_layout, Int32(clamping: audio.format.channelCount))
      configuration.writeBytes(audio.audioSpecificConfig)
    }
    let count = configuration.readableBytes
    // The padding is zero; libavcodec reads beyond the end.
    guard let extradata = av_mallocz(count + Int(AV_INPUT_BUFFER_PADDING_SIZE)) else { return nil }
    configuration.withUnsafeReadableBytes { bytes in
      UnsafeMutableRawBufferPointer(start: extradata, count: count).copyMemory(from: bytes)
    }
    pointer.pointee.extradata = extradata.assumingMemoryBound(to: UInt8.self)
    pointer.pointee.extradata_size = Int32(clamping: count)
  }

  deinit {
    var pointer: UnsafeMutablePointer<AVCodecParameters>? = self.pointer
    avcodec_parameters_free(&pointer)
  }
}
