import Media
import Testing

@testable import Bitstreams

@Suite("Bit fields, ITU-T H.264 §7.2 and §9.1")
struct BitReaderTests {
  @Test func `fields cross byte boundaries`() throws {
    var reader = BitReader([0b1010_0101, 0xF0, 0x07, 0xFF])
    let three = try reader.bits(3, "a")
    #expect(three == 0b101)
    let nine = try reader.bits(9, "b")
    #expect(nine == 0b0_0101_1111)
    #expect(reader.offset == 1)
    let none = try reader.bits(0, "c")
    #expect(none == 0)
    let twenty = try reader.bits(20, "d")
    #expect(twenty == 0b0000_0000_0111_1111_1111)
    #expect(reader.remainingBits == 0)
    #expect(throws: ParsingError(.truncated, field: "e", offset: 4)) { try reader.bits(1, "e") }
  }

  @Test func `a field of 32 bits is read whole, at any position`() throws {
    var reader = BitReader([0x7F, 0xFF, 0xFF, 0xFF, 0x80])
    let bit = try reader.flag("a")
    #expect(bit == false)
    let word = try reader.bits(32, "b")
    #expect(word == .max)
    #expect(reader.remainingBits == 7)
  }

  @Test func `a field that does not fit is not consumed`() throws {
    var reader = BitReader([0xAB])
    #expect(throws: ParsingError(.truncated, field: "a", offset: 0)) { try reader.bits(9, "a") }
    let all = try reader.bits(8, "a")
    #expect(all == 0xAB)
  }

  /// Codes of tables 9-2 and 9-3; the last one is the maximum, 31 zeros and 32 ones: 2³² - 2.
  private static let codes: [(bytes: [UInt8], unsigned: UInt32, signed: Int32)] = [
    ([0b1000_0000], 0, 0), ([0b0100_0000], 1, 1), ([0b0110_0000], 2, -1), ([0b0010_0000], 3, 2),
    ([0b0010_1000], 4, -2), ([0b0001_0000], 7, 4), ([0b0001_0010], 8, -4),
    ([0, 0, 0, 1, 0xFF, 0xFF, 0xFF, 0xFE], 4_294_967_294, -2_147_483_647),
  ]

  @Test func `Exp-Golomb codes are read`() throws {
    for (bytes, unsigned, signed) in Self.codes {
      var first = BitReader(bytes)
      let value = try first.exponentialGolomb("ue")
      #expect(value == unsigned)
      var second = BitReader(bytes)
      let signedValue = try second.signedExponentialGolomb("se")
      #expect(signedValue == signed)
      #expect(second.position == first.position)
    }
  }

  @Test func `every prefix of an Exp-Golomb code is truncated`() {
    let code: [UInt8] = [0, 0, 0, 1, 0xFF, 0xFF, 0xFF, 0xFE]
    for length in code.indices {
      var reader = BitReader(Array(code[..<length]))
      #expect(throws: ParsingError.self) { try reader.exponentialGolomb("ue") }
    }
  }

  @Test func `32 leading zeros and values above the limit are invalid`() {
    var zeros = BitReader([0, 0, 0, 0, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF])
    #expect(throws: ParsingError(.invalid, field: "ue", offset: 0)) { try zeros.exponentialGolomb("ue") }
    var seven = BitReader([0xFF, 0b0001_0000])
    _ = try? seven.bits(8, "before")
    #expect(throws: ParsingError(.invalid, field: "ue", offset: 1)) { try seven.exponentialGolomb("ue", upTo: 6) }
  }

  @Test func `written fields are read again, the last byte padded with zeros`() throws {
    let fields: [(value: UInt32, count: Int)] = [(0b101, 3), (0, 1), (.max, 32), (0x2B7, 11), (1, 2)]
    var writer = BitWriter()
    for field in fields { writer.write(field.value, bits: field.count) }
    #expect(writer.bytes.count == 7)
    var reader = BitReader(writer.bytes)
    for field in fields {
      let value = try reader.bits(field.count, "field")
      #expect(value == field.value)
    }
    let padding = try reader.bits(reader.remainingBits, "padding")
    #expect(padding == 0)
  }
}
