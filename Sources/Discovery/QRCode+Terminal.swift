extension QRCode {
  /// Two modules above one another to a character; black on white by the 256 fixed colours of xterm, so that neither a
  /// dark terminal nor a theme of colours turns the code around.
  private static let colors = "\u{1B}[38;5;16;48;5;231m"
  private static let reset = "\u{1B}[0m"

  /// The code for a terminal, a line after the other without line ends, with as much of the quiet zone as fits: four
  /// modules, or the two that telephones manage with.
  ///
  /// - Parameters:
  ///   - columns: The terminal's width in characters.
  ///   - rows: The lines that are free.
  /// - Returns: The lines; nil when the code does not fit, since a part of it is of no use.
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
