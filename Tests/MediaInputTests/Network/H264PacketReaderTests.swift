import Bitstreams
import Media
import NIOCore
import TestSupport
import Testing

@testable import MediaInput

@Suite("H.264 packets")
struct H264PacketReaderTests {
  // Baseline profile, 1280×720, 30 frames per second, by libx264 (core 164).
  static let sequence: [UInt8] = [
    0x67, 0x42, 0xC0, 0x1F, 0xD9, 0x00, 0x50, 0x05, 0xBB, 0xFF, 0x00, 0x03, 0x00, 0x04, 0x10, 0x00, 0x00, 0x03, 0x00,
    0x10, 0x00, 0x00, 0x03, 0x03, 0xC0, 0xF1, 0x83, 0x24, 0x80,
  ]
  static let pictureSet: [UInt8] = [0x68, 0xCB, 0x83, 0xCB, 0x20]
  /// 4:2:2 chroma and interlaced fields.
  static let interlaced: [UInt8] = [
    0x67, 0x7A, 0x00, 0x1E, 0xB6, 0xCD, 0x94, 0x0B, 0x42, 0x4D, 0xFF, 0x80, 0x08, 0x00, 0x07, 0x88, 0x00, 0x00, 0x03,
    0x00, 0x08, 0x00, 0x00, 0x03, 0x01, 0x90, 0xF8, 0xA1, 0x4C, 0xB0,
  ]
  static let code: [UInt8] = [0, 0, 0, 1]
  static let times = SourceTimeline.Times(decode: MediaTime(nanoseconds: 5), presentation: MediaTime(nanoseconds: 7))

  static func read(
    _ reader: inout H264PacketReader, _ nalUnits: [[UInt8]], isKeyframe: Bool = false
  ) -> H264PacketReader.Result {
    reader.read(
      ByteBuffer(bytes: nalUnits.flatMap { Self.code + $0 }), isKeyframe: isKeyframe, times: Self.times, duration: nil)
  }

  static func payload(_ result: H264PacketReader.Result) -> [UInt8]? {
    if case .sample(let sample, _) = result { Array(sample.payload.readableBytesView) } else { nil }
  }

  static func isUnfit(_ result: H264PacketReader.Result) -> Bool {
    if case .unfit = result { true } else { false }
  }

  static func isSkipped(_ result: H264PacketReader.Result) -> Bool {
    if case .skipped = result { true } else { false }
  }

  @Test func `in-band parameter sets go to the description, slices to the sample`() throws {
    var reader = H264PacketReader(extradata: [], frameRate: 25)
    #expect(Self.isSkipped(Self.read(&reader, [[0x41, 1]])))
    let first = Self.read(&reader, [[0x09, 0xF0], Self.sequence, Self.pictureSet, [0x06, 5], [0x65, 1, 2]])
    guard case .sample(let sample, .h264(let description)) = first else {
      Issue.record("no sample")
      return
    }
    #expect(Array(sample.payload.readableBytesView) == [0, 0, 0, 2, 0x06, 5, 0, 0, 0, 3, 0x65, 1, 2])
    #expect(sample.isKeyframe && sample.kind == .video)
    #expect(sample.decodeTime.nanoseconds == 5 && sample.presentationTime.nanoseconds == 7)
    #expect(sample.duration == FrameRate(30).frameInterval)
    #expect(description.sequenceParameterSet == Self.sequence && description.pictureParameterSet == Self.pictureSet)
    #expect(description.width == 1280 && description.height == 720 && description.frameRate == 30)
    #expect(Self.payload(Self.read(&reader, [[0x41, 7]])) == [0, 0, 0, 2, 0x41, 7])
    #expect(Self.isSkipped(Self.read(&reader, [])))
    #expect(Self.isSkipped(Self.read(&reader, [Self.sequence, Self.pictureSet])))
  }

