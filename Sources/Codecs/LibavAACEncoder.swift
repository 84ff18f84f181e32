internal import CLibav
package import Media
internal import NIOCore

/// AAC-LC encoder of libavcodec.
///
/// Used by one thread at a time. Accepts blocks of any size; timestamps of the output are counted in samples.
package final class LibavAACEncoder {
  /// Codec configuration of the output; known before the first sample.
  package let description: AACDescription

  private let encoder: LibavEncoder
  private let format: AudioFormat
  /// Interleaved samples that do not fill a frame yet.
  private var pending: [Float] = []
  /// The position of the first pending sample, in samples since ``anchor``.
  private var position: Int64 = 0
  /// The time of sample 0, from the first block.
  private var anchor: MediaTime?
  /// Positions below this belong to audio before the last ``restart(at:)`` and are not output.
  private var firstPosition = Int64.min

  /// Opens the encoder.
  ///
  /// - Parameters:
  ///   - format: A sample rate of AAC, 8000 to 96,000 Hz, and 1 or 2 channels.
  ///   - bitrate: Bits per second.
  /// - Throws: A ``VidiconError`` `unsupported` where libavcodec refuses the settings.
  package init(format: AudioFormat, bitrate: Int) throws(VidiconError) {
    guard let codec = avcodec_find_encoder(AV_CODEC_ID_AAC) else {
      throw VidiconError(
        .notFound, subject: "encoder aac", cause: "libavcodec has no AAC encoder on this machine",
        nextStep: "run scripts/setup, or use --audio none")
    }
    self.encoder = LibavEncoder(codec)
    self.format = format
    let context = self.encoder.context
    context.pointee.sample_fmt = AV_SAMPLE_FMT_FLTP
    context.pointee.sample_rate = Int32(format.sampleRate)
    av_channel_layout_default(&context.pointee.ch_layout, Int32(format.channelCount))
    context.pointee.bit_rate = Int64(bitrate)
    context.pointee.time_base = AVRational(num: 1, den: Int32(format.sampleRate))
    context.pointee.flags |= AV_CODEC_FLAG_GLOBAL_HEADER
    let result = avcodec_open2(context, codec, nil)
    guard result >= 0 else {
      throw VidiconError(
        .unsupported, subject: "encoder aac", cause: libavMessage(result),
        nextStep: "choose another sample rate or audio bitrate")
    }
    self.description = AACDescription(
      audioSpecificConfig: Array(self.encoder.extradata), format: format,
      samplesPerFrame: Int(context.pointee.frame_size))
  }

  /// Time of the next sample passed to ``encode(_:emit:)``; nil before the first.
  package var nextTime: MediaTime? {
    self.anchor.map { $0 + self.duration(self.position + Int64(self.pending.count / self.format.channelCount)) }
  }

  /// Advances the time of the samples that follow, over a gap that is not filled.
  package func advance(by gap: MediaDuration) {
    self.anchor = self.anchor.map { $0 + gap }
  }

  /// Restarts at a time, after audio that was not encoded here: pending samples are dropped, and the first output
  /// begins at this time.
  package func restart(at time: MediaTime) {
    self.pending.removeAll(keepingCapacity: true)
    self.anchor = time - self.duration(self.position)
    self.firstPosition = self.position
  }

  /// Encodes audio that is contiguous with the previous block.
  ///
  /// - Parameters:
  ///   - block: In the encoder's format; its timestamp counts for the first block only.
  ///   - emit: Called for each complete sample, in order.
  /// - Throws: ``VidiconError`` with ``VidiconError/Code/failed`` when the encoder rejects a block, or no memory is left.
  package func encode(_ block: AudioBlock, emit: (EncodedSample) -> Void) throws(VidiconError) {
    precondition(block.format == self.format, "the audio has the encoder's format")
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

  private func encodeFrame(_ samples: ArraySlice<Float>, emit: (EncodedSample) -> Void) throws(VidiconError) {
    let (channels, count) = (self.format.channelCount, self.description.samplesPerFrame)
    let frame = self.encoder.frame
    frame.pointee.format = AV_SAMPLE_FMT_FLTP.rawValue
    frame.pointee.nb_samples = Int32(count)
    frame.pointee.sample_rate = self.encoder.context.pointee.sample_rate
    av_channel_layout_copy(&frame.pointee.ch_layout, &self.encoder.context.pointee.ch_layout)
    frame.pointee.pts = self.position
    defer { av_frame_unref(frame) }
    var result = av_frame_get_buffer(frame, 0)
    if result >= 0 {
      samples.withUnsafeBufferPointer { source in
        for channel in 0..<channels {
          let plane = UnsafeMutableRawPointer(frame.pointee.extended_data[channel]!).assumingMemoryBound(to: Float.self)
          for index in 0..<count { plane[index] = source[index * channels + channel] }
        }
      }
      self.position += Int64(count)
      result = self.encoder.encode(frame) { self.emitPacket(emit) }
    }
    guard result >= 0 else {
      throw VidiconError(
        .failed, subject: "encoder aac", cause: libavMessage(result), nextStep: "use --audio none")
    }
  }

  /// Emits the current packet as a sample. The packet's timestamp includes the encoder's delay: it is 1024 samples
  /// before that of the audio passed in.
  private func emitPacket(_ emit: (EncodedSample) -> Void) {
    guard self.encoder.packet.pointee.pts >= self.firstPosition else { return }
    emit(
      EncodedSample(
        kind: .audio,
        payload: ByteBuffer(bytes: self.encoder.packetBytes),
        presentationTime: self.anchor! + self.duration(self.encoder.packet.pointee.pts),
        duration: self.duration(Int64(self.description.samplesPerFrame)),
        isKeyframe: true))
  }

  private func duration(_ samples: Int64) -> MediaDuration {
    .ticks(samples, timescale: Int32(self.format.sampleRate))
  }
}
