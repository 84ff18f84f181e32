import Media
import Testing

@testable import Bitstreams

@Suite("H.264 parameter sets, ITU-T H.264 §7.3.2")
struct H264ParameterSetTests {
  // Written by libx264 (core 164) through ffmpeg 5.1 on Debian 12, options in the name.
  static let baseline720p30: [UInt8] = [
    0x67, 0x42, 0xC0, 0x1F, 0xD9, 0x00, 0x50, 0x05, 0xBB, 0xFF, 0x00, 0x03, 0x00, 0x04, 0x10, 0x00, 0x00, 0x03, 0x00,
    0x10, 0x00, 0x00, 0x03, 0x03, 0xC0, 0xF1, 0x83, 0x24, 0x80,
  ]
  static let high1080p2997BT709: [UInt8] = [
    0x67, 0x64, 0x00, 0x28, 0xAC, 0xD9, 0x40, 0x78, 0x02, 0x27, 0xE5, 0xFF, 0xC0, 0x00, 0xC0, 0x01, 0x1A, 0x80, 0x80,
    0x80, 0xA0, 0x00, 0x00, 0x7D, 0x20, 0x00, 0x1D, 0x4C, 0x01, 0xE3, 0x06, 0x32, 0xC0,
  ]
  static let high422Interlaced576: [UInt8] = [
    0x67, 0x7A, 0x00, 0x1E, 0xB6, 0xCD, 0x94, 0x0B, 0x42, 0x4D, 0xFF, 0x80, 0x08, 0x00, 0x07, 0x88, 0x00, 0x00, 0x03,
    0x00, 0x08, 0x00, 0x00, 0x03, 0x01, 0x90, 0xF8, 0xA1, 0x4C, 0xB0,
  ]
  static let high444Small: [UInt8] = [
    0x67, 0xF4, 0x00, 0x0A, 0x91, 0x9B, 0x28, 0x8F, 0xC7, 0xC7, 0xFF, 0xE0, 0x08, 0x80, 0x09, 0x62, 0x00, 0x00, 0x03,
    0x00, 0x02, 0x00, 0x00, 0x03, 0x00, 0x3C, 0x1E, 0x24, 0x4B, 0x2C,
  ]
  static let high720p30WithBufferModel: [UInt8] = [
    0x67, 0x64, 0x00, 0x1F, 0xAC, 0xD9, 0x40, 0x50, 0x05, 0xBB, 0xFF, 0x00, 0x03, 0x00, 0x04, 0x10, 0x00, 0x00, 0x03,
    0x00, 0x10, 0x00, 0x00, 0x03, 0x03, 0xC6, 0x26, 0x00, 0x0F, 0x42, 0x40, 0x01, 0xE8, 0x4E, 0x4C, 0x30, 0x07, 0x8C,
    0x18, 0xCB,
  ]
  static let high576With16To11: [UInt8] = [
    0x67, 0x64, 0x00, 0x1E, 0xAC, 0xD9, 0x40, 0xB4, 0x12, 0x6C, 0x11, 0xA8, 0x28, 0x28, 0x2A, 0x00, 0x00, 0x03, 0x00,
    0x02, 0x00, 0x00, 0x03, 0x00, 0x64, 0x1E, 0x2C, 0x5B, 0x2C,
  ]
  static let high360FullRangeWith91To74: [UInt8] = [
    0x67, 0x64, 0x00, 0x1E, 0xAC, 0xD9, 0x40, 0xA0, 0x2F, 0xF9, 0x7F, 0xF0, 0x05, 0xB0, 0x04, 0xA6, 0xE0, 0x20, 0x20,
    0x28, 0x00, 0x00, 0x03, 0x00, 0x08, 0x00, 0x00, 0x03, 0x01, 0x90, 0x78, 0xB1, 0x6C, 0xB0,
  ]
  static let baselinePictureParameterSet: [UInt8] = [0x68, 0xCB, 0x83, 0xCB, 0x20]

