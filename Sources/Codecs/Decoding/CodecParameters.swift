package import Bitstreams
package import CLibav
package import Media
internal import NIOCore

/// Codec parameters of libavcodec for a codec configuration, which is not read from a file or connection.
package final class CodecParameters {
  /// The parameters, freed with this object.
  package let pointer: UnsafeMutablePointer<AVCodecParameters>

  /// Parameters of a codec that needs no configuration; nil when memory is exhausted.
  private init?(_ type: AVMediaType, _ id: AVCodecID) {
    guard let pointer = avcodec_parameters_alloc() else { return nil }
    self.pointer = pointer
    pointer.pointee.codec_type = type
    pointer.pointee.codec_id = id
  }

  deinit {
    var pointer: UnsafeMutablePointer<AVCodecParameters>? = self.pointer
    avcodec_parameters_free(&pointer)
  }

  /// Parameters of H.264 with its size and parameter sets; nil when memory is exhausted.
  package convenience init?(_ video: H264Description) {
    self.init(AVMEDIA_TYPE_VIDEO, AV_CODEC_ID_H264)
    self.setSize(width: video.width, height: video.height)
    var configuration = ByteBuffer()
    AVCDecoderConfiguration(video).serialize(into: &configuration)
    guard self.setConfiguration(configuration) else { return nil }
  }

  /// Parameters of VP8, with the size in pixels; nil when memory is exhausted.
  package convenience init?(vp8Width width: Int, height: Int) {
    self.init(AVMEDIA_TYPE_VIDEO, AV_CODEC_ID_VP8)
    self.setSize(width: width, height: height)
  }

  /// Parameters of Motion JPEG, with the size in pixels; nil when memory is exhausted.
  package convenience init?(jpegWidth width: Int, height: Int) {
    self.init(AVMEDIA_TYPE_VIDEO, AV_CODEC_ID_MJPEG)
    self.setSize(width: width, height: height)
    // JFIF 1.02: BT.601 with the full range.
    self.pointer.pointee.color_space = AVCOL_SPC_BT470BG
    self.pointer.pointee.color_range = AVCOL_RANGE_JPEG
  }

  /// Parameters of an image, with its size; nil where it cannot be decoded, and when memory is exhausted.
  package convenience init?(_ image: ImageStreamReader.Image) {
    switch image.format {
    case .jpeg:
      guard let header = try? ImageHeader(parsing: Array(image.bytes.readableBytesView)) else { return nil }
      self.init(jpegWidth: header.width, height: header.height)
    case .png, .webP:
      self.init(AVMEDIA_TYPE_VIDEO, image.format == .png ? AV_CODEC_ID_PNG : AV_CODEC_ID_WEBP)
      guard self.setFormat(byDecoding: image.bytes) else { return nil }
    }
  }

  /// Sets the size, shape and colors of the frame of an image; false where it cannot be decoded.
  private func setFormat(byDecoding image: ByteBuffer) -> Bool {
    guard let decoder = try? PacketDecoder(self.pointer, source: "image"),
      decoder.append(
        EncodedSample(kind: .video, payload: image, presentationTime: .zero, duration: .zero, isKeyframe: true))
    else { return false }
    var isDecoded = false
    _ = decoder.decodeNext { frame in
      self.setSize(width: Int(frame.pointee.width), height: Int(frame.pointee.height))
      self.pointer.pointee.sample_aspect_ratio = frame.pointee.sample_aspect_ratio
      self.pointer.pointee.color_space = frame.pointee.colorspace
      isDecoded = true
    }
    return isDecoded
  }

  /// Parameters of AAC with its format and AudioSpecificConfig; nil when memory is exhausted.
  package convenience init?(_ audio: AACDescription) {
    self.init(AVMEDIA_TYPE_AUDIO, AV_CODEC_ID_AAC)
    self.setFormat(sampleRate: audio.format.sampleRate, channelCount: audio.format.channelCount)
    guard self.setConfiguration(ByteBuffer(bytes: audio.audioSpecificConfig)) else { return nil }
  }

  /// Parameters of Opus without an identification header, which libavcodec decodes to mono or stereo; nil when memory is
  /// exhausted.
  package static func opus() -> CodecParameters? {
    let parameters = CodecParameters(AVMEDIA_TYPE_AUDIO, AV_CODEC_ID_OPUS)
    parameters?.setFormat(sampleRate: Int(OpusPacketHeader.sampleRate), channelCount: 2)
    return parameters
  }

  private func setSize(width: Int, height: Int) {
    self.pointer.pointee.width = Int32(clamping: width)
    self.pointer.pointee.height = Int32(clamping: height)
  }

  private func setFormat(sampleRate: Int, channelCount: Int) {
    self.pointer.pointee.sample_rate = Int32(clamping: sampleRate)
    av_channel_layout_default(&self.pointer.pointee.ch_layout, Int32(clamping: channelCount))
  }

  /// Copies the configuration, with padding of zero since libavcodec reads beyond the end; false when memory is exhausted.
  private func setConfiguration(_ configuration: ByteBuffer) -> Bool {
    let count = configuration.readableBytes
    guard let extradata = av_mallocz(count + Int(AV_INPUT_BUFFER_PADDING_SIZE)) else { return false }
    configuration.withUnsafeReadableBytes { bytes in
      UnsafeMutableRawBufferPointer(start: extradata, count: count).copyMemory(from: bytes)
    }
    self.pointer.pointee.extradata = extradata.assumingMemoryBound(to: UInt8.self)
    self.pointer.pointee.extradata_size = Int32(clamping: count)
    return true
  }
}
