import Foundation
import FuzzBodies
import NIOCore
import Testing

@Suite("Fuzzing: seeds and inputs that once made a parser fail")
struct FuzzReplayTests {
  @Test(arguments: FuzzBody.allCases)
  func `each seed and each found failure is handled`(body: FuzzBody) throws {

    let seeds = try Self.inputs("Seeds", body)
    #expect(!seeds.isEmpty)
    for input in try seeds + Self.inputs("FailCases", body) { body.run(input) }
  }

  @Test(arguments: FuzzBody.allCases)
  func `prefixes of each seed, and each seed with one byte changed, are handled`(body: FuzzBody) throws {

    for seed in try Self.inputs("Seeds", body) {
      // A seed of a whole file takes a debug build too long at each position.
      let step = seed.readableBytes > 1000 ? 7 : 1
      for length in stride(from: 0, to: seed.readableBytes, by: step) {
        body.run(ByteBuffer(bytes: seed.readableBytesView.prefix(length)))
        for value in Self.values(at: length, of: seed) {
          var changed = seed
          changed.setInteger(value, at: seed.readerIndex + length)
          body.run(changed)
        }
      }
    }
  }

  @Test func `each parser accepts a seed of its target, and refuses a prefix of one`() throws {
    var violations: [String] = []
    for body in FuzzBody.allCases {
      let seeds = try Self.inputs("Seeds", body)
      let prefixes = seeds.flatMap { seed in
        stride(from: 0, to: seed.readableBytes, by: max(1, seed.readableBytes / 40)).map {
          ByteBuffer(bytes: seed.readableBytesView.prefix($0))
        }
      }
      for parser in body.parsers {
        let accepts = { (input: ByteBuffer) in (try? parser.parse(input)) != nil }
        if !seeds.contains(where: accepts) {
          violations.append("\(parser.rawValue) accepts no seed of \(body.rawValue)")
        }
        guard prefixes.allSatisfy(accepts) != parser.refusesNothing else { continue }
        violations.append("\(parser.rawValue) refuses \(parser.refusesNothing ? "a prefix" : "no prefix")")
      }
    }
    #expect(violations == [])
  }

  /// Numbers of Marsaglia's xorshift, the same in each run.
  private struct Numbers {
    private var state: UInt64 = 0x9E37_79B9_7F4A_7C15

    mutating func next() -> UInt64 {
      self.state ^= self.state << 13
      self.state ^= self.state >> 7
      self.state ^= self.state << 17
      return self.state
    }
  }

  @Test func `whatever is changed in up to eight places of a recording, its repair loses no fragment beside them`() {
    var numbers = Numbers()
    for _ in 0..<400 {
      var input = ByteBuffer(integer: UInt8(numbers.next() % 2))
      for _ in 0..<(1 + numbers.next() % 8) {
        // Truncating, the last kind, leaves nothing to change.
        let kind = UInt8(numbers.next() % (numbers.next() % 4 == 0 ? 5 : 4))
        // The head, its copy and five fragments have some 6000 bytes.
        let (offset, length) = (UInt16(numbers.next() % 6000), UInt8(truncatingIfNeeded: numbers.next()))
        input.writeMultipleIntegers(kind, offset, length)
        guard kind < 2 else { continue }
        for _ in 0...length % 16 { input.writeInteger(UInt8(truncatingIfNeeded: numbers.next())) }
      }
      FuzzBody.repair.run(input)
    }
  }

  @Test func `whatever bytes of a fragment or the head of a recording are damaged, each other fragment is saved`() {
    var numbers = Numbers()
    for _ in 0..<300 {
      var input = ByteBuffer()
      // The tables are in the first 1500 bytes.
      let offset = UInt16(numbers.next() % 1500)
      input.writeMultipleIntegers(UInt8(numbers.next() % 7), offset, UInt8(numbers.next() % 20 == 0 ? 0xFF : 0))
      for _ in 0..<(1 + numbers.next() % 12) { input.writeInteger(UInt8(truncatingIfNeeded: numbers.next())) }
      FuzzBody.recording.run(input)
    }
  }

  /// The values that a byte is changed to: one per position in a long seed, since four take a debug build too long.
  private static func values(at index: Int, of seed: ByteBuffer) -> [UInt8] {
    let values: [UInt8] = [0x00, 0x7F, 0x80, 0xFF]
    return seed.readableBytes <= 128 ? values : [values[index % values.count]]
  }

  private static func inputs(_ folder: String, _ body: FuzzBody) throws -> [ByteBuffer] {
    let root = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
      .deletingLastPathComponent()
    let directory = root.appending(path: "FuzzTesting/\(folder)/\(body.rawValue)")
    return try FileManager.default.contentsOfDirectory(at: directory, includingPropertiesForKeys: nil)
      .filter { !$0.lastPathComponent.hasPrefix(".") }
      .map { ByteBuffer(bytes: try Data(contentsOf: $0)) }
  }
}
