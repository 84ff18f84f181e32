#if canImport(CALSA)
internal import CALSA
internal import Glibc
internal import Media

/// What an open PCM has agreed to.
struct PCMSettings {
  let encoding: PCMEncoding
  let sampleRate: Int
  /// All channels of the device, also those that are not kept.
  let channelCount: Int
  /// Samples of each channel.
  let bufferSize: Int

  /// Asks a PCM for the nearest it has to a format, and sets it up for that.
  ///
  /// - Parameters:
  ///   - period: The wanted distance of wake-ups in microseconds.
  ///   - buffer: The wanted length of its buffer in microseconds.
  init(
    negotiating pcm: OpaquePointer, name: String, near wish: AudioFormat, period: UInt32, buffer: UInt32
  ) throws(PCMFailure) {
    var allocated: OpaquePointer?
    snd_pcm_hw_params_malloc(&allocated)
    defer { snd_pcm_hw_params_free(allocated) }
    func check(_ status: Int32, _ what: String) throws(PCMFailure) {
      try PCMFailure.check(status, "set up with \(what)", of: name)
    }
    try check(snd_pcm_hw_params_any(pcm, allocated), "any format")
    // ALSA would convert rates by drawing straight lines between samples; libswresample does better.
    snd_pcm_hw_params_set_rate_resample(pcm, allocated, 0)
    try check(snd_pcm_hw_params_set_access(pcm, allocated, SND_PCM_ACCESS_RW_INTERLEAVED), "interleaved channels")
    guard let encoding = PCMEncoding.allCases.first(where: { $0.isOffered(by: pcm, allocated) }) else {
      throw PCMFailure(number: EINVAL, action: "set up with a known format of samples", name: name)
    }
    try check(snd_pcm_hw_params_set_format(pcm, allocated, encoding.format), encoding.rawValue)
    var channels = UInt32(clamping: wish.channelCount)
    try check(snd_pcm_hw_params_set_channels_near(pcm, allocated, &channels), "\(wish.channelCount) channels")
    var rate = UInt32(clamping: wish.sampleRate)
    try check(snd_pcm_hw_params_set_rate_near(pcm, allocated, &rate, nil), "\(wish.sampleRate) Hz")
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
    // Some plug-ins have no timestamps; without, the time of asking serves.
    snd_pcm_sw_params_set_tstamp_mode(pcm, software, SND_PCM_TSTAMP_ENABLE)
    snd_pcm_sw_params_set_tstamp_type(pcm, software, SND_PCM_TSTAMP_TYPE_MONOTONIC)
    try check(snd_pcm_sw_params(pcm, software), "its settings")
  }
}

extension PCMEncoding {
  /// The number that ALSA has for it.
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

  /// Whether a PCM can be set to it.
  func isOffered(by pcm: OpaquePointer, _ parameters: OpaquePointer?) -> Bool {
    snd_pcm_hw_params_test_format(pcm, parameters, self.format) == 0
  }
}
#endif
