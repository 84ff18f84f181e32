/// Text of two hexadecimal digits for each byte, RFC 4648 §8.
package enum Hexadecimal {
  /// Encodes bytes.
  ///
  /// - Parameters:
  ///   - uppercase: Whether letters are upper-case; lower-case by default.
  ///   - separator: Text between two bytes, such as the colon of certificate fingerprints; none by default.
  package static func encode(
    _ bytes: some Sequence<UInt8>, uppercase: Bool = false, separator: String = ""
  ) -> String {
    let digits: StaticString = uppercase ? "0123456789ABCDEF" : "0123456789abcdef"
    var text: [UInt8] = []
    for byte in bytes {
      if !text.isEmpty { text.append(contentsOf: separator.utf8) }
      // The index is below 16, the length of the digits.
      text.append(digits.utf8Start[Int(byte >> 4)])
      text.append(digits.utf8Start[Int(byte & 0xF)])
    }
    return String(decoding: text, as: UTF8.self)
  }

  /// Decodes a text of either case; nil when it is empty, of odd length, or contains other characters.
  package static func decode(_ text: some StringProtocol) -> [UInt8]? {
    let digits = text.utf8.map(\.hexadecimalValue)
    guard !digits.isEmpty, digits.count.isMultiple(of: 2) else { return nil }
    var bytes: [UInt8] = []
    for index in stride(from: 0, to: digits.count, by: 2) {
      guard let high = digits[index], let low = digits[index + 1] else { return nil }
      bytes.append(high << 4 | low)
    }
    return bytes
  }
}

extension UInt8 {
  /// The value of a hexadecimal digit in ASCII, 0 to 15; nil for other bytes.
  package var hexadecimalValue: UInt8? {
    switch self {
    case UInt8(ascii: "0")...UInt8(ascii: "9"): self - UInt8(ascii: "0")
    case UInt8(ascii: "a")...UInt8(ascii: "f"): self - UInt8(ascii: "a") + 10
    case UInt8(ascii: "A")...UInt8(ascii: "F"): self - UInt8(ascii: "A") + 10
    default: nil
    }
  }
}
