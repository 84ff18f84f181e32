/// Base64, RFC 4648 §4, for parameter sets in SDP and for passwords in HTTP; the standard library has none.
package enum Base64 {
  private static let alphabet = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/".utf8)
  private static let padding = UInt8(ascii: "=")

  /// Encodes bytes.
  ///
  /// - Parameter isPadded: Whether `=` fills the text to a multiple of four characters.
  package static func encode(_ bytes: [UInt8], isPadded: Bool = true) -> String {
    var text: [UInt8] = []
    text.reserveCapacity((bytes.count + 2) / 3 * 4)
    for start in stride(from: 0, to: bytes.count, by: 3) {
      let group = bytes[start..<min(start + 3, bytes.count)]
      let bits = group.reduce(UInt32(0)) { $0 << 8 | UInt32($1) } << UInt32(8 * (3 - group.count))
      for index in 0...(isPadded ? 3 : group.count) {
        text.append(index <= group.count ? Self.alphabet[Int(bits >> UInt32(18 - 6 * index) & 0x3F)] : Self.padding)
      }
    }
    return String(decoding: text, as: UTF8.self)
  }

  /// Decodes a text; nil when a character is not in the alphabet. Padding is optional: some
  /// cameras omit it.
  package static func decode(_ text: some StringProtocol) -> [UInt8]? {
    var bytes: [UInt8] = []
    bytes.reserveCapacity(text.utf8.count / 4 * 3)
    var bits: UInt32 = 0
    var count = 0
    var isPadded = false
    for character in text.utf8 {
      if character == Self.padding {
        isPadded = true
        continue
      }
      guard !isPadded, let value = Self.value(of: character) else { return nil }
      bits = bits << 6 | value
      count += 6
      if count >= 8 {
        count -= 8
        bytes.append(UInt8(truncatingIfNeeded: bits >> UInt32(count)))
      }
    }
    // A single remaining character is less than one byte.
    return count == 6 ? nil : bytes
  }

  private static func value(of character: UInt8) -> UInt32? {
    switch character {
    case UInt8(ascii: "A")...UInt8(ascii: "Z"): UInt32(character - UInt8(ascii: "A"))
    case UInt8(ascii: "a")...UInt8(ascii: "z"): UInt32(character - UInt8(ascii: "a")) + 26
    case UInt8(ascii: "0")...UInt8(ascii: "9"): UInt32(character - UInt8(ascii: "0")) + 52
    case UInt8(ascii: "+"): 62
    case UInt8(ascii: "/"): 63
    default: nil
    }
  }
}
