import Media
import NIOCore
import Testing

@testable import Bitstreams

@Suite("H.264 byte streams and samples, ITU-T H.264 Annex B, ISO/IEC 14496-15")
struct H264AccessUnitTests {
  @Test(arguments: [
    ("nothing", [], []),
    ("no start code", [1, 2, 3, 0, 0], []),
    ("one unit", [0, 0, 1, 0x65, 9], [[0x65, 9]]),
    ("four-byte codes", [0, 0, 0, 1, 0x67, 1, 0, 0, 0, 1, 0x68, 2], [[0x67, 1], [0x68, 2]]),
    ("mixed codes", [0, 0, 0, 1, 0x67, 0, 0, 1, 0x68, 0, 0, 0, 1, 0x65], [[0x67], [0x68], [0x65]]),
    ("trailing zeros", [0, 0, 1, 0x65, 7, 0, 0, 0, 0, 0, 0, 1, 0x41, 0, 0, 0], [[0x65, 7], [0x41]]),
    ("empty units", [0, 0, 1, 0, 0, 1, 0, 0, 0, 0, 1, 0x65, 0, 0, 1], [[0x65]]),
    ("garbage before", [5, 0, 6, 0, 0, 1, 0x65, 0, 0], [[0x65]]),
    ("a code at the very end", [0, 0, 1, 0x65, 1, 2, 3, 4, 5, 6, 7, 8, 0, 0, 1], [[0x65, 1, 2, 3, 4, 5, 6, 7, 8]]),
    ("zeros inside", [0, 0, 1, 0x65, 0, 0, 3, 1, 0, 0, 2, 0, 1], [[0x65, 0, 0, 3, 1, 0, 0, 2, 0, 1]]),
  ])
  func `start codes separate NAL units`(name: String, stream: [UInt8], units: [[UInt8]]) {
    #expect(Self.units(ofAnnexB: stream) == units, "\(name)")
  }

  @Test func `a start code is found at each place of an eight-byte word`() {
    for before in 1...40 {
      for after in 1...20 {
        let first = [UInt8](repeating: 0x41, count: before)
        let second = [UInt8](repeating: 0x61, count: after)
        #expect(Self.units(ofAnnexB: [0, 0, 1] + first + [0, 0, 1] + second) == [first, second])
      }
    }
  }

  @Test func `units of a slice of a buffer are found too`() throws {
    var buffer = ByteBuffer(bytes: [9, 9, 9, 0, 0, 1, 0x65, 1, 0, 0, 1, 0x41])
    buffer.moveReaderIndex(forwardBy: 3)
    #expect(AnnexBNALUnits(buffer).map { Array($0.readableBytesView) } == [[0x65, 1], [0x41]])
  }

