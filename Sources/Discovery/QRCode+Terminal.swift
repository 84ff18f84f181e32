extension QRCode {
  /// Black on white of xterm's 256 fixed colors, so that dark terminals and color themes do not invert the code.
  private static let colors = "\u{1B}[38;5;16;48;5;231m"
  private static let reset = "\u{1B}[0m"

  /// The code as lines of text for a terminal, two modules per character above one another, with a quiet zone of four
  /// modules or, if that does not fit, the two that phones need.
  ///
  /// - Parameters:
  ///   - columns: The terminal's width in characters.
  ///   - rows: The number of free lines.
  /// - Returns: The lines without line ends; nil when the code does not fit.
  public func terminalLines(columns: Int, rows: Int) -> [String]? {
    for zone in [Self.quietZone, Self.quietZone / 2] {
      let side = self.size + 2 * zone
      guard side <= columns, (side + 1) / 2 <= rows else { continue }
      return stride(from: -zone, to: self.size + zone, by: 2).map { row in
        let characters = (-zone..<self.size + zone).map { column in
          switch (self.isDark(column: column, row: row), self.isDark(column: column, row: row + 1)) {
          case (true, true): "█"
          case (true, false): "▀"
          case (false, true): "▄"
          case (false, false): " "
          }
        }
        return Self.colors + characters.joined() + Self.reset
      }
    }
    return nil
  }
}