  @Test func `out-of-band parameter sets are known before the first packet, and lengths may be short`() {
    var annexB = H264PacketReader(extradata: Self.code + Self.sequence + Self.code + Self.pictureSet, frameRate: 25)
    #expect(Self.payload(Self.read(&annexB, [[0x65, 1]])) == [0, 0, 0, 2, 0x65, 1])
    let record: [UInt8] =
      [1, 0x42, 0xC0, 0x1F, 0xFD, 0xE1, 0, UInt8(Self.sequence.count)] + Self.sequence
      + [1, 0, UInt8(Self.pictureSet.count)] + Self.pictureSet
    var lengths = H264PacketReader(extradata: record, frameRate: 25)
    let read = { (bytes: [UInt8]) in
      lengths.read(ByteBuffer(bytes: bytes), isKeyframe: false, times: Self.times, duration: nil)
    }
    #expect(Self.payload(read([0, 2, 0x65, 1])) == [0, 0, 0, 2, 0x65, 1])
    #expect(Self.payload(read([0, 1, 0x41])) == [0, 0, 0, 1, 0x41])
    // A length beyond the end: the following samples cannot be decoded before the next keyframe.
    #expect(Self.isSkipped(read([0, 9, 0x41])))
    #expect(Self.isSkipped(read([0, 1, 0x41])))
    #expect(Self.payload(read([0, 1, 0x65])) == [0, 0, 0, 1, 0x65])
  }

  @Test func `new parameter sets at a keyframe make a new description`() {
    var reader = H264PacketReader(extradata: [], frameRate: 25)
    _ = Self.read(&reader, [Self.sequence, Self.pictureSet, [0x65, 1]])
    var larger = Self.sequence
    larger[3] = 0x28
    guard case .sample(_, .h264(let description)) = Self.read(&reader, [larger, Self.pictureSet, [0x65, 1]]) else {
      Issue.record("no sample")
      return
    }
    #expect(description.sequenceParameterSet == larger)
  }

  @Test func `streams that an output does not support are reported`() {
    var several = H264PacketReader(extradata: [], frameRate: 25)
    #expect(Self.isUnfit(Self.read(&several, [Self.sequence, Self.pictureSet, [0x68, 0x53, 0x01], [0x65, 1]])))
    var second = H264PacketReader(extradata: [], frameRate: 25)
    _ = Self.read(&second, [Self.sequence, Self.pictureSet, [0x65, 1]])
    #expect(Self.isUnfit(Self.read(&second, [[0x68, 0x53, 0x01], [0x65, 1]])))
    var interlaced = H264PacketReader(extradata: [], frameRate: 25)
    #expect(Self.isUnfit(Self.read(&interlaced, [Self.interlaced, Self.pictureSet, [0x65, 1]])))
    var unknown = H264PacketReader(extradata: [], frameRate: 25)
    #expect(Self.isUnfit(Self.read(&unknown, [[0x65, 1]])))
    // A recovery point that is not an IDR picture.
    var open = H264PacketReader(extradata: [], frameRate: 25)
    #expect(Self.isUnfit(Self.read(&open, [Self.sequence, Self.pictureSet, [0x41, 1]], isKeyframe: true)))
  }

  @Test func `frames that are to be turned are decoded from the keyframe on that says so`() {
    // A display orientation message of a quarter turn anticlockwise, by libavcodec (h264_metadata).
    let turned: [UInt8] = [0x06, 0x2F, 0x03, 0x08, 0x00, 0x09, 0x80]
    let upright: [UInt8] = [0x06, 0x2F, 0x03, 0x00, 0x00, 0x09, 0x80]
    var reader = H264PacketReader(extradata: [], frameRate: 25)
    let keyframe = [Self.sequence, Self.pictureSet, upright, [0x65, 0x88]]
    #expect(Self.payload(Self.read(&reader, keyframe)) == [0, 0, 0, 7] + upright + [0, 0, 0, 2, 0x65, 0x88])
    guard case .unfit(let isBlind) = Self.read(&reader, [turned, [0x65, 0x88]]) else {
      Issue.record("passed through")
      return
    }
    #expect(!isBlind)
  }

  /// A slice of type P and one of type I, as all slices of their frames.
  private static let frame: [UInt8] = [0x41, 0x9A]
  private static let intra: [UInt8] = [0x41, 0x88]

