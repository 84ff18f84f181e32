import Media
import NIOCore
import Testing
import TransportStreams

@testable import Containers

@Suite("Transport streams of other muxers, ISO/IEC 13818-1 §2.4")
struct TransportStreamDemuxerTests {
  private static let table = Self.packet(0x0000, counter: 0, start: true, payload: [0] + ProgramTablesTests.association)
  private static let map = Self.packet(0x1000, counter: 0, start: true, payload: [0] + ProgramTablesTests.map)

  /// A packet of 188 bytes: its payload is filled up with ones in front (adaptation field), or cut.
  private static func packet(
    _ identifier: UInt16, counter: UInt8, start: Bool = false, flags: UInt8 = 0, payload: [UInt8]
  ) -> [UInt8] {
    let head: [UInt8] = [
      0x47, UInt8(identifier >> 8) | (start ? 0x40 : 0), UInt8(truncatingIfNeeded: identifier), 0x30 | counter & 0xF,
    ]
    let room = 188 - 4 - payload.count
    precondition(room >= 2)
    return head + [UInt8(room - 1), flags] + [UInt8](repeating: 0xFF, count: room - 2) + payload
  }

  private static func pes(_ timestamp: UInt64, _ payload: [UInt8], isBounded: Bool = false) -> [UInt8] {
    var header = PESHeader.packet(of: 0xE0, presentationTimestamp: timestamp, payloadLength: payload.count)
    if !isBounded { header[5] = 0 }
    return header + payload
  }

  private static func demux(_ packets: [[UInt8]], finishes: Bool = true) -> (
    events: [TransportStreamDemuxer.Event], demuxer: TransportStreamDemuxer
  ) {
    var demuxer = TransportStreamDemuxer()
    var events = demuxer.demux(ByteBuffer(bytes: packets.flatMap(\.self)))
    if finishes { events += demuxer.finish() }
    return (events, demuxer)
  }

  /// Timestamps of the elementary stream's packets.
  private static func timestamps(_ events: [TransportStreamDemuxer.Event]) -> [UInt64?] {
    events.compactMap { if case .packet(let packet, _, _) = $0 { packet.presentationTimestamp } else { nil } }
  }

  @Test func `a repeated packet is dropped, §2·4·3·3`() {
    let first = Self.packet(0x100, counter: 0, start: true, payload: Self.pes(1, [1, 2]))
    let second = Self.packet(0x100, counter: 1, payload: [3])
    let (events, demuxer) = Self.demux([Self.table, Self.map, first, first, second, second])
    let payloads = events.compactMap { event -> [UInt8]? in
      if case .packet(let packet, _, _) = event { Array(packet.payload.readableBytesView) } else { nil }
    }
    #expect(payloads == [[1, 2, 3]])
    #expect(demuxer.discontinuityCount == 0 && demuxer.damageCount == 0)
  }

  @Test func `continuity counters wrap after 15, and an announced discontinuity is not a loss`() {
    var packets = [Self.table, Self.map]
    for index: UInt64 in 0..<20 {
      packets.append(
        Self.packet(
          0x100, counter: UInt8(index & 0xF), start: true, payload: Self.pes(index, [1], isBounded: true)))
    }
    packets.append(
      Self.packet(0x100, counter: 9, start: true, flags: 0x80, payload: Self.pes(20, [1], isBounded: true)))
    let (events, demuxer) = Self.demux(packets)
    #expect(Self.timestamps(events) == (0...20).map { UInt64($0) })
    #expect(demuxer.discontinuityCount == 0)
  }

  @Test func `a packet with a length is complete with its last byte, one without with the next`() {
    let bounded = [
      Self.table, Self.map, Self.packet(0x100, counter: 0, start: true, payload: Self.pes(7, [1, 2], isBounded: true)),
    ]
    #expect(Self.timestamps(Self.demux(bounded, finishes: false).events) == [7])
    let open = [Self.table, Self.map, Self.packet(0x100, counter: 0, start: true, payload: Self.pes(7, [1, 2]))]
    #expect(Self.timestamps(Self.demux(open, finishes: false).events) == [])
    #expect(Self.timestamps(Self.demux(open).events) == [7])
    let next = Self.packet(0x100, counter: 1, start: true, payload: Self.pes(8, [3]))
    #expect(Self.timestamps(Self.demux(open + [next], finishes: false).events) == [7])
  }

