/// The name of an ALSA PCM that is a device of a sound card, such as `hw:1,0` or `plughw:CARD=C920,DEV=0`.
package struct PCMName: Hashable {
  /// Selection of a sound card.
  package enum Card: Hashable {
    /// ALSA's index, which changes when cards are connected in another order.
    case index(Int)
    /// The driver's identifier, which does not change.
    case id(String)
  }

  /// The plug-in around the device: `hw` for none, `plughw` for format conversion.
  package var kind: String
  /// Sound card, by index or identifier.
  package var card: Card
  /// Number of the device on the card.
  package var device: Int

  /// Creates a name from its parts.
  init(kind: String, card: Card, device: Int) {
    self.kind = kind
    self.card = card
    self.device = device
  }

  /// Parses a name; nil when it does not select a device of a card.
  package init?(_ name: String) {
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

  /// The name in ALSA's syntax.
  package var text: String {
    switch self.card {
    case .index(let index): "\(self.kind):\(index),\(self.device)"
    case .id(let id): "\(self.kind):CARD=\(id),DEV=\(self.device)"
    }
  }
}

/// Search for sound cards by name.
enum CardNames {
  /// The indices of the names that contain a text, ignoring case; of equal ones alone if there are any.
  static func indices(of text: String, in names: [String]) -> [Int] {
    let text = text.lowercased()
    guard !text.isEmpty else { return [] }
    let names = names.map { $0.lowercased() }
    let equal = names.indices.filter { names[$0] == text }
    return equal.isEmpty ? names.indices.filter { names[$0].contains(text) } : equal
  }
}
