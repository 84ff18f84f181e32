#if canImport(CALSA)
internal import CALSA
internal import Libc
internal import Media

/// The hardware and software parameters of an open PCM.
struct PCMSettings {
  let encoding: PCMEncoding
  let sampleRate: Int
  /// Number of channels of the device, including those that are discarded.
  let channelCount: Int
  /// Size of the device's buffer in samples per channel.
  let bufferSize: Int

  /// Configures a PCM with the nearest format that it supports.
  ///
  /// - Parameters:
  ///   - preferred: The preferred sample rate and channel count.
  ///   - period: Preferred interval of wake-ups in microseconds.
  ///   - buffer: Preferred length of the device's buffer in microseconds.
  init(
    negotiating pcm: OpaquePointer, name: String, near preferred: AudioFormat, period: UInt32, buffer: UInt32
  ) throws(PCMFailure) {
    var allocated: OpaquePointer?
    snd_pcm_hw_params_malloc(&allocated)
    defer { snd_pcm_hw_params_free(allocated) }
    func check(_ status: Int32, _ parameter: String) throws(PCMFailure) {
      try PCMFailure.check(status, "set up with \(parameter)", of: name)
    }
    try check(snd_pcm_hw_params_any(pcm, allocated), "any format")
    // ALSA resamples by linear interpolation; libswresample has better quality.
    snd_pcm_hw_params_set_rate_resample(pcm, allocated, 0)
    try check(snd_pcm_hw_params_set_access(pcm, allocated, SND_PCM_ACCESS_RW_INTERLEAVED), "interleaved channels")
    guard let encoding = PCMEncoding.allCases.first(where: { $0.isOffered(by: pcm, allocated) }) else {
      throw PCMFailure(number: EINVAL, action: "set up with a supported sample format", name: name)
    }
    try check(snd_pcm_hw_params_set_format(pcm, allocated, encoding.format), encoding.rawValue)
    var channels = UInt32(clamping: preferred.channelCount)
    try check(snd_pcm_hw_params_set_channels_near(pcm, allocated, &channels), "\(preferred.channelCount) channels")
    var rate = UInt32(clamping: preferred.sampleRate)
    try check(snd_pcm_hw_params_set_rate_near(pcm, allocated, &rate, nil), "\(preferred.sampleRate) Hz")
    var (bufferTime, periodTime) = (buffer, period)
    try check(snd_pcm_hw_params_set_buffer_time_near(pcm, allocated, &bufferTime, nil), "a buffer")
    try check(snd_pcm_hw_params_set_period_time_near(pcm, allocated, &periodTime, nil), "periods")
    try check(snd_pcm_hw_params(pcm, allocated), "its settings")

    var (bufferSize, periodSize) = (snd_pcm_uframes_t(0), snd_pcm_uframes_t(0))
    snd_pcm_hw_params_get_buffer_size(allocated, &bufferSize)
    snd_pcm_hw_params_get_period_size(allocated, &periodSize, nil)
    guard rate > 0, rate <= 1_000_000, channels > 0, channels <= 1_024, bufferSize > 0 else {
      throw PCMFailure(number: EINVAL, action: "set up with \(rate) Hz and \(channels) channels", name: name)
    }
    self.encoding = encoding
    self.sampleRate = Int(rate)
    self.channelCount = Int(channels)
    self.bufferSize = Int(clamping: bufferSize)

    var software: OpaquePointer?
    snd_pcm_sw_params_malloc(&software)
    defer { snd_pcm_sw_params_free(software) }
    try check(snd_pcm_sw_params_current(pcm, software), "its settings")
    snd_pcm_sw_params_set_avail_min(pcm, software, min(max(periodSize, 1), bufferSize))
    // Fails on plug-ins without timestamps; the time of the query is used instead.
    snd_pcm_sw_params_set_tstamp_mode(pcm, software, SND_PCM_TSTAMP_ENABLE)
    snd_pcm_sw_params_set_tstamp_type(pcm, software, SND_PCM_TSTAMP_TYPE_MONOTONIC)
    try check(snd_pcm_sw_params(pcm, software), "its settings")
  }
}

extension PCMEncoding {
  /// ALSA's constant.
  var format: snd_pcm_format_t {
    switch self {
    case .float32: SND_PCM_FORMAT_FLOAT_LE
    case .int32: SND_PCM_FORMAT_S32_LE
    case .int24: SND_PCM_FORMAT_S24_3LE
    case .int24In32: SND_PCM_FORMAT_S24_LE
    case .int16: SND_PCM_FORMAT_S16_LE
    case .int16BigEndian: SND_PCM_FORMAT_S16_BE
    case .uint8: SND_PCM_FORMAT_U8
    }
  }

  /// Whether a PCM supports the encoding.
  func isOffered(by pcm: OpaquePointer, _ parameters: OpaquePointer?) -> Bool {
    snd_pcm_hw_params_test_format(pcm, parameters, self.format) == 0
  }
}
#endif
