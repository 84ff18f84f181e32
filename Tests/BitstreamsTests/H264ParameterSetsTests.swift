import Media
import NIOCore
import Testing

@testable import Bitstreams

@Suite("Parameter sets of a stream")
struct H264ParameterSetsTests {
  /// A sequence parameter set of Baseline with an identifier, 64 × 48 pixels, distinguished by the number of its
  /// reference frames.
  private static func sequence(_ id: UInt32, references: UInt32 = 1) -> [UInt8] {
    var writer = BitWriter()
    writer.write(0x42C01E, bits: 24)
    for value in [id, 0, 2, references] { writer.writeExponentialGolomb(value) }
    writer.write(0, bits: 1)
    for value: UInt32 in [3, 2] { writer.writeExponentialGolomb(value) }
    // frame_mbs_only, direct_8x8_inference, no cropping, no VUI, stop bit.
    writer.write(0b11_001, bits: 5)
    return [0x67] + writer.bytes
  }

  private static func pictureSet(_ id: UInt32, of sequence: UInt32, last: UInt8 = 0x80) -> [UInt8] {
    var writer = BitWriter()
    writer.writeExponentialGolomb(id)
    writer.writeExponentialGolomb(sequence)
    writer.write(1, bits: 1)
    return [0x68] + writer.bytes + [last]
  }

  private static func unit(_ nalUnits: [UInt8]...) -> H264AccessUnit {
    H264AccessUnit(parsingAnnexB: ByteBuffer(bytes: nalUnits.flatMap { [0, 0, 1] + $0 }))
  }

  private static let idr: [UInt8] = [0x65, 0x88]
  private static let slice: [UInt8] = [0x41, 0x9A]

  private static func bytes(_ buffer: ByteBuffer) -> [UInt8] { Array(buffer.readableBytesView) }

  /// NAL units behind their lengths.
  private static func sample(_ nalUnits: [UInt8]...) -> [UInt8] {
    nalUnits.flatMap { [0, 0, 0, UInt8($0.count)] + $0 }
  }

  @Test func `the sets of these tests are what they say`() throws {
    let sequence = try H264SequenceParameterSet(parsing: Self.sequence(3))
    #expect(sequence.id == 3 && sequence.width == 64 && sequence.height == 48)
    let pictureSet = try H264PictureParameterSet(parsing: Self.pictureSet(7, of: 3))
    #expect(pictureSet.id == 7 && pictureSet.sequenceParameterSetID == 3)
  }

  @Test func `there is a pair when there is one of each, in any order`() {
    for isSequenceFirst in [true, false] {
      var sets = H264ParameterSets()
      #expect(sets.pair == nil && !sets.areSeveral)
      let parts = [Self.unit(Self.sequence(0)), Self.unit(Self.pictureSet(0, of: 0))]
      sets.adopt(parts[isSequenceFirst ? 0 : 1])
      #expect(sets.pair == nil)
      sets.adopt(parts[isSequenceFirst ? 1 : 0])
      #expect(sets.pair?.sequence == Self.sequence(0) && sets.pair?.pictureSet == Self.pictureSet(0, of: 0))
      #expect(!sets.areSeveral)
    }
  }

  @Test func `a set of the same identifier replaces the earlier one`() {
    var sets = H264ParameterSets()
    sets.adopt(Self.unit(Self.sequence(0), Self.pictureSet(0, of: 0), Self.idr))
    sets.adopt(Self.unit(Self.sequence(0, references: 2), Self.idr))
    #expect(sets.pair?.sequence == Self.sequence(0, references: 2))
    #expect(!sets.areSeveral)
  }

  @Test func `a picture parameter set has the sequence parameter set that it refers to`() {
    var record = AVCDecoderConfiguration(
      H264Description(
        sequenceParameterSet: Self.sequence(0), pictureParameterSet: Self.pictureSet(0, of: 1), width: 64, height: 48,
        frameRate: 30))
    record.sequenceParameterSets.append(Self.sequence(1))
    let sets = H264ParameterSets(record)
    #expect(sets.areSeveral)
    #expect(sets.pair?.sequence == Self.sequence(1) && sets.pair?.pictureSet == Self.pictureSet(0, of: 1))
  }

  @Test func `the pair of the stream changes at keyframes, not with sets that come between`() {
    var sets = H264ParameterSets()
    sets.adopt(Self.unit(Self.sequence(0), Self.pictureSet(0, of: 0), Self.idr))
    sets.adopt(Self.unit(Self.sequence(1), Self.pictureSet(1, of: 1), Self.slice))
    #expect(sets.pair?.pictureSet == Self.pictureSet(0, of: 0) && sets.areSeveral)
    // Known sets are no change.
    sets.adopt(Self.unit(Self.sequence(1), Self.pictureSet(1, of: 1), Self.idr))
    #expect(sets.pair?.pictureSet == Self.pictureSet(0, of: 0))
    let changed = Self.pictureSet(1, of: 1, last: 0xC0)
    sets.adopt(Self.unit(changed, Self.idr))
    #expect(sets.pair?.pictureSet == changed && sets.pair?.sequence == Self.sequence(1))
  }

  @Test func `what cannot be parsed is left out`() {
    var record = AVCDecoderConfiguration(
      H264Description(
        sequenceParameterSet: [0x67, 0x42], pictureParameterSet: [0x68], width: 64, height: 48, frameRate: 30))
    #expect(H264ParameterSets(record).pair == nil)
    record.sequenceParameterSets.append(Self.sequence(0))
    record.pictureParameterSets.append(Self.pictureSet(0, of: 0))
    let sets = H264ParameterSets(record)
    #expect(sets.pair?.sequence == Self.sequence(0) && !sets.areSeveral)
  }

  @Test func `with one pair a payload stays as it is`() {
    var sets = H264ParameterSets()
    let unit = Self.unit(Self.sequence(0), Self.pictureSet(0, of: 0), Self.idr)
    sets.adopt(unit)
    #expect(Self.bytes(sets.payload(of: unit, isStart: true)) == Self.sample(Self.idr))
  }

  @Test func `with several, all are before a start and before samples with sets`() {
    var sets = H264ParameterSets()
    sets.adopt(Self.unit(Self.sequence(0), Self.pictureSet(0, of: 0), Self.pictureSet(1, of: 0), Self.idr))
    let all = Self.sample(Self.sequence(0), Self.pictureSet(0, of: 0), Self.pictureSet(1, of: 0))
    #expect(Self.bytes(sets.payload(of: Self.unit(Self.idr), isStart: true)) == all + Self.sample(Self.idr))
    #expect(Self.bytes(sets.payload(of: Self.unit(Self.slice), isStart: false)) == Self.sample(Self.slice))
    let carrying = Self.unit(Self.pictureSet(1, of: 0), Self.slice)
    #expect(Self.bytes(sets.payload(of: carrying, isStart: false)) == all + Self.sample(Self.slice))
  }
}
