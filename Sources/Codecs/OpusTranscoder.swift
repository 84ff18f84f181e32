internal import CLibav
package import Media
internal import NIOCore

/// Transcodes AAC to Opus, RFC 6716, for WebRTC: 48,000 Hz, stereo, packets of 20 ms.
///
/// Used by one thread at a time. Timestamps of the output are counted in samples from the first one; after a gap they
/// restart. Damaged samples are left out.
package final class OpusTranscoder {
  /// Format of the output, RFC 7587 §4.1.
  package static let format = AudioFormat(sampleRate: 48_000, channelCount: 2)
  /// Length of a packet, in samples of each channel: 20 ms.
  package static let samplesPerPacket = 960
  /// Bits per second.
  private static let bitrate: Int64 = 96_000
  /// Difference from the expected time at which the timeline restarts.
  private static let maximumDrift = MediaDuration.milliseconds(60)

  private let decoder: PacketDecoder
  private let converter = DecodedAudioConverter(format: OpusTranscoder.format)
  private let encoder: LibavEncoder
  /// Interleaved samples that do not fill a packet yet.
  private var pending: [Float] = []
  /// Position of the first pending sample, in samples since ``anchor``.
  private var position: Int64 = 0
  /// Time of sample 0.
  private var anchor: MediaTime?
  /// Positions below this belong to audio before a gap, and are not output.
  private var firstPosition = Int64.min

  /// Opens decoder and encoder.
  ///
  /// - Throws: ``VidiconError`` `notFound` when libavcodec has no Opus encoder, or another of the decoder.
  package init(_ description: AACDescription) throws(VidiconError) {
    self.encoder = try Self.makeEncoder()
    let source = "AAC decoder"
    guard let parameters = CodecParameters(description) else {
      throw VidiconError(libav: vidicon_averror_enomem, source: source)
    }
    defer { withExtendedLifetime(parameters) {} }
    self.decoder = try PacketDecoder(parameters.pointer, source: source)
  }

  private static func makeEncoder() throws(VidiconError) -> LibavEncoder {
    guard let codec = avcodec_find_encoder_by_name("libopus") else {
      throw VidiconError(
        .notFound, subject: "encoder libopus", cause: "libavcodec has no Opus encoder on this machine",
        nextStep: "run scripts/setup; until then WebRTC has no audio")
    }
    let encoder = LibavEncoder(codec)
    let context = encoder.context
    context.pointee.sample_fmt = AV_SAMPLE_FMT_FLT
    context.pointee.sample_rate = Int32(Self.format.sampleRate)
    av_channel_layout_default(&context.pointee.ch_layout, Int32(Self.format.channelCount))
    context.pointee.bit_rate = Self.bitrate
    context.pointee.time_base = AVRational(num: 1, den: Int32(Self.format.sampleRate))
    var options: OpaquePointer?
    defer { av_dict_free(&options) }
    // Of low delay, which has no forward error correction; for 5% of loss, packets depend less on the one before.
    for (name, value) in [("application", "lowdelay"), ("frame_duration", "20"), ("packet_loss", "5")] {
      av_dict_set(&options, name, value, 0)
    }
    let result = avcodec_open2(context, codec, &options)
    guard result >= 0, context.pointee.frame_size == Int32(Self.samplesPerPacket) else {
      throw VidiconError(
        .unsupported, subject: "encoder libopus", cause: libavMessage(result),
        nextStep: "run scripts/setup; until then WebRTC has no audio")
    }
    return encoder
  }

  /// Transcodes a sample.
  ///
  /// - Parameter emit: Called for each packet that is complete, in order.
  package func transcode(_ sample: EncodedSample, emit: (EncodedSample) -> Void) {
    // No frame of AAC is longer; a publisher's message may be.
    guard sample.payload.readableBytes < 1 << 20, self.decoder.append(sample) else { return }
    _ = self.decoder.decodeNext { frame in
      guard let samples = self.converter.samples(frame) else { return }
      self.align(to: sample.presentationTime)
      self.pending.append(contentsOf: samples)
    }
    let length = Self.samplesPerPacket * Self.format.channelCount
    var start = 0
    while self.pending.count - start >= length {
      self.encode(self.pending[start..<start + length], emit: emit)
      start += length
    }
    self.pending.removeFirst(start)
  }

  /// Starts the timeline at the first sample, and again after a gap.
  private func align(to time: MediaTime) {
    let held = Int64(self.pending.count / Self.format.channelCount)
    if let anchor {
      let drift = time - (anchor + self.duration(self.position + held))
      guard drift > Self.maximumDrift || drift < MediaDuration.zero - Self.maximumDrift else { return }
      self.pending.removeAll(keepingCapacity: true)
      self.firstPosition = self.position
    }
    self.anchor = time - self.duration(self.position + Int64(self.pending.count / Self.format.channelCount))
  }

  private func encode(_ samples: ArraySlice<Float>, emit: (EncodedSample) -> Void) {
    let frame = self.encoder.frame
    frame.pointee.format = AV_SAMPLE_FMT_FLT.rawValue
    frame.pointee.nb_samples = Int32(Self.samplesPerPacket)
    frame.pointee.sample_rate = self.encoder.context.pointee.sample_rate
    av_channel_layout_copy(&frame.pointee.ch_layout, &self.encoder.context.pointee.ch_layout)
    frame.pointee.pts = self.position
    defer { av_frame_unref(frame) }
    self.position += Int64(Self.samplesPerPacket)
    guard av_frame_get_buffer(frame, 0) >= 0, let plane = frame.pointee.extended_data[0] else { return }
    samples.withUnsafeBytes { UnsafeMutableRawBufferPointer(start: plane, count: $0.count).copyMemory(from: $0) }
    _ = self.encoder.encode(frame) {
      let pts = self.encoder.packet.pointee.pts
      guard let anchor = self.anchor, pts >= self.firstPosition else { return }
      emit(
        EncodedSample(
          kind: .audio, payload: ByteBuffer(bytes: self.encoder.packetBytes),
          presentationTime: anchor + self.duration(pts),
          duration: self.duration(Int64(Self.samplesPerPacket)), isKeyframe: true))
    }
  }

  private func duration(_ samples: Int64) -> MediaDuration {
    .ticks(samples, timescale: Int32(Self.format.sampleRate))
  }
}
