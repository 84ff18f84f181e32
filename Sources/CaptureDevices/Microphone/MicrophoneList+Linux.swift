internal import Capture

#if canImport(CALSA)
internal import CALSA
internal import Glibc
internal import Media

/// Puts together the list of microphones out of what ALSA has: the default, sound servers and PCMs of the user's own,
/// and each device of a card that captures, once.
enum MicrophoneList {
  static func devices() -> [CaptureDevice] {
    vidicon_alsa_silence()
    var devices: [CaptureDevice] = []
    var drivers: Set<String> = []
    let named = [("default", "Default microphone")] + self.hints()
    for ((name, description), probe) in zip(named, PCMProbe.results(of: named.map(\.0))) {
      // One that is only defined, such as that of a sound server which does not run, is no device of this machine.
      if probe == nil || probe?.failure?.isMissing == true || probe?.failure?.number == ECONNREFUSED { continue }
      // The default often is one of those that follow.
      if let driver = probe?.driver, !drivers.insert(driver).inserted { continue }
      devices.append(self.device(name, description, specification: name == "default" ? "mic:" : "mic:\(name)", probe))
    }
    let ofCards = SoundCard.all().flatMap { card in card.devices.map { (card, $0) } }
    let pcms = ofCards.map { card, device in PCMName(kind: "hw", card: .id(card.id), device: device.number).text }
    for (((card, device), pcm), probe) in zip(zip(ofCards, pcms), PCMProbe.results(of: pcms)) {
      let name = card.devices.count == 1 ? card.name : "\(card.name), \(device.name)"
      devices.append(self.device(pcm, name, specification: "mic:\(card.pcm(device))", probe))
    }
    if devices.isEmpty, SoundCard.areForbidden {
      devices.append(
        CaptureDevice(
          kind: .microphone, specification: "mic:", name: "Default microphone", stableName: "default",
          problem: self.problem(.soundNotPermitted(source: "mic:"))))
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
        probe == nil ? "it does not answer" : nil as String?
      }
    return CaptureDevice(
      kind: .microphone, specification: specification, name: name, stableName: pcm, formats: probe?.formats ?? [],
      problem: problem)
  }

  private static func problem(_ error: VidiconError) -> String {
    "\(error.cause); \(error.nextStep)"
  }

  /// The PCMs beside those of cards that take sound, as ALSA's configuration names them.
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

  /// What ALSA names besides, none of which is a device: the default, what gives silence, and what converts.
  private static let plugins: Set<String> = [
    "default", "null", "samplerate", "speexrate", "lavrate", "speex", "upmix", "vdownmix", "jack", "oss", "usbstream",
  ]
}
#endif
