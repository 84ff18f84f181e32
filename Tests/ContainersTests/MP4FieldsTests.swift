import Media
import NIOCore
import Testing

@testable import Containers

@Suite("Fields of movie files, ISO/IEC 14496-12, -14")
struct MP4FieldsTests {
  private static func bytes(_ write: (inout ByteBuffer) -> Void) -> [UInt8] {
    var buffer = ByteBuffer()
    write(&buffer)
    return Array(buffer.readableBytesView)
  }

  private static func words(_ values: Int32...) -> [UInt8] {
    values.flatMap { withUnsafeBytes(of: $0.bigEndian, Array.init) }
  }

  @Test(
    arguments: [
      (0, 2_082_844_800), (1_000_000_000, 2_082_844_801), (-2_082_844_800_000_000_000, 0),
      (-3_000_000_000_000_000_000, 0), (.max, .max),
    ] as [(Int64, UInt32)])
  func `times of creation count from 1904, clamped to 32 bits`(nanoseconds: Int64, seconds: UInt32) {
    #expect(MovieMetadata.creationTime(atUnixTime: nanoseconds) == seconds)
  }

  @Test(
    arguments: [
      // Rows a b u, c d v, x y w, §6.2.2: a point (p, q) goes to (a·p + c·q + x, b·p + d·q + y).
      (Orientation.up, [0x1_0000, 0, 0, 0, 0x1_0000, 0, 0, 0, 0x4000_0000]),
      (.right, [0, 0x1_0000, 0, -0x1_0000, 0, 0, 360 << 16, 0, 0x4000_0000]),
      (.down, [-0x1_0000, 0, 0, 0, -0x1_0000, 0, 640 << 16, 360 << 16, 0x4000_0000]),
      (.left, [0, -0x1_0000, 0, 0x1_0000, 0, 0, 0, 640 << 16, 0x4000_0000]),
    ] as [(Orientation, [Int32])])
  func `an orientation is a matrix that keeps the frame at the origin`(orientation: Orientation, values: [Int32]) {
    let written = Self.bytes {
      MovieMetadata(orientation: orientation).writeMatrix(forSize: (640, 360), to: &$0)
    }
    #expect(written == values.flatMap { withUnsafeBytes(of: $0.bigEndian, Array.init) })
    // The corners of the frame are those of the upright one, exchanged.
    let (a, b, c, d, x, y) = (values[0], values[1], values[3], values[4], values[6] >> 16, values[7] >> 16)
    let corners = [(0, 0), (640, 0), (0, 360), (640, 360)].map { (p, q) -> [Int32] in
      [(a * Int32(p) + c * Int32(q)) >> 16 + x, (b * Int32(p) + d * Int32(q)) >> 16 + y]
    }
    let size: [Int32] = orientation.swapsWidthAndHeight ? [360, 640] : [640, 360]
    #expect(Set(corners) == [[0, 0], [size[0], 0], [0, size[1]], size])
  }

  @Test func `a title is a UTF-8 item in the metadata list of the user data`() throws {
    let written = Self.bytes { MovieMetadata(title: "Tür").writeUserData(to: &$0) }
    let list = try #require(try MP4Box.boxes(in: ByteBuffer(bytes: written)).first)
      .child("meta").children(skipping: 4)
    #expect(list.map(\.type) == ["hdlr", "ilst"])
    let items = try list[1].children()
    #expect(items.map(\.type.rawValue) == [0xA96E_616D])
    let data = try items[0].child("data").full()
    #expect(data.flags == 1)
    #expect(Array(data.content.readableBytesView) == [0, 0, 0, 0] + Array("Tür".utf8))
    #expect(Self.bytes { MovieMetadata().writeUserData(to: &$0) } == [])
  }

  @Test(arguments: [("x", 1000), ("é", 500), ("👍", 250), ("👨‍👩‍👧‍👦", 40)])
  func `a long title is truncated at a character boundary`(character: String, count: Int) throws {
    let metadata = MovieMetadata(title: String(repeating: character, count: 2000), encoder: "vidicon")
    let written = Self.bytes { metadata.writeUserData(to: &$0) }
    let items = try #require(try MP4Box.boxes(in: ByteBuffer(bytes: written)).first)
      .child("meta").children(skipping: 4)[1].children()
    let texts = try items.map { String(buffer: try $0.child("data").full().content).dropFirst(4) }
    #expect(texts == [String(repeating: character, count: count)[...], "vidicon"])
  }

