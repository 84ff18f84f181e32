import Bitstreams
import Media
import NIOCore
import Testing

@Suite("Start of decoding of H.264")
struct H264DecodingStartTests {
  private static let idr = Self.unit([[0x65, 0x80]])
  private static let slice = Self.unit([[0x41, 0x80]])
  /// A recovery point, ITU-T H.264 §D.1.8, and a slice.
  private static let recovery = Self.unit([[0x06, 0x06, 0x01, 0xC4, 0x80], [0x41, 0x80]])

  /// A slice with `first_mb_in_slice` 0 and `slice_type` 7: `1 0001000`.
  private static let intra = Self.unit([[0x41, 0x88]])

  private static func unit(_ nalUnits: [[UInt8]]) -> H264AccessUnit {
    H264AccessUnit(parsingAnnexB: ByteBuffer(bytes: nalUnits.flatMap { [0, 0, 1] + $0 }))
  }

  private static func at(_ milliseconds: Int64) -> MediaTime { .zero + .milliseconds(milliseconds) }

  @Test func `decoding starts at the first IDR picture, and goes on`() {
    var start = H264DecodingStart()
    #expect(start.handle(Self.slice, isMarked: false, at: Self.at(0)) == .drop)
    #expect(start.handle(Self.slice, isMarked: false, at: Self.at(33)) == .drop)
    #expect(!start.isAtKeyframe)
    #expect(start.handle(Self.idr, isMarked: false, at: Self.at(66)) == .take(isStart: true))
    #expect(start.isAtKeyframe)
    #expect(start.handle(Self.slice, isMarked: false, at: Self.at(100)) == .take(isStart: false))
    // Once at a keyframe, other marks are none.
    #expect(start.handle(Self.slice, isMarked: true, at: Self.at(133)) == .take(isStart: false))
    #expect(start.handle(Self.recovery, isMarked: false, at: Self.at(166)) == .take(isStart: false))
    #expect(start.handle(Self.idr, isMarked: false, at: Self.at(200)) == .take(isStart: true))
  }

  @Test func `decoding starts at the first recovery point, whatever precedes it`() {
    var start = H264DecodingStart()
    #expect(start.handle(Self.slice, isMarked: false, at: Self.at(0)) == .drop)
    #expect(start.handle(Self.recovery, isMarked: false, at: Self.at(33)) == .take(isStart: true))
    #expect(!start.isAtKeyframe)
    #expect(start.handle(Self.slice, isMarked: false, at: Self.at(66)) == .take(isStart: false))
    for unit in [Self.recovery, Self.intra] {
      #expect(start.handle(unit, isMarked: false, at: Self.at(100)) == .take(isStart: true), "each is a start then")
    }
    // A sender may make IDR pictures later.
    #expect(start.handle(Self.idr, isMarked: false, at: Self.at(133)) == .take(isStart: true))
  }

  @Test(arguments: [true, false])
  func `after three seconds it starts at an intra frame, or at what the sender calls a keyframe`(isMarked: Bool) {
    var start = H264DecodingStart()
    let unit = isMarked ? Self.slice : Self.intra
    for milliseconds in stride(from: Int64(0), to: 3_000, by: 100) {
      #expect(start.handle(unit, isMarked: isMarked, at: Self.at(milliseconds)) == .drop, "\(milliseconds)")
    }
    #expect(start.handle(Self.slice, isMarked: false, at: Self.at(3_000)) == .reportMissing(dropped: 31), "no start")
    #expect(start.handle(unit, isMarked: isMarked, at: Self.at(3_100)) == .take(isStart: true))
    #expect(!start.isAtKeyframe)
    #expect(start.handle(Self.slice, isMarked: false, at: Self.at(3_133)) == .take(isStart: false))
    #expect(start.handle(unit, isMarked: isMarked, at: Self.at(3_166)) == .take(isStart: true), "each is a start then")
  }

