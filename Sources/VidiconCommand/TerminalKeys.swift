import CTerminal
import Foundation

/// The keys that are pressed on the terminal, while the program serves.
///
/// Keys are read only where the standard input is a terminal, which is given back as it was however the program ends.
struct TerminalKeys {
  /// The keys as they come; ends with the terminal, or at ``end()``.
  let pressed: AsyncStream<TerminalKey>

  /// Turns keys on; nil where there is no terminal.
  init?() {
    guard vidicon_keys_begin() else { return nil }
    let (pressed, continuation) = AsyncStream.makeStream(of: TerminalKey.self, bufferingPolicy: .bufferingOldest(16))
    self.pressed = pressed
    Thread.detachNewThread {
      var decoder = TerminalKeyDecoder()
      while true {
        let byte = vidicon_keys_next()
        guard byte >= 0 else { break }
        if let key = decoder.decode(UInt8(truncatingIfNeeded: byte)) { continuation.yield(key) }
      }
      continuation.finish()
    }
  }

  /// Gives the terminal back as it was.
  static func end() {
    vidicon_keys_end()
  }
}
