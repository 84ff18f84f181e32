import NIOCore
import Testing

@testable import Containers

@Suite("Changes of stream types, ISO/IEC 13818-1 §2.4.4.8")
struct ProgramMapScannerTests {
  private typealias Stream = ProgramMap.Stream

  /// A packet of 188 bytes (§2.4.3.2), without an adaptation field.
  private static func packet(_ identifier: UInt16, isStart: Bool, _ payload: some Collection<UInt8>) -> [UInt8] {
    var packet: [UInt8] = [0x47, UInt8(identifier >> 8) | (isStart ? 0x40 : 0), UInt8(identifier & 0xFF), 0x10]
    packet += payload
    return packet + Array(repeating: 0xFF, count: 188 - packet.count)
  }

  /// The packets of a section, with a pointer to its first byte.
  private static func packets(_ identifier: UInt16, _ section: [UInt8]) -> [UInt8] {
    let first = Self.packet(identifier, isStart: true, [0] + Array(section.prefix(183)))
    let rest = section.dropFirst(183)
    return rest.isEmpty ? first : first + Self.packet(identifier, isStart: false, rest)
  }

  /// A clip: its tables, and packets of media.
  private static func clip(_ streams: [Stream], version: UInt8 = 0, mediaCount: Int = 5) -> [UInt8] {
    let map = ProgramMap(version: version, clockPacketIdentifier: 0x100, streams: streams)
    var clip = Self.packets(PacketIdentifier.programAssociation, ProgramSection.programAssociation)
    clip += Self.packets(PacketIdentifier.programMap, map.serialize())
    for _ in 0..<mediaCount { clip += Self.packet(0x100, isStart: true, [0, 0, 1, 0xE0]) }
    return clip
  }

  private static func change(in bytes: [UInt8], offset: Int64 = 0, step: Int = 10_000) -> Int64? {
    var scanner = ProgramMapScanner(offset: offset)
    var rest = bytes[...]
    while !rest.isEmpty {
      scanner.append(ByteBuffer(bytes: rest.prefix(step)))
      rest = rest.dropFirst(step)
    }
    return scanner.change
  }

  private static let h264 = Stream(type: .h264, packetIdentifier: 0x100)
  private static let aac = Stream(type: .adtsAAC, packetIdentifier: 0x101)
  private static let mpeg2 = Stream(type: ProgramStreamType(rawValue: 2), packetIdentifier: 0x100)

  @Test(arguments: [1, 61, 188, 10_000]) func `a change is found at the tables before it`(step: Int) {
    let first = Self.clip([Self.h264, Self.aac])
    let bytes = first + first + Self.clip([Self.mpeg2, Self.aac]) + first
    #expect(Self.change(in: bytes, step: step) == Int64(2 * first.count))
    #expect(Self.change(in: bytes, offset: 1_000, step: step) == Int64(1_000 + 2 * first.count))
  }

  @Test func `streams that begin, end or stay are no change`() {
    let ac3 = Stream(type: ProgramStreamType(rawValue: 0x81), packetIdentifier: 0x102)
    let clips = [[Self.h264], [Self.h264, Self.aac], [Self.h264, Self.aac, ac3], [ac3], [Self.h264, ac3]]
    let bytes = clips.enumerated().flatMap { Self.clip($0.element, version: UInt8($0.offset)) }
    #expect(Self.change(in: bytes) == nil)
    // An identifier that comes again with another type.
    #expect(Self.change(in: bytes + Self.clip([Self.mpeg2])) == Int64(bytes.count))
  }

  @Test(arguments: [4, 16]) func `packets of 192 and 204 bytes are read`(additional: Int) {
    let bytes = Self.clip([Self.h264]) + Self.clip([Self.mpeg2])
    var wide: [UInt8] = additional == 4 ? [1, 2, 3, 4] : []
    for start in stride(from: 0, to: bytes.count, by: 188) {
      wide += bytes[start..<start + 188]
      wide += Array(repeating: 9, count: additional)
    }
    let place = 7 * (188 + additional) + (additional == 4 ? 4 : 0)
    #expect(Self.change(in: wide) == Int64(place))
  }

  @Test func `maps of several packets are read, and damage is skipped`() {
    let many = (0..<40 as Range<UInt16>).map { Stream(type: .adtsAAC, packetIdentifier: 0x200 + $0) }
    let first = Self.clip([Self.h264] + many)
    let garbage = (0..<500).map { UInt8($0 % 64) }
    let bytes = first + garbage + first + Self.clip([Self.mpeg2] + many)
    #expect(Self.change(in: bytes) == Int64(2 * first.count + garbage.count))
    // A map whose checksum is wrong.
    var damaged = Self.clip([Self.mpeg2])
    damaged[188 + 5 + 12] ^= 1
    #expect(Self.change(in: Self.clip([Self.h264]) + damaged) == nil)
  }

  @Test func `each change is behind the first byte`() {
    // Two maps behind one table, as of a hostile file: reading again there gets on.
    let map = ProgramMap(version: 1, clockPacketIdentifier: 0x100, streams: [Self.mpeg2])
    var bytes = Self.clip([Self.h264], mediaCount: 0)
    bytes += Self.packets(PacketIdentifier.programMap, map.serialize())
    for _ in 0..<5 { bytes += Self.packet(0x100, isStart: true, [0, 0, 1, 0xE0]) }
    #expect(Self.change(in: bytes) == 2 * 188)
  }

  @Test func `bytes without packets, or too few, are no change`() {
    #expect(Self.change(in: []) == nil)
    #expect(Self.change(in: Array(repeating: 0, count: 5_000), step: 7) == nil)
    #expect(Self.change(in: Array(repeating: 0x47, count: 5_000), step: 7) == nil)
  }
}
