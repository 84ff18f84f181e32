#if canImport(CALSA)
internal import CALSA
internal import Libc

/// A sound card with capture devices.
struct SoundCard: Hashable {
  /// A capture device of a card.
  struct Device: Hashable {
    var number: Int
    var name: String
  }

  /// ALSA's index, which changes when cards are connected in another order.
  var index: Int
  /// The driver's identifier, which does not change.
  var id: String
  /// Human-readable name.
  var name: String
  /// Capture devices; at least one.
  var devices: [Device]

  /// Lists the cards with capture devices, in ALSA's order.
  static func all() -> [SoundCard] {
    vidicon_alsa_silence()
    var cards: [SoundCard] = []
    var index: Int32 = -1
    while snd_card_next(&index) == 0, index >= 0 {
      if let card = SoundCard(index: index), !card.devices.isEmpty { cards.append(card) }
    }
    return cards
  }

  /// Queries a card; nil when its control device cannot be opened.
  private init?(index: Int32) {
    var handle: OpaquePointer?
    guard snd_ctl_open(&handle, "hw:\(index)", Int32(SND_CTL_NONBLOCK)) == 0, let control = handle else { return nil }
    defer { snd_ctl_close(control) }
    var (card, pcm): (OpaquePointer?, OpaquePointer?)
    snd_ctl_card_info_malloc(&card)
    snd_pcm_info_malloc(&pcm)
    defer {
      snd_ctl_card_info_free(card)
      snd_pcm_info_free(pcm)
    }
    guard card != nil, pcm != nil, snd_ctl_card_info(control, card) == 0 else { return nil }
    self.index = Int(index)
    self.id = String(cString: snd_ctl_card_info_get_id(card))
    self.name = String(cString: snd_ctl_card_info_get_name(card))
    self.devices = []
    var device: Int32 = -1
    while snd_ctl_pcm_next_device(control, &device) == 0, device >= 0 {
      snd_pcm_info_set_device(pcm, UInt32(device))
      snd_pcm_info_set_subdevice(pcm, 0)
      snd_pcm_info_set_stream(pcm, SND_PCM_STREAM_CAPTURE)
      guard snd_ctl_pcm_info(control, pcm) == 0 else { continue }
      self.devices.append(Device(number: Int(device), name: String(cString: snd_pcm_info_get_name(pcm))))
    }
  }

  /// Name of a device's PCM with format conversion (`plughw`).
  func pcm(_ device: Device) -> String {
    PCMName(kind: "plughw", card: .id(self.id), device: device.number).text
  }

  /// Name of an open PCM that remains valid when cards are renumbered; nil when it was not opened by card number.
  static func stableName(of pcm: OpaquePointer, opened name: String) -> String? {
    guard var parsed = PCMName(name), case .index(let index) = parsed.card, index <= 1_024 else { return nil }
    guard let card = SoundCard(index: Int32(index)) else { return nil }
    parsed.card = .id(card.id)
    return parsed.text
  }

  /// Whether capture devices exist and the user has no permission for any of them.
  static var isAccessDenied: Bool {
    let devices = names(in: "/dev/snd").filter { $0.hasPrefix("pcm") && $0.hasSuffix("c") }
    return !devices.isEmpty && devices.allSatisfy { access("/dev/snd/\($0)", R_OK | W_OK) != 0 && errno == EACCES }
  }

  /// The visible processes that capture from a PCM, such as "obs (process 4711)"; empty when there are none.
  static func holders(of name: String) -> String {
    var matches: (String) -> Bool = { $0.hasPrefix("/dev/snd/pcmC") && $0.hasSuffix("c") }
    if let parsed = PCMName(name) {
      let index =
        switch parsed.card {
        case .index(let index): index
        case .id(let id): Int(snd_card_get_index(id))
        }
      matches = { $0 == "/dev/snd/pcmC\(index)D\(parsed.device)c" }
    }
    return DeviceHolder.find(where: matches).map(\.description).joined(separator: ", ")
  }
}
#endif