  @Test func `a Baseline set has profile, size and rate`() throws {
    let set = try H264SequenceParameterSet(parsing: Self.baseline720p30)
    #expect(set.profileIDC == 66)
    #expect(set.constraintFlags == 0xC0)
    #expect(set.levelIDC == 31)
    #expect(set.profileLevelID == "42C01F")
    #expect(set.width == 1280)
    #expect(set.height == 720)
    #expect(set.frameRate == FrameRate(30))
    #expect(set.isProgressive)
    #expect(set.vui?.reorderFrames == 0)
  }

  @Test func `a High set with cropping has 1080 rows, 29.97 and BT 709`() throws {
    let set = try H264SequenceParameterSet(parsing: Self.high1080p2997BT709)
    #expect(set.profileIDC == 100)
    #expect(set.width == 1920)
    #expect(set.height == 1080)
    #expect(set.frameRate == FrameRate(30_000, over: 1001))
    #expect(
      set.vui?.colourDescription == .init(primaries: 1, transferCharacteristics: 1, matrixCoefficients: 1))
    #expect(set.vui?.reorderFrames == 2)
    #expect(set.vui?.timing == .init(unitsInTick: 1001, timeScale: 60_000, isFixed: false))
  }

  @Test func `sample aspect ratios by index and in full, and colors, are parsed`() throws {
    let tall = try #require(try H264SequenceParameterSet(parsing: Self.high576With16To11).vui)
    #expect(tall.sampleAspectRatio == .init(width: 16, height: 11))
    #expect(tall.colourDescription == .init(primaries: 5, transferCharacteristics: 5, matrixCoefficients: 5))
    #expect(!tall.isFullRange)
    let other = try #require(try H264SequenceParameterSet(parsing: Self.high360FullRangeWith91To74).vui)
    #expect(other.sampleAspectRatio == .init(width: 91, height: 74))
    #expect(other.colourDescription == .init(primaries: 1, transferCharacteristics: 1, matrixCoefficients: 1))
    #expect(other.isFullRange)
  }

  /// Table E-1, as numbers and as the two fields of 255; 0 is unspecified, 17 to 254 are reserved.
  @Test(
    arguments: [
      (0, nil), (1, (1, 1)), (2, (12, 11)), (3, (10, 11)), (4, (16, 11)), (5, (40, 33)), (6, (24, 11)), (7, (20, 11)),
      (8, (32, 11)), (9, (80, 33)), (10, (18, 11)), (11, (15, 11)), (12, (64, 33)), (13, (160, 99)), (14, (4, 3)),
      (15, (3, 2)), (16, (2, 1)), (17, nil), (254, nil),
    ] as [(UInt32, (UInt16, UInt16)?)])
  func `each index of a sample aspect ratio is its ratio`(index: UInt32, ratio: (UInt16, UInt16)?) throws {
    let expected = ratio.map { VUIParameters.SampleAspectRatio(width: $0.0, height: $0.1) }
    #expect(try Self.aspectRatio([(1, 1), (index, 8)]) == expected)
    if let ratio {
      #expect(try Self.aspectRatio([(1, 1), (255, 8), (UInt32(ratio.0), 16), (UInt32(ratio.1), 16)]) == expected)
    }
  }

  @Test func `a full ratio with a zero is unspecified, and one at the limits is parsed`() throws {
    #expect(try Self.aspectRatio([(1, 1), (255, 8), (0, 16), (1, 16)]) == nil)
    #expect(try Self.aspectRatio([(1, 1), (255, 8), (1, 16), (0, 16)]) == nil)
    #expect(
      try Self.aspectRatio([(1, 1), (255, 8), (65_535, 16), (1, 16)]) == .init(width: 65_535, height: 1))
    #expect(try Self.aspectRatio([(0, 1)]) == nil)
  }

  /// Sample aspect ratio of usability information that starts with some fields, followed by zeros.
  private static func aspectRatio(
    _ fields: [(value: UInt32, bits: Int)]
  ) throws -> VUIParameters.SampleAspectRatio? {
    var writer = BitWriter()
    for field in fields { writer.write(field.value, bits: field.bits) }
    writer.write(0, bits: 16)
    var reader = BitReader(writer.bytes)
    return try VUIParameters(&reader).sampleAspectRatio
  }

  @Test func `an interlaced 4 2 2 set counts rows of both fields`() throws {
    let set = try H264SequenceParameterSet(parsing: Self.high422Interlaced576)
    #expect(set.chromaFormatIDC == 2)
    #expect(set.bitDepthLuma == 10)
    #expect(set.width == 720)
    #expect(set.height == 576)
    #expect(!set.isProgressive)
    #expect(set.frameRate == FrameRate(25))
  }

  @Test func `a 4 4 4 set is cropped in single pixels`() throws {
    let set = try H264SequenceParameterSet(parsing: Self.high444Small)
    #expect(set.chromaFormatIDC == 3)
    #expect(set.width == 50)
    #expect(set.height == 34)
    #expect(set.frameRate == FrameRate(15))
  }

  @Test func `HRD parameters are skipped`() throws {
    let set = try H264SequenceParameterSet(parsing: Self.high720p30WithBufferModel)
    #expect(set.height == 720)
    #expect(set.frameRate == FrameRate(30))
    #expect(set.vui?.reorderFrames == 2)
    #expect(set.vui?.maximumDecoderFrameBuffering == 4)
  }

  @Test func `scaling lists are skipped, also one that ends early`() throws {
    var writer = BitWriter()
    Self.writeHighStart(to: &writer)
    writer.write(1, bits: 1)  // seq_scaling_matrix_present_flag
    writer.write(1, bits: 1)  // list 0 in full: sixteen deltas of 0
    for _ in 0..<16 { writer.writeExponentialGolomb(0) }
    writer.write(1, bits: 1)  // list 1: delta -8 makes the next scale 0
    writer.writeExponentialGolomb(16)
    writer.write(0, bits: 6)  // lists 2 to 7 are absent
    Self.writeEnd(to: &writer, columns: 80, rows: 45)
    let set = try H264SequenceParameterSet(parsing: [0x67] + writer.bytes)
    #expect(set.width == 1280)
    #expect(set.height == 720)
    #expect(set.vui == nil)
  }

  @Test(arguments: [
    baseline720p30, high1080p2997BT709, high422Interlaced576, high444Small, high720p30WithBufferModel,
    high576With16To11, high360FullRangeWith91To74,
  ])
  func `every prefix throws, except without the byte of the stop bit`(set: [UInt8]) {
    for length in 0..<set.count - 2 {
      #expect(throws: ParsingError.self) { try H264SequenceParameterSet(parsing: Array(set.prefix(length))) }
    }
  }

  @Test func `cropping the whole frame is invalid`() {
    for crop: UInt32 in [360, .max - 1] {
      var writer = BitWriter()
      Self.writeHighStart(to: &writer)
      writer.write(0, bits: 1)
      Self.writeEnd(to: &writer, columns: 80, rows: 45, bottomCrop: crop)
      let error = #expect(throws: ParsingError.self) {
        try H264SequenceParameterSet(parsing: [0x67] + writer.bytes)
      }
      #expect(error?.code == .invalid)
      #expect(error?.field == "frame_crop_bottom_offset")
    }
  }

  @Test func `a width of 1056 macroblocks is invalid, 1055 is not`() throws {
    for (columns, isValid) in [(1055, true), (1056, false)] {
      var writer = BitWriter()
      Self.writeHighStart(to: &writer)
      writer.write(0, bits: 1)
      Self.writeEnd(to: &writer, columns: UInt32(columns), rows: 45)
      #expect(((try? H264SequenceParameterSet(parsing: [0x67] + writer.bytes)) != nil) == isValid)
    }
  }

  @Test func `a picture parameter set has both identifiers`() throws {
    let set = try H264PictureParameterSet(parsing: Self.baselinePictureParameterSet)
    #expect(set.id == 0)
    #expect(set.sequenceParameterSetID == 0)
    #expect(throws: ParsingError(.invalid, field: "nal_unit_type", offset: 0)) {
      try H264PictureParameterSet(parsing: Self.baseline720p30)
    }
    #expect(throws: ParsingError(.truncated, field: "nal_unit_type", offset: 0)) {
      try H264PictureParameterSet(parsing: [])
    }
  }

  @Test func `the rate of the stream precedes the fallback`() throws {
    let description = try H264Description(
      parsing: Self.baseline720p30, pictureParameterSet: Self.baselinePictureParameterSet, frameRate: FrameRate(10))
    #expect(description.width == 1280)
    #expect(description.frameRate == FrameRate(30))
  }

  @Test func `Exp-Golomb numbers reach 2³² - 2 and no further`() throws {
    // 31 zeros, a one, 31 ones.
    var reader = BitReader([0, 0, 0, 1, 0xFF, 0xFF, 0xFF, 0xFE])
    #expect(try reader.exponentialGolomb("x") == .max - 1)
    var longer = BitReader([0, 0, 0, 0, 0x80, 0, 0, 0, 0])
    #expect(throws: ParsingError(.invalid, field: "x", offset: 0)) { try longer.exponentialGolomb("x") }
  }

  @Test(arguments: [(0, 0), (1, 1), (2, -1), (3, 2), (4, -2), (UInt32.max - 1, -Int32.max)])
  func `signed Exp-Golomb numbers alternate, table 9-3`(code: UInt32, value: Int32) throws {
    var writer = BitWriter()
    writer.writeExponentialGolomb(code)
    var reader = BitReader(writer.bytes)
    #expect(try reader.signedExponentialGolomb("x") == value)
  }

  @Test func `emulation prevention is removed once for each pair of zeros`() {
    let unit: [UInt8] = [0x67, 0, 0, 3, 0, 0, 3, 1, 3, 0, 3, 0, 0, 3]
    #expect(H264EmulationPrevention.rawByteSequencePayload(of: unit) == [0, 0, 0, 0, 1, 3, 0, 3, 0, 0])
  }

  /// High profile at level 3.1, id 0, 4:2:0, 8 bits.
  private static func writeHighStart(to writer: inout BitWriter) {
    writer.write(0x64001F, bits: 24)
    for value: UInt32 in [0, 1, 0, 0] { writer.writeExponentialGolomb(value) }
    writer.write(0, bits: 1)
  }

  /// From log2_max_frame_num_minus4 on, without VUI.
  private static func writeEnd(to writer: inout BitWriter, columns: UInt32, rows: UInt32, bottomCrop: UInt32? = nil) {
    for value: UInt32 in [0, 2, 1] { writer.writeExponentialGolomb(value) }
    writer.write(0, bits: 1)
    writer.writeExponentialGolomb(columns - 1)
    writer.writeExponentialGolomb(rows - 1)
    writer.write(0b11, bits: 2)
    writer.write(bottomCrop == nil ? 0 : 1, bits: 1)
    if let bottomCrop {
      for value in [0, 0, 0, bottomCrop] { writer.writeExponentialGolomb(value) }
    }
    writer.write(0b01, bits: 2)
  }
}

extension BitWriter {
  /// `ue(v)`.
  mutating func writeExponentialGolomb(_ value: UInt32) {
    let code = UInt64(value) + 1
    let length = 64 - code.leadingZeroBitCount
    self.write(0, bits: length - 1)
    self.write(1, bits: 1)
    self.write(UInt32(truncatingIfNeeded: code), bits: length - 1)
  }
}
