import Media
import NIOCore
import Testing

@testable import Bitstreams

@Suite("Samples of H.264")
struct H264SampleReaderTests {
  /// A sequence parameter set of Baseline with identifier 0, 64 pixels wide.
  ///
  /// - Parameters:
  ///   - rows: Height in macroblocks of 16 pixels.
  ///   - rate: Frame rate of its timing information.
  private static func sequence(rows: UInt32 = 3, rate: UInt32? = nil) -> [UInt8] {
    var writer = BitWriter()
    writer.write(0x42C01E, bits: 24)
    for value: UInt32 in [0, 0, 2, 1] { writer.writeExponentialGolomb(value) }
    writer.write(0, bits: 1)
    for value in [3, rows - 1] { writer.writeExponentialGolomb(value) }
    // frame_mbs_only, direct_8x8_inference, no cropping.
    writer.write(0b110, bits: 3)
    if let rate {
      // Of the VUI parameters the timing alone, which counts fields.
      writer.write(0b1_0000_1, bits: 6)
      writer.write(1, bits: 32)
      writer.write(rate * 2, bits: 32)
      writer.write(0b1_0000, bits: 5)
    } else {
      writer.write(0, bits: 1)
    }
    writer.write(1, bits: 1)
    // With emulation prevention.
    return [0x67]
      + writer.bytes.reduce(into: []) { bytes, next in
        if bytes.suffix(2) == [0, 0], next <= 3 { bytes.append(3) }
        bytes.append(next)
      }
  }

  private static func pictureSet(_ id: UInt32 = 0) -> [UInt8] {
    var writer = BitWriter()
    writer.writeExponentialGolomb(id)
    writer.writeExponentialGolomb(0)
    writer.write(1, bits: 1)
    return [0x68] + writer.bytes + [0x80]
  }

  private static let idr: [UInt8] = [0x65, 0x88]
  private static let slice: [UInt8] = [0x41, 0x9A]

  private static func unit(_ nalUnits: [UInt8]...) -> H264AccessUnit {
    H264AccessUnit(parsingAnnexB: ByteBuffer(bytes: nalUnits.flatMap { [0, 0, 1] + $0 }))
  }

  private static func payload(_ nalUnits: [UInt8]...) -> ByteBuffer {
    ByteBuffer(bytes: nalUnits.flatMap { [0, 0, 0, UInt8($0.count)] + $0 })
  }

  /// Adopts and reads an access unit.
  private static func read(
    _ reader: inout H264SampleReader, _ unit: H264AccessUnit, isMarked: Bool = false, at time: MediaTime = .zero
  ) -> (new: H264Description?, content: H264SampleReader.Content) {
    let new = reader.adopt(unit)
    return (new, reader.read(unit, isMarked: isMarked, at: time))
  }

  @Test func `parameter sets are remembered, late, one at a time and in any order`() {
    for isSequenceFirst in [true, false] {
      let parts = [Self.unit(Self.sequence()), Self.unit(Self.pictureSet())]
      var reader = H264SampleReader(frameRate: 25)
      #expect(Self.read(&reader, Self.unit(Self.idr)) == (nil, .early(missing: nil)))
      #expect(Self.read(&reader, parts[isSequenceFirst ? 0 : 1]) == (nil, .empty))
      #expect(Self.read(&reader, Self.unit(Self.slice)) == (nil, .early(missing: nil)))
      let (new, content) = Self.read(&reader, parts[isSequenceFirst ? 1 : 0])
      #expect(new?.sequenceParameterSet == Self.sequence() && new?.pictureParameterSet == Self.pictureSet())
      #expect(new?.width == 64 && new?.height == 48 && new?.frameRate == 25)
      #expect(new == reader.description && content == .empty && reader.isOnePair)
      #expect(!reader.isAtKeyframe)
      #expect(Self.read(&reader, Self.unit(Self.idr)) == (nil, .frame(payload: Self.payload(Self.idr), isStart: true)))
      #expect(reader.isAtKeyframe)
      #expect(
        Self.read(&reader, Self.unit(Self.slice)) == (nil, .frame(payload: Self.payload(Self.slice), isStart: false)))
    }
  }

  @Test func `known parameter sets are no new description, others are`() throws {
    var reader = H264SampleReader(frameRate: 25)
    let start = Self.unit(Self.sequence(), Self.pictureSet(), Self.idr)
    #expect(Self.read(&reader, start).new != nil)
    #expect(Self.read(&reader, start) == (nil, .frame(payload: Self.payload(Self.idr), isStart: true)))
    #expect(Self.read(&reader, Self.unit(Self.sequence(rows: 6), Self.idr)).new?.height == 96)
    #expect(reader.description?.height == 96 && reader.isOnePair)
    let before = H264ParameterSets(AVCDecoderConfiguration(try #require(reader.description)))
    #expect(try reader.replace(before) == nil)
    // The description of before stays where the new sets are no pair.
    #expect(throws: ParsingError(.missing, field: "parameter sets")) { try reader.replace(H264ParameterSets()) }
    #expect(reader.description?.height == 96)
  }

  @Test func `an implausible frame rate is replaced`() {
    for (rate, expected) in [(50, 50), (240, 240), (241, 25), (90_000, 25)] as [(UInt32, Int32)] {
      var reader = H264SampleReader(frameRate: 25)
      let new = reader.adopt(Self.unit(Self.sequence(rate: rate), Self.pictureSet()))
      #expect(new?.frameRate == FrameRate(expected), "\(rate)")
    }
  }

  @Test func `where a stream uses several sets, all precede each frame at which decoding can start`() {
    var reader = H264SampleReader(frameRate: 25)
    let second = Self.pictureSet(1)
    _ = Self.read(&reader, Self.unit(Self.sequence(), Self.pictureSet(), second, Self.idr))
    #expect(!reader.isOnePair)
    let sets = [Self.sequence(), Self.pictureSet(), second]
    #expect(
      Self.read(&reader, Self.unit(Self.idr)).content
        == .frame(payload: Self.payload(sets[0], sets[1], sets[2], Self.idr), isStart: true))
    #expect(
      Self.read(&reader, Self.unit(Self.slice)).content == .frame(payload: Self.payload(Self.slice), isStart: false))
  }

  @Test func `a set that cannot be parsed leaves the description, and no output takes the stream as it is`() {
    var reader = H264SampleReader(frameRate: 25)
    _ = Self.read(&reader, Self.unit(Self.sequence(), Self.pictureSet(), Self.idr))
    #expect(Self.read(&reader, Self.unit([0x67, 0x42], Self.idr)).new == nil)
    #expect(reader.description?.height == 48 && !reader.isOnePair)
  }

  @Test func `the start is waited for again, and its absence is said once`() {
    var reader = H264SampleReader(frameRate: 25)
    _ = Self.read(&reader, Self.unit(Self.sequence(), Self.pictureSet(), Self.idr))
    reader.awaitStart()
    let contents = (0..<10).map { index in
      Self.read(&reader, Self.unit(Self.slice), at: .zero + .milliseconds(500 * Int64(index))).content
    }
    #expect(contents.map { $0 == .early(missing: 7) } == (0..<10).map { $0 == 6 })
    #expect(contents.allSatisfy { if case .early = $0 { true } else { false } })
    // A keyframe by the word of the sender is one after some seconds.
    #expect(
      Self.read(&reader, Self.unit(Self.slice), isMarked: true, at: .zero + .seconds(5)).content
        == .frame(payload: Self.payload(Self.slice), isStart: true))
    #expect(!reader.isAtKeyframe)
  }
}
