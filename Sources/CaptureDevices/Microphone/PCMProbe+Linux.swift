internal import Capture

#if canImport(CALSA)
internal import CALSA
internal import Libc
internal import Media

/// The formats that a PCM offers, or why it cannot be opened.
struct PCMProbe: Sendable {
  var formats: [CaptureDeviceFormat] = []
  var failure: PCMFailure?
  /// Name of the plug-in's device where the PCM is not a card: equal for two PCMs of one sound server.
  var driver: String?

  private static let enumerator = DeviceEnumerator<PCMProbe>(threadName: "microphones", timeout: .seconds(1))
  /// Sample rates that are listed when supported.
  static let sampleRates = [48_000, 44_100, 96_000, 32_000, 16_000, 8_000]

  /// Opens PCMs one after the other for a moment; nil for each that does not respond. Blocks.
  static func results(of names: [String]) -> [PCMProbe?] {
    self.enumerator.results(for: names) { PCMProbe($0) }
  }

  private init(_ name: String) {
    var handle: OpaquePointer?
    let status = snd_pcm_open(&handle, name, SND_PCM_STREAM_CAPTURE, Int32(SND_PCM_NONBLOCK))
    guard status >= 0, let pcm = handle else {
      self.failure = PCMFailure(number: -status, action: "opened", name: name)
      return
    }
    defer { snd_pcm_close(pcm) }
    if snd_pcm_type(pcm) == SND_PCM_TYPE_IOPLUG {
      var info: OpaquePointer?
      snd_pcm_info_malloc(&info)
      if info != nil, snd_pcm_info(pcm, info) == 0 { self.driver = String(cString: snd_pcm_info_get_name(info)) }
      snd_pcm_info_free(info)
    }
    var parameters: OpaquePointer?
    snd_pcm_hw_params_malloc(&parameters)
    defer { snd_pcm_hw_params_free(parameters) }
    guard parameters != nil, snd_pcm_hw_params_any(pcm, parameters) >= 0 else { return }
    snd_pcm_hw_params_set_rate_resample(pcm, parameters, 0)
    guard let encoding = PCMEncoding.allCases.first(where: { $0.isOffered(by: pcm, parameters) }) else { return }
    for channels in 1...2 where snd_pcm_hw_params_test_channels(pcm, parameters, UInt32(channels)) == 0 {
      for rate in Self.sampleRates where snd_pcm_hw_params_test_rate(pcm, parameters, UInt32(rate), 0) == 0 {
        self.formats.append(CaptureDeviceFormat(name: encoding.rawValue, sampleRate: rate, channels: channels))
      }
    }
  }
}
#endif
