package import CLibav
package import Media

/// Converts the frames of an audio decoder to interleaved 32-bit floats of a fixed sample rate and channel count,
/// through libswresample. Used by one thread at a time.
package final class DecodedAudioConverter {
  /// Format to which decoded audio is converted.
  package let format: AudioFormat
  private var resampler: OpaquePointer?
  /// Input format that the resampler was set up for; -1 before the first frame.
  private var inputRate: Int32 = 0
  private var inputFormat: Int32 = -1
  private var inputChannels: Int32 = 0

  package init(format: AudioFormat) {
    self.format = format
  }

  deinit {
    swr_free(&self.resampler)
  }

  /// Discards the samples that the resampler holds back.
  package func reset() {
    swr_free(&self.resampler)
    self.inputFormat = -1
  }

  /// Converts the samples of a frame; nil when the resampler returns none or does not support the frame's format.
  package func samples(_ frame: UnsafeMutablePointer<AVFrame>) -> [Float]? {
    let count = frame.pointee.nb_samples
    guard count > 0, self.prepareResampler(for: frame), let resampler = self.resampler else { return nil }
    let capacity = swr_get_out_samples(resampler, count)
    guard capacity > 0 else { return nil }
    let channels = self.format.channelCount
    var isConverted = false
    let samples = [Float](unsafeUninitializedCapacity: Int(capacity) * channels) { buffer, written in
      written = 0
      var output = UnsafeMutableRawPointer(buffer.baseAddress)?.assumingMemoryBound(to: UInt8.self)
      let input = UnsafeMutableRawPointer(frame.pointee.extended_data)?
        .assumingMemoryBound(to: UnsafePointer<UInt8>?.self)
      let converted = swr_convert(resampler, &output, capacity, input, count)
      guard converted > 0 else { return }
      written = Int(converted) * channels
      isConverted = true
    }
    return isConverted ? samples : nil
  }

  /// Sets up the resampler for the first frame, and again when the decoder's output format changes.
  private func prepareResampler(for frame: UnsafeMutablePointer<AVFrame>) -> Bool {
    let channels = frame.pointee.ch_layout.nb_channels
    if self.resampler != nil, self.inputRate == frame.pointee.sample_rate, self.inputFormat == frame.pointee.format,
      self.inputChannels == channels
    {
      return true
    }
    swr_free(&self.resampler)
    guard frame.pointee.sample_rate > 0, channels > 0 else { return false }
    var input = AVChannelLayout()
    if frame.pointee.ch_layout.order == AV_CHANNEL_ORDER_UNSPEC {
      av_channel_layout_default(&input, channels)
    } else if av_channel_layout_copy(&input, &frame.pointee.ch_layout) < 0 {
      return false
    }
    defer { av_channel_layout_uninit(&input) }
    guard
      self.makeResampler(for: frame, from: &input, takesFirst: false)
        || self.makeResampler(for: frame, from: &input, takesFirst: true)
    else { return false }
    self.inputRate = frame.pointee.sample_rate
    self.inputFormat = frame.pointee.format
    self.inputChannels = channels
    return true
  }

  /// Sets up the resampler.
  ///
  /// - Parameter takesFirst: Whether the first channels are taken, and no others mixed into them, for channels whose places libswresample
  ///   does not know. Of ambisonics both are the first one, which is what comes from all directions.
  /// - Returns: False where libswresample does not support it.
  private func makeResampler(
    for frame: UnsafeMutablePointer<AVFrame>, from input: inout AVChannelLayout, takesFirst: Bool
  ) -> Bool {
    var output = AVChannelLayout()
    av_channel_layout_default(&output, Int32(self.format.channelCount))
    var status = swr_alloc_set_opts2(
      &self.resampler, &output, AV_SAMPLE_FMT_FLT, Int32(self.format.sampleRate), &input,
      AVSampleFormat(frame.pointee.format), frame.pointee.sample_rate, 0, nil)
    if status >= 0, takesFirst {
      let count = Int(input.nb_channels)
      var matrix = [Double](repeating: 0, count: self.format.channelCount * count)
      for channel in 0..<self.format.channelCount {
        let place = input.order == AV_CHANNEL_ORDER_AMBISONIC ? 0 : min(channel, count - 1)
        matrix[channel * count + place] = 1
      }
      status = swr_set_matrix(self.resampler, matrix, Int32(count))
    }
    if status >= 0 { status = swr_init(self.resampler) }
    if status < 0 { swr_free(&self.resampler) }
    return status >= 0
  }
}

extension PacketDecoder {
  /// Format to convert the decoder's audio to: the stream's sample rate, at most two channels.
  ///
  /// - Parameters:
  ///   - presumed: Format where neither is known before audio is decoded; nil to throw.
  ///   - source: Subject of errors, such as the path of the file.
  /// - Throws: ``VidiconError`` `invalidData` for a sample rate outside of 1,000 to 768,000 Hz, or without channels.
  package func audioFormat(presumed: AudioFormat? = nil, source: String) throws(VidiconError) -> AudioFormat {
    let rate = self.context.pointee.sample_rate
    let channels = self.context.pointee.ch_layout.nb_channels
    if rate == 0, channels == 0, let presumed { return presumed }
    guard (1_000...768_000).contains(rate), channels > 0 else {
      throw VidiconError(
        .invalidData, subject: source, cause: "its audio has \(rate) samples a second in \(channels) channels",
        nextStep: "convert it with: ffmpeg -i \(source) -ar 48000 -ac 2 out.mp4")
    }
    return AudioFormat(sampleRate: Int(rate), channelCount: Int(min(channels, 2)))
  }
}
