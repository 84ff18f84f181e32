import Media
import Testing

@Suite("Bitmap font")
struct BitmapFontTests {
  @Test func `a letter is drawn with the glyph's points`() {
    #expect(
      drawing("A", width: 7, height: 9, x: 1, y: 1, scale: 1) == """
        .......
        ..###..
        .#...#.
        .#...#.
        .#####.
        .#...#.
        .#...#.
        .#...#.
        .......
        """)
  }

  @Test func `a scale makes squares of points`() {
    #expect(
      drawing("-.", width: 24, height: 14, x: 0, y: 0, scale: 2) == """
        ........................
        ........................
        ........................
        ........................
        ........................
        ........................
        ##########..............
        ##########..............
        ........................
        ........................
        ..............####......
        ..............####......
        ..............####......
        ..............####......
        """)
  }

  @Test func `small letters become capitals, unknown characters question marks`() {
    #expect(drawing("no signal") == drawing("NO SIGNAL"))
    #expect(drawing("z") == drawing("Z"))
    for text in ["{", "\u{7F}", "\u{1}"] { #expect(drawing(text) == drawing("?")) }
    #expect(drawing("é") == drawing("??"))
  }

  @Test func `every character has its own glyph`() {
    let glyphs = (UInt8(0x20)...0x5F).map { drawing(String(UnicodeScalar($0))) }
    #expect(Set(glyphs).count == 64)
    #expect(glyphs[0].allSatisfy { $0 == "." || $0 == "\n" })
  }

  @Test func `text is clipped at all edges`() {
    for (x, y) in [(-3, -3), (60, 5), (1_000, 1_000), (-1_000, -1_000)] {
      #expect(drawing("WWW", x: x, y: y).utf8.count == 60 * 10 - 1)
    }
    #expect(!drawing("WWW", x: -3, y: -3).allSatisfy { $0 != "#" })
  }

  @Test func `the scale is the largest at which the text fits`() {
    #expect(BitmapFont.size(of: "AB", scale: 3) == (33, 21))
    #expect(BitmapFont.scale(of: "AB", fitting: 33, by: 21) == 3)
    #expect(BitmapFont.scale(of: "AB", fitting: 32, by: 21) == 2)
    #expect(BitmapFont.scale(of: "AB", fitting: 33, by: 20) == 2)
    #expect(BitmapFont.scale(of: "AB", fitting: 10, by: 20) == 0)
    #expect(BitmapFont.scale(of: "", fitting: 10, by: 20) == 0)
  }

  /// A plane as text: dots, with hashes for set pixels.
  private func drawing(
    _ text: String, width: Int = 59, height: Int = 10, x: Int = 0, y: Int = 0, scale: Int = 1
  ) -> String {
    var bytes = [UInt8](repeating: UInt8(ascii: "."), count: (width + 1) * height)
    for row in 0..<height { bytes[row * (width + 1) + width] = UInt8(ascii: "\n") }
    bytes.withUnsafeMutableBytes {
      BitmapFont.draw(
        text, x: x, y: y, scale: scale, luma: UInt8(ascii: "#"),
        into: DrawingPlane($0, width: width, height: height, bytesPerRow: width + 1))
    }
    return String(decoding: bytes.dropLast(), as: UTF8.self)
  }
}