  @Test func `packets before the tables, of other programs and null packets are ignored`() {
    let packets = [
      Self.packet(0x100, counter: 4, start: true, payload: Self.pes(1, [1], isBounded: true)), Self.table, Self.map,
      Self.packet(0x1FFF, counter: 0, payload: [0, 0, 0]),
      Self.packet(0x200, counter: 0, start: true, payload: Self.pes(2, [1], isBounded: true)),
      Self.packet(0x100, counter: 9, start: true, payload: Self.pes(3, [1], isBounded: true)),
    ]
    let (events, demuxer) = Self.demux(packets)
    #expect(Self.timestamps(events) == [3])
    #expect(events.first == .programMap(ProgramTablesTests.programMap))
    #expect(demuxer.damageCount == 0 && demuxer.discontinuityCount == 0)
  }

  @Test func `a repeated program map is reported once, and again with another version`() {
    let again = Self.packet(0x1000, counter: 1, start: true, payload: [0] + ProgramTablesTests.map)
    var changed = ProgramTablesTests.programMap
    changed.version = 1
    changed.streams = [.init(type: .h264, packetIdentifier: 0x300)]
    changed.clockPacketIdentifier = 0x300
    let other = Self.packet(0x1000, counter: 2, start: true, payload: [0] + changed.serialize())
    let packets = [
      Self.table, Self.map, again, other,
      Self.packet(0x300, counter: 0, start: true, payload: Self.pes(5, [1], isBounded: true)),
      Self.packet(0x100, counter: 0, start: true, payload: Self.pes(6, [1], isBounded: true)),
    ]
    let (events, _) = Self.demux(packets)
    #expect(events.prefix(2) == [.programMap(ProgramTablesTests.programMap), .programMap(changed)])
    #expect(Self.timestamps(events) == [5])
  }

  @Test func `a map may take several packets, and start behind a pointer`() {
    let streams = (0..<60).map { ProgramMap.Stream(type: .adtsAAC, packetIdentifier: 0x200 + UInt16($0)) }
    let map = ProgramMap(version: 3, clockPacketIdentifier: 0x200, streams: streams)
    let section = map.serialize()
    // Two bytes of an earlier section before it, §2.4.4.2.
    let packets = [
      Self.table,
      Self.packet(0x1000, counter: 0, start: true, payload: [2, 0xFF, 0xFF] + section.prefix(150)),
      Self.packet(0x1000, counter: 1, payload: Array(section.dropFirst(150).prefix(100))),
      Self.packet(0x1000, counter: 2, payload: Array(section.dropFirst(250))),
    ]
    let (events, demuxer) = Self.demux(packets)
    #expect(events == [.programMap(map)])
    #expect(demuxer.damageCount == 0)
  }

  @Test(arguments: [1, 2, 3, 20])
  func `the end of a section precedes the next one in its packet, which may be incomplete too`(split: Int) {
    var changed = ProgramTablesTests.programMap
    changed.version = 1
    let first = ProgramTablesTests.map
    let second = changed.serialize()
    let packets = [
      Self.table,
      Self.packet(0x1000, counter: 0, start: true, payload: [0] + first.prefix(split)),
      Self.packet(
        0x1000, counter: 1, start: true,
        payload: [UInt8(first.count - split)] + first.dropFirst(split) + second.prefix(split)),
      Self.packet(0x1000, counter: 2, payload: second.dropFirst(split) + [0xFF, 0xFF]),
      // Without a start, nothing can begin here.
      Self.packet(0x1000, counter: 3, payload: first),
    ]
    let (events, demuxer) = Self.demux(packets)
    #expect(events == [.programMap(ProgramTablesTests.programMap), .programMap(changed)])
    #expect(demuxer.damageCount == 0)
  }

  @Test func `a packet may hold several sections`() {
    var changed = ProgramTablesTests.programMap
    changed.version = 1
    var damaged = ProgramTablesTests.map
    damaged[damaged.count - 1] ^= 1
    let payload = [0] + ProgramTablesTests.map + damaged + changed.serialize() + [0xFF]
    let (events, demuxer) = Self.demux([Self.table, Self.packet(0x1000, counter: 0, start: true, payload: payload)])
    #expect(events == [.programMap(ProgramTablesTests.programMap), .programMap(changed)])
    #expect(demuxer.damageCount == 1)
  }

