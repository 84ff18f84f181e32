import Bitstreams
import Media
import Testing

@Suite("Sequence parameter set of HEVC, ITU-T H.265 §7.3.2.2")
struct H265SequenceParameterSetTests {
  /// Of libx265 with `interlace=tff`: fields of 360 × 144, 50 a second.
  private static let fields = Hexadecimal.decode(
    "42010101600000030040000003000003003CA00B88091CBE595952930BC05A1A0000030002000003006410")!
  /// Of libx265: frames of 360 × 288.
  private static let frames = Hexadecimal.decode(
    "42010101600000030090000003000003003FA00B8804872F965654A4C2F0168080000003008000001904")!

  @Test func `fields and frames are distinguished`() throws {
    #expect(try H265SequenceParameterSet(parsing: Self.fields).isFieldCoded)
    #expect(try !H265SequenceParameterSet(parsing: Self.frames).isFieldCoded)
  }

  @Test func `it is found in a byte stream and in a record`() {
    // A video parameter set comes before it.
    let other: [UInt8] = [0x40, 0x01, 0x0C]
    let stream = [0, 0, 0, 1] + other + [0, 0, 1] + Self.fields
    #expect(H265SequenceParameterSet.first(in: stream)?.isFieldCoded == true)
    // ISO/IEC 14496-15 §8.3.3.1.2: the version, 21 bytes, two arrays with one NAL unit each.
    let record =
      [1] + [UInt8](repeating: 0, count: 21) + [2, 0x20, 0, 1, 0, UInt8(other.count)] + other
      + [0x21, 0, 1, 0, UInt8(Self.fields.count)] + Self.fields
    #expect(H265SequenceParameterSet.first(in: record)?.isFieldCoded == true)
    for length in 0..<record.count { #expect(H265SequenceParameterSet.first(in: Array(record.prefix(length))) == nil) }
    #expect(H265SequenceParameterSet.first(in: [0, 0, 1] + other) == nil)
  }

  @Test func `prefixes and other NAL units are refused`() {
    // The last eleven bytes have the clock, behind the flag.
    for length in 0..<Self.fields.count - 11 {
      #expect(throws: ParsingError.self) { try H265SequenceParameterSet(parsing: Array(Self.fields.prefix(length))) }
    }
    #expect(throws: ParsingError(.invalid, field: "nal_unit_type", offset: 0)) {
      try H265SequenceParameterSet(parsing: [0x40, 0x01] + Self.fields.dropFirst(2))
    }
  }

  @Test func `changed bytes do not trap`() {
    for place in 2..<Self.fields.count {
      for value in UInt8.min...UInt8.max {
        var bytes = Self.fields
        bytes[place] = value
        _ = try? H265SequenceParameterSet(parsing: bytes)
        bytes[(place * 7) % bytes.count] = ~value
        _ = H265SequenceParameterSet.first(in: bytes)
      }
    }
  }
}
