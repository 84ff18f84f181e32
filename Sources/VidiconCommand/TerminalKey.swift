/// What a key of the terminal does while the program serves.
enum TerminalKey: Hashable, CaseIterable {
  /// The next source.
  case nextSource
  /// Mirrors the picture, and back.
  case mirror
  /// Pauses encoding, and goes on.
  case pause
  /// Ends the program, as Ctrl-C does.
  case quit

  /// What a byte from the terminal stands for; nil for keys that do nothing.
  init?(byte: UInt8) {
    switch byte {
    case UInt8(ascii: "s"), UInt8(ascii: "S"): self = .nextSource
    case UInt8(ascii: "m"), UInt8(ascii: "M"): self = .mirror
    case UInt8(ascii: " "): self = .pause
    case UInt8(ascii: "q"), UInt8(ascii: "Q"): self = .quit
    default: return nil
    }
  }

  /// What they all do, for people.
  static let hint = "s next source   m mirror   space pause   q quit"
}

/// Takes the keys out of what a terminal sends: arrows and function keys come as several bytes, which stand for none.
struct TerminalKeyDecoder {
  private enum Place {
    case ground, escape, sequence
  }

  private var place = Place.ground

  /// What the next byte completes; nil when it completes nothing.
  mutating func decode(_ byte: UInt8) -> TerminalKey? {
    switch self.place {
    case .ground:
      if byte != 0x1B { return TerminalKey(byte: byte) }
      self.place = .escape
    case .escape:
      // Control sequence introducer and single shift, ECMA-48 §5.4 and §8.3.143; other keys come with one byte after the
      // escape.
      self.place = byte == UInt8(ascii: "[") || byte == UInt8(ascii: "O") ? .sequence : .ground
    case .sequence:
      // Parameters and intermediates, up to a final byte.
      if (0x40...0x7E).contains(byte) || byte < 0x20 { self.place = .ground }
    }
    return nil
  }
}