  @Test func `without a start the wait is reported once, and after twenty seconds decoding starts anywhere`() {
    var start = H264DecodingStart()
    var reports: [(Int64, Int)] = []
    for milliseconds in stride(from: Int64(0), to: 20_000, by: 500) {
      switch start.handle(Self.slice, isMarked: false, at: Self.at(milliseconds)) {
      case .drop: break
      case .reportMissing(let dropped): reports.append((milliseconds, dropped))
      case .take: Issue.record("taken at \(milliseconds)")
      }
    }
    #expect(reports.map(\.0) == [3_000] && reports.map(\.1) == [7])
    #expect(start.handle(Self.slice, isMarked: false, at: Self.at(20_000)) == .take(isStart: true))
    #expect(start.handle(Self.slice, isMarked: false, at: Self.at(20_040)) == .take(isStart: false))
    #expect(!start.isAtKeyframe)
  }

  @Test(arguments: [Self.idr, Self.recovery, Self.intra, Self.slice])
  func `nothing is a start before the parameter sets, which are waited for without end`(unit: H264AccessUnit) {
    var start = H264DecodingStart()
    var reports = 0
    for milliseconds in stride(from: Int64(0), through: 60_000, by: 500) {
      let decision = start.handle(unit, isMarked: true, hasParameterSets: false, at: Self.at(milliseconds))
      if case .reportMissing(let dropped) = decision {
        #expect(milliseconds == 3_000 && dropped == 7)
        reports += 1
      } else {
        #expect(decision == .drop)
      }
    }
    #expect(reports == 1)
    #expect(start.handle(Self.idr, isMarked: false, at: Self.at(60_500)) == .take(isStart: true))
    #expect(start.isAtKeyframe)
  }

  @Test func `timestamps that run backwards or jump make the wait longer, not shorter`() {
    var start = H264DecodingStart()
    for milliseconds in [20_000, 0, 2_999, 2_900, 90_000_000, 90_000_000] as [Int64] {
      #expect(start.handle(Self.intra, isMarked: false, at: Self.at(milliseconds)) == .drop, "\(milliseconds)")
    }
    #expect(start.handle(Self.intra, isMarked: false, at: Self.at(90_000_001)) == .take(isStart: true))
    var extreme = H264DecodingStart()
    #expect(extreme.handle(Self.slice, isMarked: false, at: MediaTime(nanoseconds: .min)) == .drop)
    #expect(extreme.handle(Self.slice, isMarked: false, at: MediaTime(nanoseconds: .max)) == .drop)
  }

  /// NAL units, and whether they have a recovery point.
  @Test(
    arguments: [
      ([[0x06, 0x06, 0x01, 0xC4, 0x80], [0x41, 0x80]], true),
      // Behind a message of another type: 5, with 3 bytes.
      ([[0x06, 0x05, 0x03, 1, 2, 3, 0x06, 0x01, 0xC4, 0x80]], true),
      // Behind a message whose size is 255 + 2.
      ([[0x06, 0x05, 0xFF, 0x02] + [UInt8](repeating: 7, count: 257) + [0x06, 0x01, 0xC4, 0x80]], true),
      // In the second unit of supplemental enhancement information.
      ([[0x06, 0x01, 0x01, 0x33, 0x80], [0x06, 0x06, 0x01, 0xC4, 0x80]], true),
      // Type 255 + 6 is another one.
      ([[0x06, 0xFF, 0x06, 0x01, 0xC4, 0x80]], false),
      // The bytes of a slice are no messages.
      ([[0x41, 0x06, 0x01, 0xC4, 0x80]], false),
      // A message that reaches past the end hides what follows.
      ([[0x06, 0x05, 0x20, 0x06, 0x01, 0xC4, 0x80]], false),
      ([[0x06], [0x06, 0x06], [0x06, 0x80], [0x06, 0xFF, 0xFF]], false),
      ([], false),
    ] as [([[UInt8]], Bool)])
  func `a recovery point is found among the messages of an access unit`(nalUnits: [[UInt8]], isFound: Bool) {
    #expect((Self.unit(nalUnits).randomAccess == .recoveryPoint) == isFound)
  }
}

