/// Bitmap typeface of 5 × 7 points for text drawn into frames: capitals, digits and punctuation.
package enum BitmapFont {
  /// Width of a character in points.
  package static let glyphWidth = 5
  /// Height of a character in points.
  package static let glyphHeight = 7
  /// Distance from one character to the next in points.
  package static let advance = 6

  /// Size of a line of text in pixels, from the left edge of the first character to the right edge of the last.
  ///
  /// - Parameter scale: Pixels per point.
  package static func size(of text: String, scale: Int) -> (width: Int, height: Int) {
    let count = text.utf8.count
    return count == 0 ? (0, 0) : ((count * Self.advance - 1) * scale, Self.glyphHeight * scale)
  }

  /// Largest scale, in pixels per point, at which a line of text fits a box; 0 when not even scale 1 fits.
  package static func scale(of text: String, fitting width: Int, by height: Int) -> Int {
    let unit = Self.size(of: text, scale: 1)
    return unit.width == 0 ? 0 : min(width / unit.width, height / unit.height)
  }

  /// Draws a line of text, clipped to the plane.
  ///
  /// - Parameters:
  ///   - text: Small letters become capitals; bytes other than printable ASCII become question marks.
  ///   - x: Left edge in pixels.
  ///   - y: Upper edge in pixels.
  ///   - scale: Pixels per point; below 1 nothing is drawn.
  ///   - luma: Value of the set points; other samples are unchanged.
  package static func draw(
    _ text: String, x: Int, y: Int, scale: Int, luma: UInt8 = 235, into plane: DrawingPlane
  ) {
    guard scale > 0 else { return }
    var left = x
    for byte in text.utf8 {
      let glyph = Self.index(of: byte) * Self.glyphHeight
      for row in 0..<Self.glyphHeight {
        for column in 0..<Self.glyphWidth where Self.rows[glyph + row] & (0b10000 >> UInt8(column)) != 0 {
          plane.fill(x: left + column * scale, y: y + row * scale, width: scale, height: scale, value: luma)
        }
      }
      left += Self.advance * scale
    }
  }

  /// Draws a line of text centered in a plane.
  ///
  /// - Parameters:
  ///   - text: As in ``draw(_:x:y:scale:luma:into:)``.
  ///   - scale: Pixels per point, such as from ``scale(of:fitting:by:)``.
  package static func drawCentered(_ text: String, scale: Int, luma: UInt8 = 235, into plane: DrawingPlane) {
    let size = Self.size(of: text, scale: scale)
    Self.draw(
      text, x: (plane.width - size.width) / 2, y: (plane.height - size.height) / 2, scale: scale, luma: luma,
      into: plane)
  }

  /// The place of a character among the glyphs.
  private static func index(of byte: UInt8) -> Int {
    switch byte {
    case 0x20...0x5F: Int(byte - 0x20)
    case UInt8(ascii: "a")...UInt8(ascii: "z"): Int(byte - 0x40)
    default: Int(UInt8(ascii: "?") - 0x20)
    }
  }

  /// One byte for each row of each glyph, from the space (0x20) to the underscore (0x5F): the lower 5 bits are the
  /// points, the leftmost one the highest.
  private static let rows: [UInt8] = {
    let lines = Self.drawing.utf8.split(separator: UInt8(ascii: "\n")).map(Array.init)
    var rows: [UInt8] = []
    for glyph in 0..<64 {
      for row in 0..<Self.glyphHeight {
        let line = lines[glyph / 8 * Self.glyphHeight + row]
        let points = line[(glyph % 8 * Self.advance)...].prefix(Self.glyphWidth)
        rows.append(points.reduce(0) { $0 << 1 | ($1 == UInt8(ascii: "#") ? 1 : 0) })
      }
    }
    return rows
  }()

  /// The glyphs, eight side by side.
  private static let drawing = """
    ..... ..#.. .#.#. .#.#. ..#.. ##... .##.. ..#..
    ..... ..#.. .#.#. .#.#. .#### ##..# #..#. ..#..
    ..... ..#.. .#.#. ##### #.#.. ...#. #.#.. .#...
    ..... ..#.. ..... .#.#. .###. ..#.. .#... .....
    ..... ..#.. ..... ##### ..#.# .#... #.#.# .....
    ..... ..... ..... .#.#. ####. #..## #..#. .....
    ..... ..#.. ..... .#.#. ..#.. ...## .##.# .....
    ...#. .#... ..... ..... ..... ..... ..... .....
    ..#.. ..#.. ..#.. ..#.. ..... ..... ..... ....#
    .#... ...#. #.#.# ..#.. ..... ..... ..... ...#.
    .#... ...#. .###. ##### ..... ##### ..... ..#..
    .#... ...#. #.#.# ..#.. .##.. ..... ..... .#...
    ..#.. ..#.. ..#.. ..#.. ..#.. ..... .##.. #....
    ...#. .#... ..... ..... .#... ..... .##.. .....
    .###. ..#.. .###. ##### ...#. ##### ..##. #####
    #...# .##.. #...# ...#. ..##. #.... .#... ....#
    #..## ..#.. ....# ..#.. .#.#. ####. #.... ...#.
    #.#.# ..#.. ...#. ...#. #..#. ....# ####. ..#..
    ##..# ..#.. ..#.. ....# ##### ....# #...# .#...
    #...# ..#.. .#... #...# ...#. #...# #...# .#...
    .###. .###. ##### .###. ...#. .###. .###. .#...
    .###. .###. ..... ..... ...#. ..... .#... .###.
    #...# #...# .##.. .##.. ..#.. ..... ..#.. #...#
    #...# #...# .##.. .##.. .#... ##### ...#. ....#
    .###. .#### ..... ..... #.... ..... ....# ...#.
    #...# ....# .##.. .##.. .#... ##### ...#. ..#..
    #...# ...#. .##.. ..#.. ..#.. ..... ..#.. .....
    .###. .##.. ..... .#... ...#. ..... .#... ..#..
    .###. .###. ####. .###. ###.. ##### ##### .###.
    #...# #...# #...# #...# #..#. #.... #.... #...#
    #.### #...# #...# #.... #...# #.... #.... #....
    #.#.# ##### ####. #.... #...# ####. ####. #.###
    #.### #...# #...# #.... #...# #.... #.... #...#
    #.... #...# #...# #...# #..#. #.... #.... #...#
    .###. #...# ####. .###. ###.. ##### #.... .####
    #...# .###. ..### #...# #.... #...# #...# .###.
    #...# ..#.. ...#. #..#. #.... ##.## ##..# #...#
    #...# ..#.. ...#. #.#.. #.... #.#.# #.#.# #...#
    ##### ..#.. ...#. ##... #.... #.#.# #..## #...#
    #...# ..#.. ...#. #.#.. #.... #...# #...# #...#
    #...# ..#.. #..#. #..#. #.... #...# #...# #...#
    #...# .###. .##.. #...# ##### #...# #...# .###.
    ####. .###. ####. .#### ##### #...# #...# #...#
    #...# #...# #...# #.... ..#.. #...# #...# #...#
    #...# #...# #...# #.... ..#.. #...# #...# #...#
    ####. #...# ####. .###. ..#.. #...# #...# #.#.#
    #.... #.#.# #.#.. ....# ..#.. #...# #...# #.#.#
    #.... #..#. #..#. ....# ..#.. #...# .#.#. ##.##
    #.... .##.# #...# ####. ..#.. .###. ..#.. #...#
    #...# #...# ##### .###. ..... .###. ..#.. .....
    #...# #...# ....# .#... #.... ...#. .#.#. .....
    .#.#. .#.#. ...#. .#... .#... ...#. #...# .....
    ..#.. ..#.. ..#.. .#... ..#.. ...#. ..... .....
    .#.#. ..#.. .#... .#... ...#. ...#. ..... .....
    #...# ..#.. #.... .#... ....# ...#. ..... .....
    #...# ..#.. ##### .###. ..... .###. ..... #####
    """
}
