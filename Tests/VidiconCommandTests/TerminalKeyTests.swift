import Testing

@testable import VidiconCommand

@Suite("Keys of the terminal")
struct TerminalKeyTests {
  /// The keys in bytes from a terminal.
  private static func keys(_ text: String) -> [TerminalKey] {
    var decoder = TerminalKeyDecoder()
    return text.utf8.compactMap { decoder.decode($0) }
  }

  @Test(
    arguments: [
      ("s", [.nextSource]), ("S", [.nextSource]), ("m", [.mirror]), (" ", [.pause]), ("q", [.quit]), ("c", [.control]),
      ("x\r\n\tä3", []),
      ("smm q", [.nextSource, .mirror, .mirror, .pause, .quit]),
    ] as [(String, [TerminalKey])])
  func `each key has its action, and others have none`(text: String, keys: [TerminalKey]) {
    #expect(Self.keys(text) == keys)
  }

  @Test(arguments: [
    "\u{1B}[A", "\u{1B}OQ", "\u{1B}[15~", "\u{1B}[1;5S", "\u{1B}[3~", "\u{1B}s", "\u{1B}[200~", "\u{1B}[<0;1;1M",
  ])
  func `escape sequences are skipped, and the next key is decoded`(sequence: String) {
    #expect(Self.keys(sequence) == [])
    #expect(Self.keys(sequence + "q") == [.quit])
  }
}