@Suite("Intra frames of H.264")
struct H264RandomAccessTests {
  /// Bits of slices behind their header bytes, ITU-T H.264 §7.3.3: `first_mb_in_slice`, `slice_type`; with table 7-6.
  @Test(
    arguments: [
      (["1 011"], .intra, "I"), (["1 00101"], .intra, "SI"), (["1 0001000"], .intra, "I, as all slices"),
      (["1 0001010"], .intra, "SI, as all slices"), (["1 1"], nil, "P"), (["1 010"], nil, "B"),
      (["1 00100"], nil, "SP"),
      (["1 00110"], nil, "P, as all slices"), (["1 0001011"], nil, "a type of 10 is out of range"),
      (["1 011", "0001001 011"], .intra, "two slices of type I"), (["1 011", "0001001 1"], nil, "I and P"),
      (["1 1", "0001001 011"], nil, "P and I"),
      // 2¹⁶ - 1 macroblocks: 16 zeros, and 16 more behind the one.
      (["0000000000000000 1 0000000000000000 011"], .intra, "the largest number of bits that is in range"),
      (["00000000000000000000000000000000"], nil, "zeros"), (["1"], nil, "no type"), ([""], nil, "no byte"),
    ] as [([String], H264RandomAccess?, String)])
  func `a frame is intra when all its slices are`(slices: [String], access: H264RandomAccess?, name: String) {
    var payload = ByteBuffer()
    for slice in slices {
      var (bits, bytes) = (slice.filter { $0 != " " }, [UInt8(0x41)])
      while bits.count % 8 != 0 { bits += "0" }
      while !bits.isEmpty {
        bytes.append(UInt8(bits.prefix(8), radix: 2) ?? 0)
        bits.removeFirst(8)
      }
      payload.writeInteger(UInt32(bytes.count))
      payload.writeBytes(bytes)
    }
    let unit = try? H264AccessUnit(parsingAVCC: payload)
    #expect(unit?.randomAccess == access, "\(name)")
  }

  @Test func `without slices there is nothing to decode`() {
    #expect(H264AccessUnit().randomAccess == nil)
    let delimiter = H264AccessUnit(parsingAnnexB: ByteBuffer(bytes: [0, 0, 1, 0x06, 1, 1, 0x33, 0x80]))
    #expect(delimiter.randomAccess == nil)
  }
}

@Suite("Scans for NAL units against a plain one")
struct NALUnitScanTests {
  /// NAL units by the definition: what is between `00 00 01`, without trailing zeros and empty ones.
  private static func plainUnits(_ bytes: [UInt8]) -> [[UInt8]] {
    var codes: [Int] = []
    var index = 0
    while index + 2 < bytes.count {
      if bytes[index] == 0, bytes[index + 1] == 0, bytes[index + 2] == 1 {
        codes.append(index)
        index += 3
      } else {
        index += 1
      }
    }
    return codes.enumerated().compactMap { number, code in
      let end = number + 1 < codes.count ? codes[number + 1] : bytes.count
      let unit = bytes[min(code + 3, end)..<end]
      let trimmed = unit.prefix(unit.lastIndex { $0 != 0 }.map { $0 + 1 - unit.startIndex } ?? 0)
      return trimmed.isEmpty ? nil : Array(trimmed)
    }
  }

  @Test func `streams of zeros, ones and other bytes have the units of the definition, at any alignment`() {
    var generator = SplitMix(state: 0x5EED)
    for round in 0..<3_000 {
      let count = Int(generator.next() % 64)
      let bytes = (0..<count).map { _ -> UInt8 in
        let value = generator.next() % 10
        return value < 6 ? 0 : value < 8 ? 1 : UInt8(truncatingIfNeeded: generator.next())
      }
      var buffer = ByteBuffer(repeating: 0, count: Int(generator.next() % 8))
      buffer.moveReaderIndex(to: buffer.writerIndex)
      buffer.writeBytes(bytes)
      let found = AnnexBNALUnits(buffer).map { Array($0.readableBytesView) }
      #expect(found == Self.plainUnits(bytes), "seed 0x5EED, round \(round): \(bytes)")
    }
  }

