internal import CQREncode
public import Media

/// A QR code, ISO/IEC 18004, with error correction level M, which recovers 15% of the code.
public struct QRCode: Hashable, Sendable {
  /// Maximum length of the text in bytes: a code that phones still read from a screen.
  public static let maximumTextLength = 512
  /// Width of the light margin in modules, ISO/IEC 18004 §5.3.8.
  public static let quietZone = 4

  /// Number of modules per side without the quiet zone, 21 to 177.
  public let size: Int
  /// The modules row by row; true is dark.
  private let modules: [Bool]

  /// The smallest code for a text.
  ///
  /// - Parameter text: 1 to ``maximumTextLength`` bytes of UTF-8.
  /// - Throws: `VidiconError` `.invalidSpecification` when the text is empty or longer.
  public init(_ text: String) throws(VidiconError) {
    let bytes = Array(text.utf8)
    guard (1...Self.maximumTextLength).contains(bytes.count) else {
      throw VidiconError(
        .invalidSpecification, subject: "QR code", cause: "its text has \(bytes.count) bytes",
        nextStep: "give 1 to \(Self.maximumTextLength) bytes")
    }
    guard let code = QRcode_encodeData(Int32(bytes.count), bytes, 0, QR_ECLEVEL_M) else {
      throw VidiconError(
        .failed, subject: "QR code", cause: "the text cannot be encoded", nextStep: "free some memory")
    }
    defer { QRcode_free(code) }
    self.size = Int(code.pointee.width)
    // The lowest bit of a byte is the color of its module.
    self.modules = UnsafeBufferPointer(start: code.pointee.data, count: self.size * self.size).map { $0 & 1 == 1 }
  }

  /// Whether a module is dark; modules outside the code are light.
  ///
  /// - Parameters:
  ///   - column: Column from the left, from 0.
  ///   - row: Row from the top, from 0.
  public func isDark(column: Int, row: Int) -> Bool {
    let sides = 0..<self.size
    return sides.contains(column) && sides.contains(row) && self.modules[row * self.size + column]
  }
}

extension QRCode {
  /// The code as an SVG document that scales to its container: black on white, with the quiet zone.
  public var svg: String {
    let side = self.size + 2 * Self.quietZone
    var path = ""
    for row in 0..<self.size {
      var column = 0
      while column < self.size {
        guard self.isDark(column: column, row: row) else {
          column += 1
          continue
        }
        let start = column
        while self.isDark(column: column, row: row) { column += 1 }
        path += "M\(start + Self.quietZone) \(row + Self.quietZone)h\(column - start)v1h-\(column - start)z"
      }
    }
    return """
      <svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 \(side) \(side)" shape-rendering="crispEdges">\
      <rect width="\(side)" height="\(side)" fill="#fff"/><path d="\(path)" fill="#000"/></svg>
      """
  }
}

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
