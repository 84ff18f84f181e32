import Foundation
import Media

/// Parses and formats times and sizes.
enum Quantity {
  /// Parses a time such as `90` or `90s`, `1.5h`, `1h30m`, `7d`: 1 ms to 3650 days.
  static func duration(_ text: String) throws(VidiconError) -> MediaDuration {
    let factors: [Substring: Double] = ["": 1, "ms": 0.001, "s": 1, "m": 60, "min": 60, "h": 3600, "d": 86_400]
    var rest = text[...]
    var seconds = 0.0
    repeat {
      let number = rest.prefix(while: Self.isPartOfNumber)
      rest = rest.dropFirst(number.count)
      let unit = rest.prefix { !Self.isPartOfNumber($0) }
      rest = rest.dropFirst(unit.count)
      seconds += (Double(number) ?? .nan) * (factors[unit] ?? .nan)
    } while !rest.isEmpty
    guard (0.001...3650 * 86_400).contains(seconds) else {
      throw .usage(quoted(text), "it is not a time", "give seconds, or such as 90s, 10m, 1h30m, 7d")
    }
    return .milliseconds(Int64((seconds * 1000).rounded()))
  }

  /// Parses a size in bytes such as `500M`: k, M, G and T are powers of 1000; 1 byte to 1000 T.
  static func byteCount(_ text: String) throws(VidiconError) -> Int {
    let factors: [String: Double] = ["": 1, "k": 1e3, "m": 1e6, "g": 1e9, "t": 1e12]
    let number = text.prefix(while: Self.isPartOfNumber)
    var unit = text.dropFirst(number.count).lowercased()
    if unit.hasSuffix("b") { unit.removeLast() }
    let count = (Double(number) ?? .nan) * (factors[unit] ?? .nan)
    guard (1...1e15).contains(count) else {
      throw .usage(quoted(text), "it is not a size", "give bytes, or such as 500M, 20G")
    }
    return Int(count)
  }

  /// Formats a time as `01:02:03`.
  static func text(_ duration: MediaDuration) -> String {
    let seconds = duration.nanoseconds / 1_000_000_000
    return String(format: "%02d:%02d:%02d", Int(seconds / 3600), Int(seconds / 60 % 60), Int(seconds % 60))
  }

  /// Formats a size as `12.3 MB`.
  static func text(byteCount: Int) -> String {
    switch byteCount {
    case ..<1_000_000: "\(byteCount / 1000) kB"
    case ..<1_000_000_000: String(format: "%.1f MB", Double(byteCount) / 1e6)
    default: String(format: "%.2f GB", Double(byteCount) / 1e9)
    }
  }

  private static func isPartOfNumber(_ character: Character) -> Bool {
    character.isASCII && character.isNumber || character == "."
  }
}
