internal import CLibav
package import Media

/// Converts audio between sample rates and channel counts, through libswresample.
///
/// Used by one thread at a time. The resampler holds back a few milliseconds; timestamps account for it.
package final class AudioResampler {
  /// Sample rate and channel count of the input.
  package let input: AudioFormat
  /// Sample rate and channel count of the output.
  package let output: AudioFormat
  private var context: OpaquePointer?

  /// Creates a resampler between two formats.
  ///
  /// - Throws: A ``VidiconError`` `unsupported` where libswresample cannot convert between them.
  package init(from input: AudioFormat, to output: AudioFormat) throws(VidiconError) {
    self.input = input
    self.output = output
    var (inputLayout, outputLayout) = (AVChannelLayout(), AVChannelLayout())
    av_channel_layout_default(&inputLayout, Int32(input.channelCount))
    av_channel_layout_default(&outputLayout, Int32(output.channelCount))
    var result = swr_alloc_set_opts2(
      &self.context, &outputLayout, AV_SAMPLE_FMT_FLT, Int32(output.sampleRate), &inputLayout, AV_SAMPLE_FMT_FLT,
      Int32(input.sampleRate), 0, nil)
    if result >= 0 { result = swr_init(self.context) }
    guard result >= 0 else {
      swr_free(&self.context)
      throw VidiconError(
        .unsupported, subject: "encoder swresample", cause: libavMessage(result), nextStep: "choose another sample rate"
      )
    }
  }

  deinit {
    swr_free(&self.context)
  }

  /// Converts a block to the output format; the timestamp of the result is that of its first sample.
  package func resample(_ block: AudioBlock) -> AudioBlock {
    let inputRate = Int32(self.input.sampleRate)
    let held = MediaDuration.ticks(swr_get_delay(self.context, Int64(inputRate)), timescale: inputRate)
    let capacity = Int(swr_get_out_samples(self.context, Int32(block.sampleCount)))
    let channels = self.output.channelCount
    let samples = [Float](unsafeUninitializedCapacity: max(0, capacity) * channels) { buffer, count in
      let converted = block.samples.withUnsafeBytes { source in
        var outputs: [UnsafeMutablePointer<UInt8>?] = [
          UnsafeMutableRawPointer(buffer.baseAddress)?.assumingMemoryBound(to: UInt8.self)
        ]
        var inputs = [source.baseAddress?.assumingMemoryBound(to: UInt8.self)]
        return swr_convert(self.context, &outputs, Int32(capacity), &inputs, Int32(block.sampleCount))
      }
      count = max(0, Int(converted)) * channels
    }
    return AudioBlock(format: self.output, timestamp: block.timestamp - held, samples: samples)
  }
}
