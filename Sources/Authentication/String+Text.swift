internal import Media

extension StringProtocol where UTF8View: BidirectionalCollection, SubSequence == Substring {
  /// Whether both are equal, ignoring the case of ASCII letters.
  package func equalsIgnoringCase(_ other: String) -> Bool {
    self.utf8.count == other.utf8.count
      && zip(self.utf8, other.utf8).allSatisfy { $0.lowercasedASCII == $1.lowercasedASCII }
  }

  /// The text without leading and trailing spaces and tabs.
  package func trimmingSpace() -> String {
    let isText: (UInt8) -> Bool = { $0 != UInt8(ascii: " ") && $0 != UInt8(ascii: "\t") }
    guard let first = self.utf8.firstIndex(where: isText), let last = self.utf8.lastIndex(where: isText) else {
      return ""
    }
    return String(self[first...last])
  }

  /// The text with a space for each control character, so that it contains no line end.
  package func withoutControls() -> String {
    guard self.utf8.contains(where: \.isControl) else { return String(self) }
    return String(decoding: self.utf8.map { $0.isControl ? UInt8(ascii: " ") : $0 }, as: UTF8.self)
  }

  /// The parts between separators outside of quoted strings, RFC 2616 §2.2, trimmed.
  package func splitOutsideQuotes(_ separator: UInt8) -> [String] {
    var parts: [String] = []
    var start = self.utf8.startIndex
    var isQuoted = false
    var isEscaped = false
    for index in self.utf8.indices {
      let byte = self.utf8[index]
      if isEscaped {
        isEscaped = false
      } else if isQuoted, byte == UInt8(ascii: "\\") {
        isEscaped = true
      } else if byte == UInt8(ascii: "\"") {
        isQuoted.toggle()
      } else if byte == separator, !isQuoted {
        parts.append(self[start..<index].trimmingSpace())
        start = self.utf8.index(after: index)
      }
    }
    parts.append(self[start...].trimmingSpace())
    return parts
  }

  /// The content of a quoted string, RFC 2616 §2.2; other text unchanged.
  package func unquoted() -> String {
    guard self.utf8.count >= 2, self.utf8.first == UInt8(ascii: "\""), self.utf8.last == UInt8(ascii: "\"") else {
      return String(self)
    }
    var bytes: [UInt8] = []
    var isEscaped = false
    for byte in self.utf8.dropFirst().dropLast() {
      if !isEscaped, byte == UInt8(ascii: "\\") {
        isEscaped = true
      } else {
        bytes.append(byte)
        isEscaped = false
      }
    }
    return String(decoding: bytes, as: UTF8.self)
  }

  /// The number, if the text has decimal digits only and the number fits; otherwise nil.
  package func decimal<Number: FixedWidthInteger>(as _: Number.Type) -> Number? {
    guard !self.isEmpty, self.utf8.allSatisfy(\.isDigit) else { return nil }
    return Number(self)
  }
}

extension UInt8 {
  /// Whether the byte is an ASCII control character, tab included, which header values must not contain.
  package var isControl: Bool { self < 0x20 || self == 0x7f }

  /// Whether the byte is a decimal digit.
  package var isDigit: Bool { self &- UInt8(ascii: "0") < 10 }

  /// The lower-case letter of an upper-case ASCII letter; other bytes unchanged.
  package var lowercasedASCII: UInt8 { self &- UInt8(ascii: "A") < 26 ? self | 0x20 : self }

  /// Whether the byte is allowed in a token, such as a method or header name, RFC 2616 §2.2.
  package var isToken: Bool {
    switch self {
    case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
      UInt8(ascii: "0")...UInt8(ascii: "9"):
      true
    default:
      Self.tokenSigns.contains(self)
    }
  }

  private static let tokenSigns = Array("!#$%&'*+-.^_`|~".utf8)
}

extension Substring {
  /// The text with each `%` and two hexadecimal digits replaced by the byte; nil when the result is not UTF-8.
  package var percentDecoded: String? {
    var bytes: [UInt8] = []
    var rest = self.utf8[...]
    while let byte = rest.popFirst() {
      let digits = rest.prefix(2).compactMap(\.hexadecimalValue)
      if byte == UInt8(ascii: "%"), digits.count == 2 {
        bytes.append(digits[0] << 4 | digits[1])
        rest = rest.dropFirst(2)
      } else {
        bytes.append(byte)
      }
    }
    return String(validating: bytes, as: UTF8.self)
  }
}