  /// Results of a frame each half second, in which an entry of `others` replaces the one of its number: `.` for skipped, `w` for
  /// the report of a wait, `u` and `b` for unfit and blind, `s` for a sample; up to the first result that ends the wait.
  private static func wait(
    _ reader: inout H264PacketReader, replacing others: [Int: [[UInt8]]] = [:]
  ) -> String {
    var results = ""
    for index in 0..<100 {
      let bytes = ByteBuffer(bytes: (others[index] ?? [Self.frame]).flatMap { Self.code + $0 })
      let time = MediaTime.zero + .milliseconds(Int64(index) * 500)
      switch reader.read(
        bytes, isKeyframe: false, times: SourceTimeline.Times(decode: time, presentation: time), duration: nil)
      {
      case .sample: return results + "s"
      case .skipped: results += "."
      case .waiting(let count):
        #expect(count == 7)
        results += "w"
      case .unfit(let isBlind): return results + (isBlind ? "b" : "u")
      }
    }
    return results
  }

  @Test func `frames before a rare keyframe are skipped, which is reported once`() {
    let keyframe = [Self.sequence, Self.pictureSet, [0x65, 0x88]]
    var late = H264PacketReader(extradata: [], frameRate: 25)
    #expect(Self.wait(&late, replacing: [24: keyframe]) == "......w" + String(repeating: ".", count: 17) + "s")
    // Known parameter sets change nothing.
    var known = H264PacketReader(extradata: Self.code + Self.sequence + Self.code + Self.pictureSet, frameRate: 25)
    #expect(Self.wait(&known, replacing: [24: keyframe]) == "......w" + String(repeating: ".", count: 17) + "s")
  }

  @Test func `decoding starts at recovery points and intra frames that the demuxer does not mark`() {
    let extradata = Self.code + Self.sequence + Self.code + Self.pictureSet
    var recovery = H264PacketReader(extradata: extradata, frameRate: 25)
    #expect(Self.wait(&recovery, replacing: [2: [[0x06, 0x06, 0x01, 0xC4, 0x80], Self.frame]]) == "..u")
    var open = H264PacketReader(extradata: extradata, frameRate: 25)
    #expect(Self.wait(&open, replacing: [2: [Self.intra], 8: [Self.intra]]) == "......w.u")
    var blind = H264PacketReader(extradata: extradata, frameRate: 25)
    #expect(Self.wait(&blind) == "......w" + String(repeating: ".", count: 33) + "b")
    // Without parameter sets there is nothing to decode.
    var unknown = H264PacketReader(extradata: [], frameRate: 25)
    #expect(Self.wait(&unknown) == "......w" + String(repeating: ".", count: 93))
  }

  @Test func `a start that the sender marks is blind where it is neither intra nor a recovery point`() {
    for (units, isBlind) in [
      ([Self.intra], false), ([Self.frame], true), ([[0x06, 0x06, 0x01, 0xC4, 0x80], Self.frame], false),
    ] {
      var reader = H264PacketReader(extradata: Self.code + Self.sequence + Self.code + Self.pictureSet, frameRate: 25)
      guard case .unfit(let found) = Self.read(&reader, units, isKeyframe: true) else {
        Issue.record("\(units)")
        continue
      }
      #expect(found == isBlind, "\(units)")
    }
  }

  @Test func `arbitrary bytes do not trap, and every sample has valid lengths`() throws {
    let pieces: [[UInt8]] = [
      Self.code, Self.sequence, Self.pictureSet, [0x65], [0x41, 0, 0, 1], [0, 2], [1, 0x42, 0, 30, 0xFF],
      Self.code + Self.sequence + Self.code + Self.pictureSet + Self.code + [0x65],
    ]
    var count = 0
    for seed: UInt64 in 0..<5_000 {
      var generator = SplitMix(seed: seed)
      func bytes() -> [UInt8] {
        (0..<Int.random(in: 0...6, using: &generator)).flatMap { _ in
          Bool.random(using: &generator)
            ? pieces.randomElement(using: &generator)! : [UInt8.random(in: 0...255, using: &generator)]
        }
      }
      var reader = H264PacketReader(extradata: bytes(), frameRate: 25)
      for _ in 0..<4 {
        let result = reader.read(
          ByteBuffer(bytes: bytes()), isKeyframe: Bool.random(using: &generator), times: Self.times, duration: nil)
        guard case .sample(let sample, _) = result else { continue }
        #expect(try AVCCNALUnits(parsing: sample.payload).contains { _ in true }, "seed \(seed)")
        count += 1
      }
    }
    #expect(count > 1_500)
  }
}
