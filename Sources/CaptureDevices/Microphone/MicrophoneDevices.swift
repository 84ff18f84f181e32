package import Capture
internal import Media

#if canImport(CALSA)
internal import CALSA
internal import Libc
#endif

/// The microphones of this machine.
package enum MicrophoneDevices {
  /// Lists the microphones, the system's default first.
  ///
  /// Opens each one for a moment without capturing. Blocks for up to 1 s per microphone that does not respond.
  package static func devices() -> [CaptureDevice] {
    #if canImport(CALSA)
    MicrophoneList.devices()
    #else
    []
    #endif
  }
}

#if canImport(CALSA)
/// Builds the list of microphones: ALSA's default, PCMs of sound servers and of the user's configuration, and each capture
/// device of a sound card, without duplicates.
enum MicrophoneList {
  static func devices() -> [CaptureDevice] {
    vidicon_alsa_silence()
    var devices: [CaptureDevice] = []
    var drivers: Set<String> = []
    let named = [("default", "Default microphone")] + self.hints()
    for ((name, description), probe) in zip(named, PCMProbe.results(of: named.map(\.0))) {
      // A PCM that is only configured, such as that of a sound server that does not run, is not a device.
      if probe == nil || probe?.failure?.isMissing == true || probe?.failure?.number == ECONNREFUSED { continue }
      // The default is often a second name of a PCM that follows.
      if let driver = probe?.driver, !drivers.insert(driver).inserted { continue }
      devices.append(self.device(name, description, specification: name == "default" ? "mic:" : "mic:\(name)", probe))
    }
    let cardDevices = SoundCard.all().flatMap { card in card.devices.map { (card, $0) } }
    let pcms = cardDevices.map { card, device in PCMName(kind: "hw", card: .id(card.id), device: device.number).text }
    for (((card, device), pcm), probe) in zip(zip(cardDevices, pcms), PCMProbe.results(of: pcms)) {
      let name = card.devices.count == 1 ? card.name : "\(card.name), \(device.name)"
      devices.append(self.device(pcm, name, specification: "mic:\(card.pcm(device))", probe))
    }
    if devices.isEmpty, SoundCard.isAccessDenied {
      devices.append(
        CaptureDevice(
          kind: .microphone, specification: "mic:", name: "Default microphone", stableName: "default",
          problem: self.problem(.audioNotPermitted(source: "mic:"))))
    }
    return devices
  }

  private static func device(
    _ pcm: String, _ name: String, specification: String, _ probe: PCMProbe?
  ) -> CaptureDevice {
    let problem =
      if let failure = probe?.failure {
        self.problem(VidiconError(failure, source: specification))
      } else {
        probe == nil ? "it does not respond" : nil as String?
      }
    return CaptureDevice(
      kind: .microphone, specification: specification, name: name, stableName: pcm, formats: probe?.formats ?? [],
      problem: problem)
  }

  private static func problem(_ error: VidiconError) -> String {
    "\(error.cause); \(error.nextStep)"
  }

  /// The capture PCMs named by ALSA's configuration, without those of sound cards.
  private static func hints() -> [(name: String, description: String)] {
    var hints: UnsafeMutablePointer<UnsafeMutableRawPointer?>?
    guard snd_device_name_hint(-1, "pcm", &hints) == 0, let hints else { return [] }
    defer { snd_device_name_free_hint(hints) }
    func text(_ hint: UnsafeMutableRawPointer, _ key: String) -> String? {
      guard let value = snd_device_name_get_hint(hint, key) else { return nil }
      defer { free(value) }
      return String(cString: value)
    }
    var found: [(String, String)] = []
    var next = hints
    while let hint = next.pointee {
      next += 1
      guard let name = text(hint, "NAME"), !name.contains(":"), !self.plugins.contains(name) else { continue }
      guard text(hint, "IOID") ?? "Input" == "Input" else { continue }
      let description = text(hint, "DESC")?.split(separator: "\n").first.map(String.init)
      found.append((name, description ?? name))
    }
    return found
  }

  /// Configured PCMs that are not devices: the default, silence, and converters.
  private static let plugins: Set<String> = [
    "default", "null", "samplerate", "speexrate", "lavrate", "speex", "upmix", "vdownmix", "jack", "oss", "usbstream",
  ]
}
#endif
