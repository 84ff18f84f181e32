import Foundation

extension Terminal {
  /// Writes a value as a line of JSON to standard output.
  static func print(json value: some Encodable) {
    let encoder = JSONEncoder()
    encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
    // Safe because the values are strings, booleans and finite numbers, all of which JSON has.
    guard let data = try? encoder.encode(value) else { fatalError("a status line that is no JSON") }
    self.print(String(decoding: data, as: UTF8.self))
  }
}
