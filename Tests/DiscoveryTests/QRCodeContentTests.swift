import Media
import Testing

@testable import Discovery

/// Reads codes of versions 1 to 3 at level M, whose data are one block: ISO/IEC 18004 §7 and §9.
private struct QRCodeReader {
  let code: QRCode

  private func bit(_ row: Int, _ column: Int) -> Int {
    self.code.isDark(column: column, row: row) ? 1 : 0
  }

  /// The two copies of the format information, unmasked, §7.9: level in 2 bits, mask in 3, BCH in 10.
  var formats: [Int] {
    let size = self.code.size
    let first =
      (0..<6).map { (8, $0) } + [(8, 7), (8, 8), (7, 8)] + (0..<6).map { (5 - $0, 8) }
    let second = (1...7).map { (size - $0, 8) } + (0..<8).map { (8, size - 8 + $0) }
    return [first, second].map { places in
      places.reduce(0) { $0 << 1 | self.bit($1.0, $1.1) } ^ 0b101_0100_0001_0010
    }
  }

  /// Whether a data mask inverts a module, §7.8.2.
  private static func isInverted(_ mask: Int, row: Int, column: Int) -> Bool {
    switch mask {
    case 0: (row + column) % 2 == 0
    case 1: row % 2 == 0
    case 2: column % 3 == 0
    case 3: (row + column) % 3 == 0
    case 4: (row / 2 + column / 3) % 2 == 0
    case 5: row * column % 2 + row * column % 3 == 0
    case 6: (row * column % 2 + row * column % 3) % 2 == 0
    default: ((row + column) % 2 + row * column % 3) % 2 == 0
    }
  }

  /// Finder patterns with the format information beside them, timing patterns, and the alignment pattern, §6.3.
  private func isFunction(row: Int, column: Int) -> Bool {
    let size = self.code.size
    if row < 9 && (column < 9 || column >= size - 8) || row >= size - 8 && column < 9 { return true }
    if row == 6 || column == 6 { return true }
    return size > 21 && abs(row - (size - 7)) <= 2 && abs(column - (size - 7)) <= 2
  }

  /// The codewords, two columns at a time, upwards and downwards from the right, §7.7.3.
  var codewords: [UInt8] {
    let size = self.code.size
    let mask = self.formats[0] >> 10 & 0b111
    var bits: [Int] = []
    var isUpward = true
    for pair in stride(from: size - 1, to: 0, by: -2) {
      let right = pair <= 6 ? pair - 1 : pair
      for step in 0..<size {
        let row = isUpward ? size - 1 - step : step
        for column in [right, right - 1] where !self.isFunction(row: row, column: column) {
          let isInverted = Self.isInverted(mask, row: row, column: column)
          bits.append(self.bit(row, column) ^ (isInverted ? 1 : 0))
        }
      }
      isUpward.toggle()
    }
    return stride(from: 0, to: bits.count - 7, by: 8).map { start in
      bits[start..<start + 8].reduce(0) { $0 << 1 | UInt8($1) }
    }
  }

  /// The text of a byte segment, §7.4.5: mode 0100, a length in 8 bits, the bytes.
  var text: String? {
    let codewords = self.codewords
    guard codewords[0] >> 4 == 0b0100 else { return nil }
    let length = Int(codewords[0] & 0xF) << 4 | Int(codewords[1] >> 4)
    let bytes = (1...length).map { codewords[$0] << 4 | codewords[$0 + 1] >> 4 }
    return String(validating: bytes, as: UTF8.self)
  }

  /// Whether the Reed-Solomon syndromes are zero, §7.5: the field of 0x11D, roots from 2⁰.
  func isErrorFree(correctionCount: Int) -> Bool {
    func multiply(_ a: UInt16, _ b: UInt16) -> UInt16 {
      var (product, a, b) = (UInt16(0), a, b)
      while b > 0 {
        if b & 1 == 1 { product ^= a }
        a <<= 1
        if a & 0x100 != 0 { a ^= 0x11D }
        b >>= 1
      }
      return product
    }
    var root: UInt16 = 1
    for _ in 0..<correctionCount {
      let syndrome = self.codewords.reduce(UInt16(0)) { multiply($0, root) ^ UInt16($1) }
      if syndrome != 0 { return false }
      root = multiply(root, 2)
    }
    return true
  }
}

@Suite("Content of QR codes, ISO/IEC 18004")
struct QRCodeContentTests {
  @Test(arguments: [
    ("x", 21, 10), ("http://a.b/c", 21, 10), ("http://10.0.0.5/door", 25, 16),
    ("http://192.168.2.67:8080/hello", 29, 26),
    ("HTTP://1.2.3.4:80", 25, 16), ("12345678901234", 21, 10), ("é€👍 ä", 21, 10),
    (String(repeating: "U", count: 42), 29, 26),
  ])
  func `a code holds its text as bytes, with error correction of level M`(
    text: String, size: Int, correctionCount: Int
  ) throws {
    let code = try QRCode(text)
    #expect(code.size == size)
    let reader = QRCodeReader(code: code)
    // Both copies are equal, of level M (00), and divisible by the generator of their BCH code, annex C.
    #expect(reader.formats[0] == reader.formats[1] && reader.formats[0] >> 13 == 0b00)
    var rest = reader.formats[0]
    for shift in stride(from: 4, through: 0, by: -1) where rest >> (shift + 10) & 1 == 1 {
      rest ^= 0b101_0011_0111 << shift
    }
    #expect(rest == 0)
    #expect(reader.text == text)
    #expect(reader.isErrorFree(correctionCount: correctionCount))
  }

  @Test func `timing patterns alternate, and the module beside the lower finder is dark`() throws {
    for text in ["x", "http://192.168.2.67:8080/hello", String(repeating: "x", count: 512)] {
      let code = try QRCode(text)
      for index in 8..<code.size - 8 {
        #expect(code.isDark(column: index, row: 6) == index.isMultiple(of: 2))
        #expect(code.isDark(column: 6, row: index) == index.isMultiple(of: 2))
      }
      #expect(code.isDark(column: 8, row: code.size - 8))
    }
  }

  @Test(arguments: ["x", "http://192.168.2.67:8080/hello"])
  func `the runs of the SVG image are the dark modules, each once, inside the quiet zone`(text: String) throws {
    let code = try QRCode(text)
    var dark: Set<[Int]> = []
    let path = try #require(code.svg.firstMatch(of: /<path d="([^"]*)"/)).output.1
    for run in path.matches(of: /M(\d+) (\d+)h(\d+)v1h-(\d+)z/) {
      let numbers = [run.output.1, run.output.2, run.output.3, run.output.4].compactMap { Int($0) }
      #expect(numbers.count == 4 && numbers[2] == numbers[3] && numbers[2] > 0)
      for column in numbers[0]..<numbers[0] + numbers[2] {
        #expect(dark.insert([column - QRCode.quietZone, numbers[1] - QRCode.quietZone]).inserted)
      }
    }
    var expected: Set<[Int]> = []
    for row in 0..<code.size {
      for column in 0..<code.size where code.isDark(column: column, row: row) { expected.insert([column, row]) }
    }
    #expect(dark == expected)
    let side = code.size + 8
    #expect(code.svg.contains("viewBox=\"0 0 \(side) \(side)\""))
  }

  @Test func `codes of different texts differ, of equal ones they are equal`() throws {
    #expect(try QRCode("a") == QRCode("a"))
    #expect(try QRCode("a") != QRCode("b"))
  }
}
