import Media
import NIOCore
import Testing
import TransportStreams

@testable import Containers

@Suite("Transport packets, ISO/IEC 13818-1 §2.4.3.2")
struct TransportPacketsTests {
  /// A packet, read by the table of the specification.
  private struct Packet {
    var isStart: Bool
    var packetIdentifier: UInt16
    var counter: UInt8
    var adaptation: [UInt8]?
    var payload: [UInt8]

    init(_ bytes: ArraySlice<UInt8>) throws {
      let bytes = Array(bytes)
      try #require(bytes.count == 188 && bytes[0] == 0x47 && bytes[1] & 0b1010_0000 == 0 && bytes[3] & 0b1100_0000 == 0)
      self.isStart = bytes[1] & 0b0100_0000 != 0
      self.packetIdentifier = UInt16(bytes[1] & 0b1_1111) << 8 | UInt16(bytes[2])
      self.counter = bytes[3] & 0b1111
      var index = 4
      if bytes[3] & 0b10_0000 != 0 {
        let length = Int(bytes[4])
        try #require(length <= 183)
        self.adaptation = Array(bytes[5..<5 + length])
        index = 5 + length
      }
      self.payload = bytes[3] & 0b1_0000 != 0 ? Array(bytes[index...]) : []
    }
  }

  private static func packets(
    length: Int, _ adaptation: AdaptationField = AdaptationField(), counter: inout UInt8, pieces: Int = 1
  ) throws -> [Packet] {
    var buffer = ByteBuffer()
    let bytes = (0..<length).map { UInt8(truncatingIfNeeded: $0) }
    TransportPacketWriter.write(0x1ABC, adaptation, counter: &counter, length: length, into: &buffer) { writer in
      for piece in 0..<pieces {
        writer.append(ByteBuffer(bytes: bytes[length * piece / pieces..<length * (piece + 1) / pieces]))
      }
    }
    let written = Array(buffer.readableBytesView)
    #expect(written.count.isMultiple(of: 188))
    return try stride(from: 0, to: written.count, by: 188).map { try Packet(written[$0..<$0 + 188]) }
  }

  @Test(arguments: [
    AdaptationField(), AdaptationField(isRandomAccess: true), AdaptationField(programClock: 27_000_000),
    AdaptationField(programClock: 1, isRandomAccess: true),
  ])
  func `a payload of any length ends with its last packet`(adaptation: AdaptationField) throws {
    var counter: UInt8 = 14
    for length in Array(1...400) + [183 * 184, 184 * 184, 65_535] {
      let first = counter
      let packets = try Self.packets(length: length, adaptation, counter: &counter, pieces: length % 7 + 1)
      #expect(packets.flatMap(\.payload) == (0..<length).map { UInt8(truncatingIfNeeded: $0) }, "\(length) bytes")
      #expect(packets.map(\.isStart) == [true] + Array(repeating: false, count: packets.count - 1))
      #expect(packets.allSatisfy { $0.packetIdentifier == 0x1ABC })
      #expect(packets.map(\.counter) == packets.indices.map { (first &+ UInt8(truncatingIfNeeded: $0)) & 15 })
      #expect(counter == (first &+ UInt8(truncatingIfNeeded: packets.count)) & 15)
      // No more packets than the payload needs.
      let room = 184 - adaptation.length
      #expect(packets.count == 1 + max(0, (length - room + 183) / 184))
    }
  }

  @Test(
    arguments: [
      (0, 0, 0), (299, 0, 299), (300, 1, 0), (-1, (1 << 33) - 1, 299), (300 << 33, 0, 0),
      ((300 << 33) - 1, (1 << 33) - 1, 299),
    ] as [(Int64, UInt64, UInt64)])
  func `a program clock has 33 bits of 90 kHz and 9 of 27 MHz`(clock: Int64, base: UInt64, remainder: UInt64) throws {
    var counter: UInt8 = 0
    let packets = try Self.packets(
      length: 50, AdaptationField(programClock: clock, isRandomAccess: true), counter: &counter)
    let field = try #require(packets[0].adaptation)
    #expect(field[0] == 0b0101_0000)
    let value = field[1..<7].reduce(UInt64(0)) { $0 << 8 | UInt64($1) }
    #expect(value >> 15 == base && value & 0x1FF == remainder && value >> 9 & 0b11_1111 == 0b11_1111)
    #expect(field[7...].allSatisfy { $0 == 0xFF }, "stuffing")
  }

