/// The name of a PCM of ALSA that is a device of a sound card: `hw:1,0`, `plughw:CARD=C920,DEV=0`.
struct PCMName: Hashable {
  /// Which card.
  enum Card: Hashable {
    /// By the number that it got when it was found.
    case index(Int)
    /// By the name that its driver gave it.
    case id(String)
  }

  /// What is put around the device: `hw` for nothing, `plughw` for conversions.
  var kind: String
  /// Its card.
  var card: Card
  /// The number of the device on its card.
  var device: Int

  /// A device.
  init(kind: String, card: Card, device: Int) {
    self.kind = kind
    self.card = card
    self.device = device
  }

  /// Reads a name; nil when it is not that of a device of a card.
  init?(_ name: String) {
    guard let colon = name.firstIndex(of: ":") else { return nil }
    self.kind = String(name[..<colon])
    guard ["hw", "plughw", "sysdefault", "dsnoop", "front"].contains(self.kind) else { return nil }
    var (card, device): (Substring?, Substring?)
    for (index, part) in name[name.index(after: colon)...].split(separator: ",").enumerated() {
      let pair = part.split(separator: "=", maxSplits: 1)
      switch (pair.count, pair.first) {
      case (2, "CARD"): card = pair[1]
      case (2, "DEV"): device = pair[1]
      case (1, _) where index == 0: card = part
      case (1, _) where index == 1: device = part
      default: break
      }
    }
    guard let card, let number = Int(device ?? "0"), number >= 0 else { return nil }
    self.card = Int(card).map { .index($0) } ?? .id(String(card))
    self.device = number
  }

  /// What ALSA calls it.
  var text: String {
    switch self.card {
    case .index(let index): "\(self.kind):\(index),\(self.device)"
    case .id(let id): "\(self.kind):CARD=\(id),DEV=\(self.device)"
    }
  }
}
