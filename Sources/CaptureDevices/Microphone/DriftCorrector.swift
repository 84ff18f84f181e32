internal import CLibav
internal import Codecs
internal import Media

/// Makes even sound out of a device's: samples that follow each other without a gap in the streams' time, whatever the
/// device's own clock does, in the format that was promised.
///
/// The timestamps of its blocks are counted in samples, and the sound is resampled such that the count stays true. Used
/// by one thread.
final class DriftCorrector {
  /// The format that comes out.
  let output: AudioFormat
  private let input: AudioFormat
  private let followsClock: Bool
  private var resampler: OpaquePointer?
  private var estimator = DriftEstimator()
  private var control = RateControl()
  /// When the first sample of this stretch was taken; nil before that and after a gap.
  private var anchor: MediaTime?
  private var samplesIn: Int64 = 0
  private var samplesOut: Int64 = 0

  /// How far the sound may stray from its time before it is set right with a jump: the distance at which ear and eye
  /// part. Only a device that is wrong by more than ``RateControl/limit`` comes there.
  static let patience = MediaDuration.milliseconds(40)

  /// - Parameters:
  ///   - input: The device's format, one or two channels.
  ///   - output: What comes out.
  ///   - followsClock: Whether the device has a clock that may be wrong; else its samples are counted, and in the same
  ///     format they come out as they are.
  /// - Throws: ``VidiconError`` where libswresample cannot convert between the formats.
  init(from input: AudioFormat, to output: AudioFormat, followsClock: Bool = true) throws(VidiconError) {
    self.input = input
    self.output = output
    self.followsClock = followsClock
    try self.openResampler()
  }

  deinit {
    swr_free(&self.resampler)
  }

  /// The part by which more samples are made than the nominal rates ask for.
  var deviation: Double {
    self.control.deviation
  }

  /// Takes in samples of the device.
  ///
  /// - Parameters:
  ///   - samples: The channels of one instant next to each other.
  ///   - time: When the first one was taken, as far as the device knows.
  /// - Returns: What can be told of it by now, which is all but a third of a millisecond; nil when that is nothing.
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
    let made = self.resampler == nil ? samples : self.resample(samples, count: count)
    guard !made.isEmpty else { return nil }
    let block = AudioBlock(
      format: self.output,
      timestamp: anchor + .ticks(self.samplesOut, timescale: Int32(clamping: self.output.sampleRate)), samples: made)
    self.samplesOut += Int64(block.sampleCount)
    return block
  }

  /// Told that samples of the device are missing here: what comes next has a time of its own.
  func restart() throws(VidiconError) {
    self.anchor = nil
    (self.samplesIn, self.samplesOut) = (0, 0)
    self.estimator.restart()
    try self.openResampler()
  }

  /// Compares a block's time with that of the samples made so far, and sets the rate.
  private func follow(_ time: MediaTime, count: Int) throws(VidiconError) {
    guard let anchor = self.anchor else { return }
    let rate = Double(self.input.sampleRate)
    let position = Double(self.samplesIn) / rate
    let hasStepped = self.estimator.add(position: position, time: (time - anchor).seconds)
    // What the resampler holds was taken before this block.
    let held = Double(swr_get_delay(self.resampler, 1_000_000_000)) / 1e9
    let error = self.estimator.time(at: position - held) - Double(self.samplesOut) / Double(self.output.sampleRate)
    if hasStepped || abs(error) > Self.patience.seconds {
      try self.restart()
      self.anchor = time
      _ = self.estimator.add(position: 0, time: 0)
      return
    }
    self.control.update(
      drift: self.estimator.drift * self.estimator.confidence, error: error, elapsed: Double(count) / rate)
    swr_set_compensation(
      self.resampler, Int32((self.deviation * Double(Self.distance)).rounded()), Self.distance)
  }

  /// The samples for which a rate is set, which is longer than until it is set anew.
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
      // So that the rate can be changed later without a new filter, and in steps that nobody hears.
      for (name, value) in [("flags", Int64(SWR_FLAG_RESAMPLE)), ("exact_rational", 0), ("linear_interp", 1)] {
        av_opt_set_int(options, name, value, 0)
      }
      // One channel goes to both sides as loud as it is, and two to one without becoming louder than either.
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
        cause: "its sound cannot be resampled from \(self.input.sampleRate) to \(self.output.sampleRate) Hz "
          + "(\(libavMessage(status)))", nextStep: "choose another sample rate")
    }
  }

  private func resample(_ samples: [Float], count: Int) -> [Float] {
    let capacity = max(0, swr_get_out_samples(self.resampler, Int32(clamping: count)))
    let channels = self.output.channelCount
    return [Float](unsafeUninitializedCapacity: Int(capacity) * channels) { buffer, used in
      let made = samples.withUnsafeBytes { source in
        var outputs = [UnsafeMutableRawPointer(buffer.baseAddress)?.assumingMemoryBound(to: UInt8.self)]
        var inputs = [source.baseAddress?.assumingMemoryBound(to: UInt8.self)]
        return swr_convert(self.resampler, &outputs, capacity, &inputs, Int32(clamping: count))
      }
      used = max(0, Int(made)) * channels
    }
  }
}