  @Test func `an audio sample entry has the AudioSpecificConfig in its descriptors`() throws {
    let written = Self.bytes { SampleEntry(TestSamples.aac).serialize(into: &$0) }
    let expected: [[UInt8]] = [
      [0, 0, 0, 75], Array("mp4a".utf8),
      [0, 0, 0, 0, 0, 0, 0, 1],  // reserved, data_reference_index
      [0, 0, 0, 0, 0, 0, 0, 0],  // reserved
      [0, 2, 0, 16, 0, 0, 0, 0],  // channelcount, samplesize, pre_defined, reserved
      [0xBB, 0x80, 0, 0],  // samplerate 48,000 in 16.16
      [0, 0, 0, 51], Array("esds".utf8), [0, 0, 0, 0],
      [0x03, 0x80, 0x80, 0x80, 34, 0, 0, 0],  // ES_DescrTag, length, ES_ID, no options
      [0x04, 0x80, 0x80, 0x80, 20],  // DecoderConfigDescrTag
      [0x40, 0x15],  // ISO/IEC 14496-3 audio; AudioStream
      [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0],  // bufferSizeDB, maxBitrate, avgBitrate unknown
      [0x05, 0x80, 0x80, 0x80, 2, 0x11, 0x90],  // DecSpecificInfoTag
      [0x06, 0x80, 0x80, 0x80, 1, 0x02],  // SLConfigDescrTag, MP4
    ]
    let flat = expected.flatMap { $0 }
    #expect(written.dropFirst(4) == flat.dropFirst(4))
    #expect(Int(written[3]) == written.count && written.prefix(3) == [0, 0, 0])
  }

  @Test func `a sample rate beyond 16 bits is left to the AudioSpecificConfig`() {
    let description = CodecDescription.aac(
      AACDescription(audioSpecificConfig: [0x10, 0x10], format: AudioFormat(sampleRate: 96_000, channelCount: 2)))
    let written = Self.bytes { SampleEntry(description).serialize(into: &$0) }
    #expect(written[32..<36] == [0, 0, 0, 0])
    #expect(written.suffix(8).prefix(2) == [0x10, 0x10])
  }

  @Test func `consecutive equal values are one entry, §8·6·1·2`() {
    var runs = RunLengths()
    #expect(Self.bytes { runs.write(to: &$0) } == Self.words(0))
    for value: UInt32 in [3, 3, 3, 0, 5, 5] { runs.append(value) }
    #expect(!runs.isAllZero)
    #expect(Self.bytes { runs.write(to: &$0) } == Self.words(3, 3, 3, 1, 0, 2, 5))
    var zeros = RunLengths()
    #expect(zeros.isAllZero)
    for _ in 0..<4 { zeros.append(0) }
    #expect(zeros.isAllZero && Self.bytes { zeros.write(to: &$0) } == Self.words(1, 4, 0))
    zeros.append(1)
    zeros.append(0)
    #expect(!zeros.isAllZero)
  }

  @Test func `characters of a code that cannot be printed are question marks`() {
    #expect(FourCharacterCode(rawValue: 0x6D6F_6F76).description == "moov")
    #expect(FourCharacterCode(rawValue: 0xA96E_616D).description == "?nam")
    #expect(FourCharacterCode(rawValue: 0x0A1B_7F20).description == "??? ")
  }

  @Test func `a truncated box header consumes nothing`() throws {
    let headers: [[UInt8]] = [
      [0, 0, 0, 8] + Array("free".utf8), [0, 0, 0, 1] + Array("mdat".utf8) + [0, 0, 0, 0, 0, 0, 0, 16],
      [0, 0, 0, 24] + Array("uuid".utf8) + [UInt8](repeating: 7, count: 16),
    ]
    for header in headers {
      for length in header.indices {
        var buffer = ByteBuffer(bytes: header.prefix(length))
        #expect(try MP4BoxHeader(parsing: &buffer) == nil)
        #expect(buffer.readableBytes == length)
      }
      var buffer = ByteBuffer(bytes: header)
      let parsed = try #require(try MP4BoxHeader(parsing: &buffer))
      #expect(parsed.length == header.count && parsed.contentLength == 0 && buffer.readableBytes == 0)
    }
  }