  @Test(arguments: [(1, [2, 0x65, 9, 0, 1, 0x41]), (2, [0, 2, 0x65, 9, 0, 0, 0, 1, 0x41])])
  func `length fields may have fewer than 4 bytes`(size: Int, sample: [UInt8]) throws {
    let units = try AVCCNALUnits(parsing: ByteBuffer(bytes: sample), lengthSize: size)
    #expect(units.map { Array($0.readableBytesView) } == [[0x65, 9], [0x41]])
    #expect(throws: ParsingError.self) {
      try AVCCNALUnits(parsing: ByteBuffer(bytes: sample.dropLast()), lengthSize: size)
    }
    let unit = try H264AccessUnit(parsingAVCC: ByteBuffer(bytes: sample), lengthSize: size)
    #expect(Array(unit.payload.readableBytesView) == [0, 0, 0, 2, 0x65, 9, 0, 0, 0, 1, 0x41])
  }

  @Test func `lengths separate the NAL units of a sample, and empty units are skipped`() throws {
    let units = try AVCCNALUnits(parsing: ByteBuffer(bytes: [0, 0, 0, 2, 0x65, 1, 0, 0, 0, 0, 0, 0, 0, 1, 0x41]))
    #expect(units.map { Array($0.readableBytesView) } == [[0x65, 1], [0x41]])
  }

  @Test func `a sample is its payload without a copy, unless a NAL unit is left out`() throws {
    func address(_ buffer: ByteBuffer) -> Int { buffer.withUnsafeReadableBytes { Int(bitPattern: $0.baseAddress) } }
    // Behind the head of a message.
    var message = ByteBuffer(bytes: [0x27, 1, 0, 0, 0, 0, 0, 0, 2, 0x06, 5, 0, 0, 0, 3, 0x65, 1, 2])
    message.moveReaderIndex(forwardBy: 5)
    let whole = try H264AccessUnit(parsingAVCC: message)
    #expect(whole.isKeyframe && whole.payload == message && address(whole.payload) == address(message))
    for left: [UInt8] in [[0, 0, 0, 2, 0x09, 0xF0], [0, 0, 0, 0], [0, 0, 0, 2, 0x68, 0xCB]] {
      let parsed = try H264AccessUnit(parsingAVCC: ByteBuffer(bytes: left + message.readableBytesView))
      #expect(parsed.payload == message)
    }
  }

  @Test func `every prefix of a sample throws, except at the end of a NAL unit`() throws {
    let sample: [UInt8] = [0, 0, 0, 2, 0x65, 1, 0, 0, 0, 1, 0x41]
    for length in 1..<sample.count where length != 6 {
      #expect(throws: ParsingError(.truncated, field: "NALUnitLength", offset: length < 6 ? 0 : 6)) {
        try AVCCNALUnits(parsing: ByteBuffer(bytes: sample.prefix(length)))
      }
    }
  }

  @Test func `a length of 4 GiB throws`() {
    #expect(throws: ParsingError(.truncated, field: "NALUnitLength", offset: 0)) {
      try AVCCNALUnits(parsing: ByteBuffer(bytes: [0xFF, 0xFF, 0xFF, 0xFF, 0x65]))
    }
  }

  @Test func `delimiters, parameter sets and filler are removed from the payload of an encoder's keyframe`() {
    let unit = H264AccessUnit(
      parsingAnnexB: ByteBuffer(bytes: [
        0, 0, 0, 1, 0x09, 0x10,  // access unit delimiter
        0, 0, 0, 1, 0x67, 0x42,  // sequence parameter set
        0, 0, 0, 1, 0x68, 0xCB,  // picture parameter set
        0, 0, 1, 0x06, 0x05,  // supplemental information
        0, 0, 1, 0x65, 0x88, 0x84,  // slice
        0, 0, 1, 0x65, 0x41,  // slice
        0, 0, 1, 0x0C, 0xFF,  // filler
        0, 0, 1, 0x18, 0x01,  // unspecified, 24
        0, 0, 1, 0x00, 0x01,  // unspecified, 0
      ]))
    #expect(unit.isKeyframe)
    #expect(unit.sequenceParameterSets == [ByteBuffer(bytes: [0x67, 0x42])])
    #expect(unit.pictureParameterSets == [ByteBuffer(bytes: [0x68, 0xCB])])
    #expect(
      unit.payload
        == ByteBuffer(bytes: [0, 0, 0, 2, 0x06, 0x05, 0, 0, 0, 3, 0x65, 0x88, 0x84, 0, 0, 0, 2, 0x65, 0x41]))
  }

  @Test func `an access unit in an encoder's memory is parsed in the same way, wherever it ends`() {
    let stream: [UInt8] = [
      0xFF, 0, 0, 0, 1, 0x09, 0x10, 0, 0, 0, 1, 0x67, 0x42, 0, 0, 1, 0x68, 0xCB, 0, 0, 0, 1, 0, 0, 1, 0x06, 0x05, 0, 0,
      1, 0x65, 0x88, 0, 0, 0, 0, 1, 0x65, 0x41, 0, 0, 1, 0x0C, 0xFF, 0, 0, 1, 0x41, 0x9A,
    ]
    for length in 0...stream.count {
      let prefix = Array(stream.prefix(length))
      let unit = prefix.withUnsafeBytes { H264AccessUnit(parsingAnnexB: $0) }
      #expect(unit == H264AccessUnit(parsingAnnexB: ByteBuffer(bytes: prefix)))
      // Written once into memory of the size it needs, which ByteBuffer rounds up to a power of two.
      #expect(unit.payload.capacity < max(2, 2 * unit.payload.readableBytes))
    }
  }

  @Test func `an access unit without an IDR slice is not a keyframe`() {
    let unit = H264AccessUnit(parsingAnnexB: ByteBuffer(bytes: [0, 0, 1, 0x41, 0x9A]))
    #expect(!unit.isKeyframe)
    #expect(unit.payload == ByteBuffer(bytes: [0, 0, 0, 2, 0x41, 0x9A]))
  }

  @Test func `in-band parameter sets of a sample are removed in the same way`() throws {
    let unit = try H264AccessUnit(
      parsingAVCC: ByteBuffer(bytes: [0, 0, 0, 2, 0x67, 1, 0, 0, 0, 2, 0x68, 2, 0, 0, 0, 1, 0x65]))
    #expect(unit.payload == ByteBuffer(bytes: [0, 0, 0, 1, 0x65]))
    #expect(unit.sequenceParameterSets == [ByteBuffer(bytes: [0x67, 1])])
  }

  private static func units(ofAnnexB stream: [UInt8]) -> [[UInt8]] {
    AnnexBNALUnits(ByteBuffer(bytes: stream)).map { Array($0.readableBytesView) }
  }
}