  @Test func `a clock packet has no payload, and repeats the counter of the packet before it`() throws {
    var buffer = ByteBuffer()
    TransportPacketWriter.writeClock(
      AdaptationField(programClock: 27_000_000), 0x0100, counter: 0, into: &buffer)
    let packet = try Packet(Array(buffer.readableBytesView)[...])
    #expect(packet.counter == 15 && packet.payload == [] && packet.packetIdentifier == 0x0100 && !packet.isStart)
    #expect(packet.adaptation?.count == 183 && packet.adaptation?[0] == 0b0001_0000)
  }
}

@Suite("Values of the program clock, ISO/IEC 13818-1 §2.4.2.2")
struct ProgramClockValuesTests {
  private static func sample(_ kind: MediaKind, at milliseconds: Int64, duration: Int64 = 20) -> EncodedSample {
    EncodedSample(
      kind: kind, payload: ByteBuffer(), presentationTime: .zero + .milliseconds(milliseconds),
      duration: .milliseconds(duration), isKeyframe: true)
  }

  /// Clock packets that are due, in milliseconds.
  private static func overdue(_ clock: inout ProgramClock, isCarried: Bool = false) -> [Int64] {
    var values: [Int64] = []
    while let value = clock.overdueValue(isCarried: isCarried) { values.append(value / 27_000) }
    return values
  }

  @Test func `it follows the decoding times, with packets where a step is longer than 40 ms`() {
    var clock = ProgramClock()
    clock.advance(to: Self.sample(.video, at: 1_000))
    #expect(Self.overdue(&clock) == [1_000], "the first value")
    clock.advance(to: Self.sample(.video, at: 1_040))
    #expect(Self.overdue(&clock) == [])
    clock.advance(to: Self.sample(.video, at: 1_150))
    #expect(Self.overdue(&clock) == [1_040, 1_080, 1_120])
    let next = clock.nextValue()
    #expect(next == 1_150 * 27_000)
    let same = clock.nextValue()
    #expect(same == 1_150 * 27_000 + 1, "it increases strictly")
  }

  @Test func `a sample that carries a value needs no packet at the start, nor after a gap of more than a second`() {
    var clock = ProgramClock()
    clock.advance(to: Self.sample(.video, at: 0))
    #expect(Self.overdue(&clock, isCarried: true) == [])
    _ = clock.nextValue()
    clock.advance(to: Self.sample(.video, at: 5_000))
    #expect(Self.overdue(&clock, isCarried: true) == [])
    var other = clock
    #expect(Self.overdue(&other) == [5_000], "one packet jumps over it")
  }

  @Test func `it is at the end of the slower track, and at most 500 ms behind the newest sample`() {
    var clock = ProgramClock()
    clock.advance(to: Self.sample(.video, at: 0))
    clock.advance(to: Self.sample(.audio, at: 0))
    _ = clock.nextValue()
    clock.advance(to: Self.sample(.video, at: 300))
    let slow = clock.nextValue()
    #expect(slow == 20 * 27_000, "the end of the audio")
    clock.advance(to: Self.sample(.video, at: 900))
    let lagging = clock.nextValue()
    #expect(lagging == 400 * 27_000)
    clock.forgetTracks()
    clock.advance(to: Self.sample(.video, at: 920))
    let alone = clock.nextValue()
    #expect(alone == 920 * 27_000)
  }

  @Test func `a sample more than 800 ms behind the newest one has been passed`() {
    var clock = ProgramClock()
    clock.advance(to: Self.sample(.video, at: 0))
    clock.advance(to: Self.sample(.audio, at: 0))
    #expect(!clock.hasPassed(Self.sample(.audio, at: -5_000)), "without a value nothing is late")
    _ = clock.nextValue()
    clock.advance(to: Self.sample(.video, at: 2_000))
    _ = clock.nextValue()
    #expect(clock.hasPassed(Self.sample(.audio, at: 1_199)))
    #expect(!clock.hasPassed(Self.sample(.audio, at: 1_201)))
  }

  @Test func `timestamps have 33 bits and are 300 ms later`() {
    #expect(ProgramClock.timestamp(.zero) == 27_000)
    #expect(ProgramClock.timestamp(.zero - .milliseconds(301)) == (1 << 33) - 90)
    // Times are rounded down to a nanosecond.
    let wrap = MediaTime(ticks: 1 << 33, timescale: 90_000)
    #expect(ProgramClock.timestamp(wrap + MediaDuration(nanoseconds: 1)) == 27_000)
    #expect(ProgramClock.timestamp(wrap) == 26_999)
  }
}
