/// Hexadecimal encoding of bytes, two digits each.
enum Hexadecimal {
  /// Encodes bytes with upper-case digits.
  static func encode(_ bytes: some Sequence<UInt8>) -> String {
    bytes.map { ($0 < 0x10 ? "0" : "") + String($0, radix: 16, uppercase: true) }.joined()
  }

  /// Decodes a text; nil when it is empty, of odd length, or contains other characters.
  static func decode(_ text: String) -> [UInt8]? {
    let digits = text.utf8.map { Character(UnicodeScalar($0)).hexDigitValue }
    guard !digits.isEmpty, digits.count.isMultiple(of: 2) else { return nil }
    var bytes: [UInt8] = []
    for index in stride(from: 0, to: digits.count, by: 2) {
      guard let high = digits[index], let low = digits[index + 1] else { return nil }
      bytes.append(UInt8(high << 4 | low))
    }
    return bytes
  }
}
