import Media
import Testing

@testable import Discovery

@Suite("QR code, ISO/IEC 18004")
struct QRCodeTests {
  /// The smallest version that holds the bytes at level M: ISO/IEC 18004 table 7.
  @Test(arguments: [
    (1, 21), (14, 21), (15, 25), (26, 25), (27, 29), (42, 29), (43, 33), (504, 85), (505, 89), (512, 89),
  ])
  func `the code has the smallest version for its text`(bytes: Int, size: Int) throws {

    #expect(try QRCode(String(repeating: "x", count: bytes)).size == size)
  }

  @Test(arguments: [0, 513, 100_000])
  func `empty and too long texts are refused`(bytes: Int) {

    let error = #expect(throws: VidiconError.self) { try QRCode(String(repeating: "x", count: bytes)) }
    #expect(error?.code == .invalidSpecification)
  }

  @Test func `the length of the text is counted in bytes`() throws {
    #expect(try QRCode(String(repeating: "é", count: 256)).size == 89)
    #expect(throws: VidiconError.self) { try QRCode(String(repeating: "é", count: 257)) }
  }

  @Test func `the code has three finder patterns, and no dark module outside`() throws {
    let code = try QRCode("http://192.168.2.67:8080/hello")
    let corners = [(0, 0), (code.size - 7, 0), (0, code.size - 7)]
    for (left, top) in corners {
      for row in 0..<7 {
        for column in 0..<7 {
          let ring = max(abs(row - 3), abs(column - 3))
          #expect(code.isDark(column: left + column, row: top + row) == (ring != 2))
        }
      }
    }
    for index in -1...code.size {
      #expect(!code.isDark(column: index, row: -1))
      #expect(!code.isDark(column: code.size, row: index))
    }
  }

  @Test func `the terminal lines show every module and a quiet zone, within the terminal's size`() throws {
    let code = try QRCode("http://192.168.2.67:8080/hello")
    #expect(code.size == 29)
    for (columns, rows, zone) in [(80, 24, 4), (37, 19, 4), (36, 24, 2), (80, 18, 2), (33, 17, 2)] {
      let lines = try #require(code.terminalLines(columns: columns, rows: rows))
      let modules = try Self.modules(shownBy: lines)
      #expect(lines.count <= rows)
      #expect(modules.allSatisfy { $0.count == code.size + 2 * zone })
      for (row, pixels) in modules.enumerated() {
        for (column, isDark) in pixels.enumerated() {
          #expect(isDark == code.isDark(column: column - zone, row: row - zone))
        }
      }
    }
  }

  @Test(arguments: [(32, 24), (80, 16), (0, 0), (-1, -1)])
  func `a terminal that is too small has no lines`(columns: Int, rows: Int) throws {

    #expect(try QRCode("http://192.168.2.67:8080/hello").terminalLines(columns: columns, rows: rows) == nil)
  }

  @Test func `the SVG image is one path on a white rectangle`() throws {
    let svg = try QRCode("x").svg
    let start = """
      <svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 29 29" shape-rendering="crispEdges">\
      <rect width="29" height="29" fill="#fff"/><path d="M4 4h7v1h-7z
      """
    #expect(svg.hasPrefix(start))
    #expect(svg.split(separator: "<path").count == 2)
  }

  /// The dark modules that a terminal shows for half blocks in black on white.
  private static func modules(shownBy lines: [String]) throws -> [[Bool]] {
    try lines.flatMap { line in
      let prefix = "\u{1B}[38;5;16;48;5;231m"
      let suffix = "\u{1B}[0m"
      try #require(line.hasPrefix(prefix) && line.hasSuffix(suffix))
      let characters = line.dropFirst(prefix.count).dropLast(suffix.count)
      try #require(characters.allSatisfy { " ▀▄█".contains($0) })
      return [characters.map { "▀█".contains($0) }, characters.map { "▄█".contains($0) }]
    }
  }
}
