import Media
import NIOCore
import Testing

@testable import RTMP

@Suite("AMF 3")
struct AMF3Tests {
  private static func value(_ text: String) throws(ParsingError) -> AMFValue {
    var reader = AMF3Reader(bytes(text))
    let value = try reader.next()
    guard reader.unread.readableBytes == 0 else { throw ParsingError(.invalid, field: "rest") }
    return value
  }

  @Test(arguments: [
    ("00", AMFValue.undefined), ("01", .null), ("02", false), ("03", true),
    // U29, §1.3.1: the ends of each length.
    ("04 00", 0), ("04 7F", 127), ("04 8100", 128), ("04 FF7F", 16_383), ("04 818000", 16_384),
    ("04 FFFF7F", 2_097_151), ("04 80C08000", 2_097_152), ("04 BFFFFFFF", 268_435_455), ("04 FFFFFFFF", -1),
    ("05 3FF8000000000000", 1.5), ("06 01", ""), ("06 07 666F6F", "foo"), ("07 03 61", "a"), ("0B 03 61", "a"),
    ("08 01 4000000000000000", .date(2)), ("0C 05 0102", .undefined),
    ("09 05 01 04 01 03", .array([1, true])), ("09 03 03 61 04 05 01 02", .ecmaArray(["a": 5, "0": false])),
    // An anonymous dynamic object, then one with a sealed member.
    ("0A 0B 01 03 61 04 01 01", .object(["a": 1])), ("0A 13 01 03 61 04 01", .object(["a": 1])),
  ])
  func `each type is read as the specification has it`(text: String, value: AMFValue) throws {
    #expect(try Self.value(text) == value)
  }

  @Test func `strings, objects and traits are referenced`() throws {
    #expect(try Self.value("09 05 01 06 03 61 06 00") == .array(["a", "a"]))
    #expect(try Self.value("09 05 01 0A 13 01 03 61 04 01 0A 02") == .array([.object(["a": 1]), .object(["a": 1])]))
    #expect(
      try Self.value("09 05 01 0A 13 01 03 61 04 01 0A 01 04 02") == .array([.object(["a": 1]), .object(["a": 2])]))
  }

  @Test func `a reference to nothing or to an object around it is invalid`() {
    for text in ["06 00", "0A 00", "0A 01", "09 03 01 09 00"] {
      #expect(error { () throws(ParsingError) in _ = try Self.value(text) }?.code == .invalid, "\(text)")
    }
  }

  @Test func `references cannot describe more than 4096 values`() {
    // Each array has the previous one twice: 2⁴⁰ values in 240 bytes.
    var input = bytes("09 57 01")
    input.writeImmutableBuffer(bytes("09 05 01 01 01"))
    for index in 1..<40 {
      input.writeMultipleIntegers(
        UInt8(9), UInt8(5), UInt8(1), UInt8(9), UInt8(index << 1), UInt8(9), UInt8(index << 1))
    }
    let found = error { () throws(ParsingError) in
      var reader = AMF3Reader(input)
      _ = try reader.next()
    }
    #expect(found?.field == "AMF3 value count")
  }

  @Test func `nested 10,000 deep is refused, and types without a use are unsupported`() {
    let deep = String(repeating: "09 03 01 ", count: 10_000)
    #expect(error { () throws(ParsingError) in _ = try Self.value(deep) }?.field == "AMF3 depth")
    for text in ["0D", "10", "11", "0A 07 01"] {
      #expect(error { () throws(ParsingError) in _ = try Self.value(text) }?.code == .unsupported, "\(text)")
    }
  }

  @Test(arguments: ["04 FFFFFF", "05 00", "06 07 66", "08 01 00", "09 05 01 01", "0A 0B 01 03 61"])
  func `what ends early is truncated`(text: String) {
    #expect(error { () throws(ParsingError) in _ = try Self.value(text) }?.code == .truncated)
  }
}
