import CSystemCalls
import Threading

/// The keys pressed on the terminal while the program serves.
///
/// Keys are read only when standard input is a terminal. Its settings are restored however the program ends.
struct TerminalKeys {
  /// The pressed keys; ends with the terminal, or at ``end()``.
  let pressed: AsyncStream<TerminalKey>

  /// Starts to read keys; nil without a terminal.
  init?() {
    guard vidicon_keys_begin() else { return nil }
    let (pressed, continuation) = AsyncStream.makeStream(of: TerminalKey.self, bufferingPolicy: .bufferingOldest(16))
    self.pressed = pressed
    let isReading = WorkerThread.startDetached(named: "keys") {
      var decoder = TerminalKeyDecoder()
      while true {
        let byte = vidicon_keys_next()
        guard byte >= 0 else { break }
        if let key = decoder.decode(UInt8(truncatingIfNeeded: byte)) { continuation.yield(key) }
      }
      continuation.finish()
    }
    guard isReading else {
      vidicon_keys_end()
      return nil
    }
  }

  /// Stops reading, and restores the terminal's settings.
  static func end() {
    vidicon_keys_end()
  }
}
