/// Text of SDP lines, without their line ends.
extension StringProtocol {
  /// The text without spaces and tabs at its ends.
  var trimmed: String {
    let bytes = Substring(self).utf8
    guard
      let first = bytes.firstIndex(where: { !$0.isBlank }), let last = bytes.lastIndex(where: { !$0.isBlank })
    else { return "" }
    return String(Substring(bytes[first...last]))
  }

  /// The words between spaces and tabs.
  var words: [String] {
    Substring(self).utf8.split { $0.isBlank }.map { String(Substring($0)) }
  }

  /// The text with a space for each control character, so that a value cannot start a new line.
  var singleLine: String {
    guard self.utf8.contains(where: { $0 < 0x20 }) else { return String(self) }
    return String(decoding: self.utf8.map { $0 < 0x20 ? UInt8(ascii: " ") : $0 }, as: UTF8.self)
  }
}

extension UInt8 {
  /// Whether the byte is a space or a tab.
  var isBlank: Bool {
    self == UInt8(ascii: " ") || self == UInt8(ascii: "\t")
  }
}