  @Test func `the network PID of a program association table is not a program`() {
    let content: [UInt8] = [0x00, 0x00, 0xE0, 0x10, 0x00, 0x07, 0xF0, 0x00]
    let section = ProgramSection.serialize(tableID: 0, extension: 1, version: 0, content: content)
    let packets = [Self.packet(0x0000, counter: 0, start: true, payload: [0] + section), Self.map]
    #expect(Self.demux(packets).events == [.programMap(ProgramTablesTests.programMap)])
    let none = ProgramSection.serialize(tableID: 0, extension: 1, version: 0, content: [0x00, 0x00, 0xE0, 0x10])
    let (events, demuxer) = Self.demux([Self.packet(0x0000, counter: 0, start: true, payload: [0] + none), Self.map])
    #expect(events == [] && demuxer.damageCount == 1)
  }

  @Test func `damaged tables and packets are counted, and later packets are demultiplexed`() {
    var map = Self.map
    map[187] ^= 1
    var error = Self.packet(0x100, counter: 0, start: true, payload: Self.pes(1, [1], isBounded: true))
    error[1] |= 0x80
    var stream = Self.packet(0x100, counter: 1, start: true, payload: Self.pes(2, [1], isBounded: true))
    stream[188 - 15 + 2] = 9  // packet_start_code_prefix
    let packets = [
      Self.table, map, Self.packet(0x1000, counter: 1, start: true, payload: [0] + ProgramTablesTests.map), error,
      [1, 2, 3], stream,
      Self.packet(0x100, counter: 2, start: true, payload: Self.pes(3, [1], isBounded: true)),
    ]
    let (events, demuxer) = Self.demux(packets)
    #expect(Self.timestamps(events) == [3])
    // The CRC, the error indicator, three bytes between packets, and the start code.
    #expect(demuxer.damageCount == 4)
  }

  @Test func `a packet beyond the maximum length is dropped, the next one is not`() {
    var demuxer = TransportStreamDemuxer(maximumPacketLength: 300)
    var packets = [Self.table, Self.map]
    packets.append(Self.packet(0x100, counter: 0, start: true, payload: Self.pes(1, [UInt8](repeating: 1, count: 150))))
    packets.append(Self.packet(0x100, counter: 1, payload: [UInt8](repeating: 1, count: 150)))
    packets.append(Self.packet(0x100, counter: 2, payload: [UInt8](repeating: 1, count: 150)))
    packets.append(Self.packet(0x100, counter: 3, start: true, payload: Self.pes(2, [1], isBounded: true)))
    let events = demuxer.demux(ByteBuffer(bytes: packets.flatMap(\.self))) + demuxer.finish()
    #expect(Self.timestamps(events) == [2])
    #expect(demuxer.damageCount == 1)
  }

  @Test func `only the clock of the map's PID is the program's`() {
    func clock(_ identifier: UInt16, _ value: UInt8) -> [UInt8] {
      let (high, low) = (UInt8(identifier >> 8), UInt8(truncatingIfNeeded: identifier))
      let head: [UInt8] = [0x47, high, low, 0x20, 183, 0x10, 0, 0, 0, value, 0x7E, 0]
      return head + [UInt8](repeating: 0xFF, count: 176)
    }
    let (events, _) = Self.demux([Self.table, clock(0x100, 1), Self.map, clock(0x101, 2), clock(0x100, 3)])
    #expect(events.dropFirst() == [.clock(3 * 2 * 300)])
  }

  @Test func `a keyframe is marked by the random access indicator of its first packet`() {
    let packets = [
      Self.table, Self.map,
      Self.packet(0x100, counter: 0, start: true, flags: 0x40, payload: Self.pes(1, [1])),
      Self.packet(0x100, counter: 1, payload: [2]),
      Self.packet(0x100, counter: 2, start: true, payload: Self.pes(2, [1])),
      Self.packet(0x100, counter: 3, flags: 0x40, payload: [2]),
    ]
    let marks = Self.demux(packets).events.compactMap { event -> Bool? in
      if case .packet(_, let isRandomAccess, 0x100) = event { isRandomAccess } else { nil }
    }
    #expect(marks == [true, false])
  }
}
