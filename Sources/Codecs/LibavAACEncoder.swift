internal import CLibav
public import Media
internal import NIOCore

/// AAC-LC through libavcodec's own encoder.
///
/// Used by one thread at a time. Samples go in at any block size; timestamps come from counting them.
public final class LibavAACEncoder {
  /// What a decoder must know; known at once.
  public let description: AACDescription

  private let context: UnsafeMutablePointer<AVCodecContext>
  private let frame: UnsafeMutablePointer<AVFrame>
  private let packet: UnsafeMutablePointer<AVPacket>
  private let format: AudioFormat
  /// Interleaved samples that do not fill a frame yet.
  private var pending: [Float] = []
  /// The position of the first pending sample, in samples since ``anchor``.
  private var position: Int64 = 0
  /// The time of sample 0, from the first block.
  private var anchor: MediaTime?

  /// Opens the encoder.
  ///
  /// - Parameters:
  ///   - format: A sample rate that AAC has (8 000 to 96 000), 1 or 2 channels.
  ///   - bitrate: Bits a second.
  /// - Throws: A ``CodecError`` `openFailed` where libavcodec refuses the settings.
  public init(format: AudioFormat, bitrate: Int) throws(CodecError) {
    guard let codec = avcodec_find_encoder(AV_CODEC_ID_AAC), let context = avcodec_alloc_context3(codec),
      let frame = av_frame_alloc(), let packet = av_packet_alloc()
    else {
      throw CodecError(
        .missingEncoder, encoder: "aac", cause: "libavcodec has no AAC encoder on this machine",
        nextStep: "run scripts/setup, or use --audio none")
    }
    self.context = context
    self.frame = frame
    self.packet = packet
    self.format = format
    context.pointee.sample_fmt = AV_SAMPLE_FMT_FLTP
    context.pointee.sample_rate = Int32(format.sampleRate)
    av_channel_layout_default(&context.pointee.ch_layout, Int32(format.channelCount))
    context.pointee.bit_rate = Int64(bitrate)
    context.pointee.time_base = AVRational(num: 1, den: Int32(format.sampleRate))
    context.pointee.flags |= AV_CODEC_FLAG_GLOBAL_HEADER
    let result = avcodec_open2(context, codec, nil)
    guard result >= 0 else {
      Self.free(context, frame, packet)
      throw CodecError(
        .openFailed, encoder: "aac", cause: libavMessage(result),
        nextStep: "choose another sample rate or audio bitrate")
    }
    let extradata = UnsafeRawBufferPointer(
      start: context.pointee.extradata, count: Int(context.pointee.extradata_size))
    self.description = AACDescription(
      audioSpecificConfig: Array(extradata), format: format, samplesPerFrame: Int(context.pointee.frame_size))
  }

  deinit {
    Self.free(self.context, self.frame, self.packet)
  }

  /// The time of the next sample to be given to ``encode(_:emit:)``; nil before the first.
  public var nextTime: MediaTime? {
    self.anchor.map { $0 + self.duration(self.position + Int64(self.pending.count / self.format.channelCount)) }
  }

  /// Encodes sound that follows the earlier one without a gap.
  ///
  /// - Parameters:
  ///   - block: In the encoder's format; its timestamp counts for the first block only.
  ///   - emit: Called for each complete sample, in order.
  public func encode(_ block: AudioBlock, emit: (EncodedSample) -> Void) throws(CodecError) {
    precondition(block.format == self.format, "the sound has the encoder's format")
    if self.anchor == nil { self.anchor = block.timestamp }
    self.pending.append(contentsOf: block.samples)
    let frameLength = self.description.samplesPerFrame * self.format.channelCount
    var start = 0
    while self.pending.count - start >= frameLength {
      try self.encodeFrame(self.pending[start..<start + frameLength], emit: emit)
      start += frameLength
    }
    self.pending.removeFirst(start)
  }

  private func encodeFrame(_ samples: ArraySlice<Float>, emit: (EncodedSample) -> Void) throws(CodecError) {
    let (channels, count) = (self.format.channelCount, self.description.samplesPerFrame)
    self.frame.pointee.format = AV_SAMPLE_FMT_FLTP.rawValue
    self.frame.pointee.nb_samples = Int32(count)
    self.frame.pointee.sample_rate = self.context.pointee.sample_rate
    av_channel_layout_copy(&self.frame.pointee.ch_layout, &self.context.pointee.ch_layout)
    self.frame.pointee.pts = self.position
    defer { av_frame_unref(self.frame) }
    guard av_frame_get_buffer(self.frame, 0) >= 0 else { throw self.failed(vidicon_averror_eof) }
    samples.withUnsafeBufferPointer { source in
      for channel in 0..<channels {
        let plane = UnsafeMutableRawPointer(self.frame.pointee.extended_data[channel]!)
          .assumingMemoryBound(to: Float.self)
        for index in 0..<count { plane[index] = source[index * channels + channel] }
      }
    }
    self.position += Int64(count)
    var result = avcodec_send_frame(self.context, self.frame)
    while result >= 0 {
      result = avcodec_receive_packet(self.context, self.packet)
      guard result >= 0 else { break }
      self.emitPacket(emit)
      av_packet_unref(self.packet)
    }
    guard result == vidicon_averror_eagain else { throw self.failed(result) }
  }

  /// The packet's time already counts the encoder's own delay: it is 1024 samples before that of the sound put in.
  private func emitPacket(_ emit: (EncodedSample) -> Void) {
    let bytes = UnsafeRawBufferPointer(start: self.packet.pointee.data, count: Int(self.packet.pointee.size))
    emit(
      EncodedSample(
        kind: .audio,
        payload: ByteBuffer(bytes: bytes),
        presentationTime: self.anchor! + self.duration(self.packet.pointee.pts),
        duration: self.duration(Int64(self.description.samplesPerFrame)),
        isKeyframe: true))
  }

  private func duration(_ samples: Int64) -> MediaDuration {
    .ticks(samples, timescale: Int32(self.format.sampleRate))
  }

  private func failed(_ code: Int32) -> CodecError {
    CodecError(.encodingFailed, encoder: "aac", cause: libavMessage(code), nextStep: "use --audio none")
  }

  private static func free(
    _ context: UnsafeMutablePointer<AVCodecContext>,
    _ frame: UnsafeMutablePointer<AVFrame>,
    _ packet: UnsafeMutablePointer<AVPacket>
  ) {
    var (context, frame, packet) = (Optional(context), Optional(frame), Optional(packet))
    avcodec_free_context(&context)
    av_frame_free(&frame)
    av_packet_free(&packet)
  }
}
