import Foundation

extension Terminal {
  /// Enqueues a value as a line of JSON to standard output; never blocks. ``LineWriter/droppedCount`` counts lines that a
  /// slow reader loses.
  static func print(json value: some Encodable) {
    let encoder = JSONEncoder()
    encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
    // Safe because the values are strings, booleans and finite numbers, all of which JSON has.
    guard let data = try? encoder.encode(value) else { fatalError("a status line that is no JSON") }
    LineWriter.standardOutput.write(String(decoding: data, as: UTF8.self))
  }
}
