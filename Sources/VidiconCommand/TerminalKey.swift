/// Action of a terminal key while the program serves.
enum TerminalKey: Hashable, CaseIterable {
  /// Switches to the next source.
  case nextSource
  /// Toggles mirroring.
  case mirror
  /// Pauses and resumes encoding.
  case pause
  /// Shows the QR code of the control address.
  case control
  /// Ends the program, as Ctrl-C does.
  case quit

  /// The action of a byte from the terminal; nil for keys without one.
  init?(byte: UInt8) {
    switch byte {
    case UInt8(ascii: "s"), UInt8(ascii: "S"): self = .nextSource
    case UInt8(ascii: "m"), UInt8(ascii: "M"): self = .mirror
    case UInt8(ascii: "c"), UInt8(ascii: "C"): self = .control
    case UInt8(ascii: " "): self = .pause
    case UInt8(ascii: "q"), UInt8(ascii: "Q"): self = .quit
    default: return nil
    }
  }

  /// A summary of the keys for users.
  static let hint = "s next source   m mirror   space pause   c control by phone   q quit"
}

/// Decodes keys from the bytes of a terminal; the escape sequences of arrow and function keys are skipped.
struct TerminalKeyDecoder {
  private enum State {
    case ground, escape, sequence
  }

  private var state = State.ground

  /// The key that a byte completes; nil for none.
  mutating func decode(_ byte: UInt8) -> TerminalKey? {
    switch self.state {
    case .ground:
      if byte != 0x1B { return TerminalKey(byte: byte) }
      self.state = .escape
    case .escape:
      // Control sequence introducer and single shift, ECMA-48 §5.4 and §8.3.143; other keys are one byte after the
      // escape.
      self.state = byte == UInt8(ascii: "[") || byte == UInt8(ascii: "O") ? .sequence : .ground
    case .sequence:
      // Parameters and intermediates, up to a final byte.
      if (0x40...0x7E).contains(byte) || byte < 0x20 { self.state = .ground }
    }
    return nil
  }
}