  @Test func `a file is walked box by box without reading the content of the boxes`() throws {
    let file = Self.bytes {
      $0.writeBox("ftyp") { $0.writeZeros(12) }
      $0.writeBox("free") { $0.writeZeros(100) }
      $0.writeInteger(UInt32(0))
      $0.writeString("mdat")
      $0.writeZeros(50)
    }
    var reads: [Int] = []
    var walker = MP4FileWalker(length: UInt64(file.count)) { offset, count in
      reads.append(count)
      return ByteBuffer(bytes: file[Int(offset)..<Int(offset) + count])
    }
    var boxes: [MP4FileWalker.Box] = []
    while let box = try walker.next() { boxes.append(box) }
    #expect(boxes.map(\.type) == ["ftyp", "free", "mdat"])
    #expect(boxes.map(\.start) == [0, 20, 128])
    #expect(boxes.map(\.content) == [8..<20, 28..<128, 136..<186])
    #expect(reads.count == 3 && reads.allSatisfy { $0 <= 32 })
  }

  @Test(arguments: [(20, 0), (21, 20), (127, 20), (135, 128)])
  func `a walk through a truncated file ends with an error at the truncated box`(length: Int, offset: Int) {
    let file = Self.bytes {
      $0.writeBox("ftyp") { $0.writeZeros(12) }
      $0.writeBox("free") { $0.writeZeros(100) }
      $0.writeBox("mdat") { $0.writeZeros(50) }
    }
    var walker = MP4FileWalker(length: UInt64(length)) { offset, count in
      ByteBuffer(bytes: file[Int(offset)..<Int(offset) + count])
    }
    var found = 0
    guard length > 20 else {
      #expect(throws: Never.self) { while try walker.next() != nil { found += 1 } }
      #expect(found == 1)
      return
    }
    #expect(throws: ParsingError(.truncated, field: "box", offset: offset)) {
      while try walker.next() != nil { found += 1 }
    }
    #expect(found == (offset == 20 ? 1 : 2))
  }
}

@Suite("Fragments of other programs, ISO/IEC 14496-12 §8.8")
struct TrackFragmentParsingTests {
  private static let extends = [
    TrackExtends(trackID: 1, defaultDuration: 10, defaultSize: 20, defaultFlags: .nonSync),
    TrackExtends(trackID: 2, defaultDuration: 1024, defaultSize: 0, defaultFlags: .sync),
  ]

  private static func fragment(_ write: (inout ByteBuffer) -> Void) throws -> TrackFragment {
    var buffer = ByteBuffer()
    buffer.writeBox("traf", write)
    return try TrackFragment(parsing: try #require(try MP4Box.boxes(in: buffer).first), extends: Self.extends)
  }

  @Test func `sample defaults are those of the track fragment, else those of the file`() throws {
    let file = try Self.fragment {
      $0.writeFullBox("tfhd", flags: 0x02_0000) { $0.writeInteger(UInt32(1)) }
      $0.writeFullBox("tfdt") { $0.writeInteger(UInt32(900)) }
      $0.writeFullBox("trun", flags: 0x01) { $0.writeMultipleIntegers(UInt32(2), Int32(64)) }
    }
    #expect(file.trackID == 1 && file.baseDecodeTime == 900 && file.dataOffset == 64)
    #expect(file.samples == [TrackFragment.Sample](repeating: .init(duration: 10, size: 20, flags: .nonSync), count: 2))
    // sample_description_index, default_sample_duration, _size and _flags.
    let header = try Self.fragment {
      $0.writeFullBox("tfhd", flags: 0x02_003A) {
        $0.writeMultipleIntegers(UInt32(1), UInt32(1), UInt32(33), UInt32(44), SampleFlags.sync.rawValue)
      }
      $0.writeFullBox("tfdt", version: 1) { $0.writeInteger(UInt64(1) << 40) }
      $0.writeFullBox("trun", flags: 0x01) { $0.writeMultipleIntegers(UInt32(1), Int32(-8)) }
    }
    #expect(header.samples == [.init(duration: 33, size: 44, flags: .sync)])
    #expect(header.baseDecodeTime == 1 << 40 && header.dataOffset == -8)
  }

  @Test func `a run may contain each field of each sample, and other flags for the first sample`() throws {
    let each = try Self.fragment {
      $0.writeFullBox("tfhd", flags: 0x02_0000) { $0.writeInteger(UInt32(2)) }
      $0.writeFullBox("tfdt") { $0.writeInteger(UInt32(0)) }
      $0.writeFullBox("trun", version: 1, flags: 0xF01) {
        $0.writeMultipleIntegers(UInt32(2), Int32(8))
        $0.writeMultipleIntegers(UInt32(1), UInt32(2), SampleFlags.sync.rawValue, Int32(-3))
        $0.writeMultipleIntegers(UInt32(4), UInt32(5), SampleFlags.nonSync.rawValue, Int32(6))
      }
    }
    #expect(
      each.samples == [
        .init(duration: 1, size: 2, flags: .sync, compositionOffset: -3),
        .init(duration: 4, size: 5, flags: .nonSync, compositionOffset: 6),
      ])
    let first = try Self.fragment {
      $0.writeFullBox("tfhd", flags: 0x02_0000) { $0.writeInteger(UInt32(1)) }
      $0.writeFullBox("tfdt") { $0.writeInteger(UInt32(0)) }
      $0.writeFullBox("trun", flags: 0x05) {
        $0.writeMultipleIntegers(UInt32(3), Int32(8), SampleFlags.sync.rawValue)
      }
    }
    #expect(first.samples.map(\.flags.isSync) == [true, false, false])
  }