  @Test func `both parsers of an access unit agree, and lengths lead back to the same units`() throws {
    var generator = SplitMix(state: 0xACCE55)
    for round in 0..<500 {
      var bytes: [UInt8] = []
      for _ in 0..<Int(generator.next() % 6) {
        bytes +=
          [0, 0, 1] + (0..<Int(generator.next() % 20) + 1).map { _ in UInt8(truncatingIfNeeded: generator.next()) | 1 }
      }
      let unit = H264AccessUnit(parsingAnnexB: ByteBuffer(bytes: bytes))
      let direct = bytes.withUnsafeBytes { H264AccessUnit(parsingAnnexB: $0) }
      #expect(unit == direct, "seed 0xACCE55, round \(round): \(bytes)")
      let units = Self.plainUnits(bytes)
      let kept = units.filter { H264NALUnitType(rawValue: $0[0]).isSampleData }
      let parsed = try AVCCNALUnits(parsing: unit.payload).map { Array($0.readableBytesView) }
      #expect(parsed == kept, "seed 0xACCE55, round \(round): \(bytes)")
      #expect(try H264AccessUnit(parsingAVCC: unit.payload).payload == unit.payload)
      #expect(unit.isKeyframe == units.contains { $0[0] & 31 == 5 })
      #expect(unit.sequenceParameterSets.map { Array($0.readableBytesView) } == units.filter { $0[0] & 31 == 7 })
    }
  }

  @Test(arguments: [1, 2, 3, 4]) func `lengths of one to four bytes are read, and every prefix is truncated`(size: Int)
    throws
  {
    let units: [[UInt8]] = [[0x65, 1, 2], [0x41], [0x06, 9, 9, 9, 9]]
    let bytes = units.flatMap { [UInt8](repeating: 0, count: size - 1) + [UInt8($0.count)] + $0 }
    let parsed = try AVCCNALUnits(parsing: ByteBuffer(bytes: bytes), lengthSize: size)
    #expect(parsed.map { Array($0.readableBytesView) } == units)
    // Between two units a sample may end.
    var ends: Set<Int> = [0]
    for unit in units { ends.insert((ends.max() ?? 0) + size + unit.count) }
    for length in 0...bytes.count {
      let isWhole = (try? AVCCNALUnits(parsing: ByteBuffer(bytes: bytes[..<length]), lengthSize: size)) != nil
      #expect(isWhole == ends.contains(length), "\(length) bytes")
    }
  }

  @Test func `types of NAL units are the lower five bits, and some are no part of a sample`() {
    let kept = (UInt8(0)..<32).filter { H264NALUnitType(rawValue: $0).isSampleData }
    #expect(kept == [1, 2, 3, 4, 5, 6, 10, 11] + Array(13...23))
    for byte in UInt8.min...UInt8.max { #expect(H264NALUnitType(rawValue: byte).rawValue == byte & 0x1F) }
    #expect((UInt8(0)..<32).filter { H264NALUnitType(rawValue: $0).startsWithMacroblockAddress } == [1, 2, 5])
  }
}

/// A generator with a seed, so that a failure can be repeated.
private struct SplitMix: RandomNumberGenerator {
  var state: UInt64

  mutating func next() -> UInt64 {
    self.state &+= 0x9E37_79B9_7F4A_7C15
    var value = self.state
    value = (value ^ (value >> 30)) &* 0xBF58_476D_1CE4_E5B9
    value = (value ^ (value >> 27)) &* 0x94D0_49BB_1331_11EB
    return value ^ (value >> 31)
  }
}
