internal import CLibav
internal import Codecs
internal import Media

/// Converts a device's audio to continuous audio on the ``StreamClock`` in the output format.
///
/// Timestamps of the output are counted in samples, and the audio is resampled so that this count matches the capture
/// times, whatever the drift of the device's clock. Used by one thread.
final class DriftCorrector {
  /// Format of the output.
  let output: AudioFormat
  private let input: AudioFormat
  private let followsClock: Bool
  private var resampler: OpaquePointer?
  private var estimator = DriftEstimator()
  private var controller = ResamplingRateController()
  /// Capture time of the first sample since the start or the last gap; nil before that sample.
  private var anchor: MediaTime?
  private var samplesIn: Int64 = 0
  private var samplesOut: Int64 = 0

  /// Maximum offset between timestamp and capture time before it is corrected by a step: the threshold of noticeable lip-sync
  /// error. Only a device whose drift exceeds ``ResamplingRateController/maximumDeviation`` reaches it.
  static let maximumOffset = MediaDuration.milliseconds(40)

  /// - Parameters:
  ///   - input: The device's format, one or two channels.
  ///   - output: Format of the output.
  ///   - followsClock: Whether the device has a clock that may drift; else its samples are counted, and with equal formats
  ///     passed through.
  /// - Throws: ``VidiconError`` when libswresample cannot convert between the formats.
  init(from input: AudioFormat, to output: AudioFormat, followsClock: Bool = true) throws(VidiconError) {
    self.input = input
    self.output = output
    self.followsClock = followsClock
    try self.openResampler()
  }

  deinit {
    swr_free(&self.resampler)
  }

  /// Deviation of the resampling rate from nominal, per sample.
  var deviation: Double {
    self.controller.deviation
  }

  /// Converts samples of the device.
  ///
  /// - Parameters:
  ///   - samples: Interleaved samples.
  ///   - time: Capture time of the first one as reported by the device.
  /// - Returns: The converted samples, except a third of a millisecond that the resampler holds; nil when there are none.
  func correct(_ samples: [Float], at time: MediaTime) throws(VidiconError) -> AudioBlock? {
    let count = samples.count / self.input.channelCount
    guard count > 0 else { return nil }
    if self.anchor != nil, self.followsClock { try self.follow(time, count: count) }
    let anchor = self.anchor ?? time
    if self.anchor == nil {
      self.anchor = anchor
      if self.followsClock { _ = self.estimator.add(position: 0, time: 0) }
    }
    self.samplesIn += Int64(count)
    let output = self.resampler == nil ? samples : self.resample(samples, count: count)
    guard !output.isEmpty else { return nil }
    let block = AudioBlock(
      format: self.output,
      timestamp: anchor + .ticks(self.samplesOut, timescale: Int32(clamping: self.output.sampleRate)), samples: output)
    self.samplesOut += Int64(block.sampleCount)
    return block
  }

  /// Records that samples of the device were lost: the next one restarts the timestamps.
  func restart() throws(VidiconError) {
    self.anchor = nil
    (self.samplesIn, self.samplesOut) = (0, 0)
    self.estimator.restart()
    try self.openResampler()
  }

  /// Compares a block's capture time with the count of output samples, and updates the resampling rate.
  private func follow(_ time: MediaTime, count: Int) throws(VidiconError) {
    guard let anchor = self.anchor else { return }
    let rate = Double(self.input.sampleRate)
    let position = Double(self.samplesIn) / rate
    let hasStepped = self.estimator.add(position: position, time: (time - anchor).seconds)
    // The resampler holds samples captured before this block.
    let held = Double(swr_get_delay(self.resampler, 1_000_000_000)) / 1e9
    let error = self.estimator.time(at: position - held) - Double(self.samplesOut) / Double(self.output.sampleRate)
    if hasStepped || abs(error) > Self.maximumOffset.seconds {
      try self.restart()
      self.anchor = time
      _ = self.estimator.add(position: 0, time: 0)
      return
    }
    self.controller.update(
      drift: self.estimator.drift * self.estimator.confidence, error: error, elapsed: Double(count) / rate)
    swr_set_compensation(
      self.resampler, Int32((self.deviation * Double(Self.distance)).rounded()), Self.distance)
  }

  /// Number of samples for which a rate is set; it is set again long before these have passed.
  private static let distance: Int32 = 10_000_000

  private func openResampler() throws(VidiconError) {
    swr_free(&self.resampler)
    guard self.followsClock || self.input != self.output else { return }
    var (inputLayout, outputLayout) = (AVChannelLayout(), AVChannelLayout())
    av_channel_layout_default(&inputLayout, Int32(clamping: self.input.channelCount))
    av_channel_layout_default(&outputLayout, Int32(clamping: self.output.channelCount))
    var status = swr_alloc_set_opts2(
      &self.resampler, &outputLayout, AV_SAMPLE_FMT_FLT, Int32(clamping: self.output.sampleRate), &inputLayout,
      AV_SAMPLE_FMT_FLT, Int32(clamping: self.input.sampleRate), 0, nil)
    if status >= 0, let resampler = self.resampler {
      let options = UnsafeMutableRawPointer(resampler)
      // Allows changes of the rate without a new filter, in inaudible steps.
      for (name, value) in [("flags", Int64(SWR_FLAG_RESAMPLE)), ("exact_rational", 0), ("linear_interp", 1)] {
        av_opt_set_int(options, name, value, 0)
      }
      // Mono goes to both channels at full level, and stereo is averaged to mono.
      let matrix = [Double](
        repeating: 1 / Double(self.input.channelCount), count: self.input.channelCount * self.output.channelCount)
      if self.input.channelCount != self.output.channelCount {
        swr_set_matrix(resampler, matrix, Int32(clamping: self.input.channelCount))
      }
      status = swr_init(resampler)
    }
    guard status >= 0 else {
      swr_free(&self.resampler)
      throw VidiconError(
        .failed, subject: "microphone",
        cause: "its audio cannot be resampled from \(self.input.sampleRate) to \(self.output.sampleRate) Hz "
          + "(\(libavMessage(status)))", nextStep: "choose another sample rate")
    }
  }

  private func resample(_ samples: [Float], count: Int) -> [Float] {
    let capacity = max(0, swr_get_out_samples(self.resampler, Int32(clamping: count)))
    let channels = self.output.channelCount
    return [Float](unsafeUninitializedCapacity: Int(capacity) * channels) { buffer, used in
      let converted = samples.withUnsafeBytes { source in
        var outputs = [UnsafeMutableRawPointer(buffer.baseAddress)?.assumingMemoryBound(to: UInt8.self)]
        var inputs = [source.baseAddress?.assumingMemoryBound(to: UInt8.self)]
        return swr_convert(self.resampler, &outputs, capacity, &inputs, Int32(clamping: count))
      }
      used = max(0, Int(converted)) * channels
    }
  }
}