  @Test func `fragments with missing, repeated or unsupported boxes are refused`() {
    let tfhd: (inout ByteBuffer) -> Void = { $0.writeFullBox("tfhd", flags: 0x02_0000) { $0.writeInteger(UInt32(1)) } }
    let tfdt: (inout ByteBuffer) -> Void = { $0.writeFullBox("tfdt") { $0.writeInteger(UInt32(0)) } }
    let trun: (inout ByteBuffer) -> Void = {
      $0.writeFullBox("trun", flags: 1) { $0.writeMultipleIntegers(UInt32(1), Int32(8)) }
    }
    let cases: [(String, ParsingError.Code, [(inout ByteBuffer) -> Void])] = [
      ("tfhd", .missing, [tfdt, trun]), ("tfdt", .missing, [tfhd, trun]), ("trun", .missing, [tfhd, tfdt]),
      ("trun", .unsupported, [tfhd, tfdt, trun, trun]), ("tfhd", .unsupported, [tfhd, tfhd, tfdt, trun]),
      (
        "trex", .missing,
        [{ $0.writeFullBox("tfhd", flags: 0x02_0000) { $0.writeInteger(UInt32(3)) } }, tfdt, trun]
      ),
      // base-data-offset-present; and neither it nor default-base-is-moof.
      (
        "base_data_offset", .unsupported,
        [
          { $0.writeFullBox("tfhd", flags: 0x02_0001) { $0.writeMultipleIntegers(UInt32(1), UInt64(0)) } }, tfdt, trun,
        ]
      ),
      ("base_data_offset", .unsupported, [{ $0.writeFullBox("tfhd") { $0.writeInteger(UInt32(1)) } }, tfdt, trun]),
      ("data_offset", .missing, [tfhd, tfdt, { $0.writeFullBox("trun") { $0.writeInteger(UInt32(1)) } }]),
      ("tfdt", .truncated, [tfhd, { $0.writeFullBox("tfdt", version: 1) { $0.writeInteger(UInt32(0)) } }, trun]),
      ("tfhd", .truncated, [{ $0.writeFullBox("tfhd", flags: 0x02_0008) { $0.writeInteger(UInt32(1)) } }, tfdt, trun]),
      (
        "trun", .truncated,
        [tfhd, tfdt, { $0.writeFullBox("trun", flags: 0x101) { $0.writeMultipleIntegers(UInt32(1), Int32(8)) } }]
      ),
      (
        "sample_count", .tooLarge,
        [tfhd, tfdt, { $0.writeFullBox("trun", flags: 1) { $0.writeMultipleIntegers(UInt32(65_537), Int32(8)) } }]
      ),
    ]
    for (field, code, boxes) in cases {
      let error = #expect(throws: ParsingError.self, "\(field)") {
        try Self.fragment { buffer in for write in boxes { write(&buffer) } }
      }
      #expect(error?.field == field && error?.code == code, "\(field): \(String(describing: error))")
    }
  }
}
