package import Containers
internal import Media
package import NIOCore

/// Demultiplexes the first program of a transport stream, ISO/IEC 13818-1, for tests and inspection.
///
/// Accepts input in pieces of any length. Damaged packets are skipped and counted; no input is an error, and memory is
/// bounded by ``init(maximumPacketLength:)`` per stream.
package struct TransportStreamDemuxer: Sendable {
  /// Result of demultiplexing: a program map, a clock value or a PES packet.
  package enum Event: Hashable, Sendable {
    /// Program map, at first and after each change.
    case programMap(ProgramMap)
    /// Program clock in ticks of 27 MHz, below 2³³ × 300.
    case clock(UInt64)
    /// PES packet, whether decoding can start there, and the PID of its stream.
    case packet(PESPacket, isRandomAccess: Bool, packetIdentifier: UInt16)
  }

  /// Number of skipped pieces: runs of bytes outside packets, invalid packets, sections and PES packets.
  package private(set) var damageCount = 0
  /// Number of packets whose continuity counter does not follow, without those of an announced discontinuity.
  package private(set) var discontinuityCount = 0

  /// An incomplete PES packet or section.
  private struct Unit {
    var bytes = ByteBuffer()
    var isOpen = false
    var isRandomAccess = false
  }

  private let maximumPacketLength: Int
  private var rest = ByteBuffer()
  private var programMapIdentifier: UInt16?
  private var programMap: ProgramMap?
  private var counters: [UInt16: UInt8] = [:]
  private var units: [UInt16: Unit] = [:]

  /// Creates a demuxer at the start of a stream.
  ///
  /// - Parameter maximumPacketLength: Maximum length of a PES packet in bytes, 8 MiB by default; longer ones are skipped.
  package init(maximumPacketLength: Int = 8 << 20) {
    self.maximumPacketLength = maximumPacketLength
  }

  /// Consumes the next bytes of the stream and returns completed events in order.
  package mutating func demux(_ bytes: ByteBuffer) -> [Event] {
    self.rest.writeImmutableBuffer(bytes)
    var events: [Event] = []
    while self.rest.readableBytes >= TransportPacket.length {
      do throws(ParsingError) {
        let packet = try TransportPacket(parsing: self.rest)
        self.rest.moveReaderIndex(forwardBy: TransportPacket.length)
        self.handle(packet, &events)
      } catch {
        self.damageCount += 1
        self.skip(error)
      }
    }
    self.rest.discardReadBytes()
    return events
  }

  /// Ends the stream and returns the PES packets that the end completes.
  package mutating func finish() -> [Event] {
    var events: [Event] = []
    for identifier in self.units.keys.sorted() { self.complete(identifier, &events) }
    return events
  }

  /// Skips a damaged packet, or advances to the next sync byte.
  private mutating func skip(_ error: ParsingError) {
    guard error.field == "sync_byte" else {
      self.rest.moveReaderIndex(forwardBy: TransportPacket.length)
      return
    }
    let view = self.rest.readableBytesView
    let next = view.dropFirst().firstIndex(of: TransportPacket.syncByte) ?? view.endIndex
    self.rest.moveReaderIndex(to: next)
  }

  private mutating func handle(_ packet: TransportPacket, _ events: inout [Event]) {
    let identifier = packet.packetIdentifier
    let isStream = self.programMap?.streams.contains { $0.packetIdentifier == identifier } ?? false
    let isTable = identifier == PacketIdentifier.programAssociation || identifier == self.programMapIdentifier
    if let clock = packet.programClock, identifier == self.programMap?.clockPacketIdentifier {
      events.append(.clock(clock))
    }
    guard packet.hasPayload, isStream || isTable else { return }
    // A packet may be sent twice, §2.4.3.3.
    let last = self.counters.updateValue(packet.continuityCounter, forKey: identifier)
    if let last, !packet.isDiscontinuous, packet.continuityCounter != (last + 1) & 0b1111 {
      if packet.continuityCounter == last { return }
      self.discontinuityCount += 1
      self.units[identifier]?.isOpen = false
    }
    if isTable {
      self.handleTable(packet, &events)
    } else {
      self.handleStream(packet, &events)
    }
  }

  private mutating func handleStream(_ packet: TransportPacket, _ events: inout [Event]) {
    let identifier = packet.packetIdentifier
    if packet.startsUnit {
      self.complete(identifier, &events)
      self.units[identifier] = Unit(isOpen: true, isRandomAccess: packet.isRandomAccess)
    }
    guard var unit = self.units.removeValue(forKey: identifier) else { return }
    if unit.isOpen {
      unit.bytes.writeImmutableBuffer(packet.payload)
      if unit.bytes.readableBytes > self.maximumPacketLength {
        self.damageCount += 1
        unit = Unit()
      }
    }
    // A PES_packet_length other than 0 completes the packet without the next one.
    let length = unit.bytes.getInteger(at: unit.bytes.readerIndex + 4, as: UInt16.self) ?? 0
    let isComplete = length > 0 && unit.bytes.readableBytes >= 6 + Int(length)
    self.units[identifier] = unit
    if isComplete { self.complete(identifier, &events) }
  }

  /// Parses and emits the pending PES packet of a stream.
  private mutating func complete(_ identifier: UInt16, _ events: inout [Event]) {
    guard
      let unit = self.units.removeValue(forKey: identifier), unit.isOpen, unit.bytes.readableBytes > 0,
      identifier != self.programMapIdentifier, identifier != PacketIdentifier.programAssociation
    else { return }
    guard let packet = try? PESPacket(parsing: unit.bytes) else {
      self.damageCount += 1
      return
    }
    events.append(.packet(packet, isRandomAccess: unit.isRandomAccess, packetIdentifier: identifier))
  }

  /// Collects sections, §2.4.4.2: a packet that starts one holds the end of the section before it, then whole sections and
  /// the beginning of a further one.
  private mutating func handleTable(_ packet: TransportPacket, _ events: inout [Event]) {
    let identifier = packet.packetIdentifier
    var payload = packet.payload
    if packet.startsUnit {
      guard let pointer = payload.readInteger(as: UInt8.self), let end = payload.readSlice(length: Int(pointer)) else {
        self.damageCount += 1
        return
      }
      self.appendSectionBytes(end, of: identifier, &events)
      self.units[identifier] = Unit(isOpen: true)
    }
    self.appendSectionBytes(payload, of: identifier, &events)
  }

  /// Appends bytes to the incomplete section, and handles the sections that they complete.
  private mutating func appendSectionBytes(_ bytes: ByteBuffer, of identifier: UInt16, _ events: inout [Event]) {
    guard var unit = self.units.removeValue(forKey: identifier), unit.isOpen else { return }
    unit.bytes.writeImmutableBuffer(bytes)
    while let section = Self.readSection(from: &unit.bytes) {
      do throws(ParsingError) {
        try self.handleSection(section, of: identifier, &events)
      } catch {
        self.damageCount += 1
      }
    }
    guard unit.bytes.readableBytes > 0, !Self.startsStuffing(unit.bytes) else { return }
    self.units[identifier] = unit
  }

  /// Removes the first section from the beginning of `bytes`; nil when it is incomplete or stuffing follows.
  private static func readSection(from bytes: inout ByteBuffer) -> ByteBuffer? {
    guard !Self.startsStuffing(bytes), let length = bytes.getInteger(at: bytes.readerIndex + 1, as: UInt16.self) else {
      return nil
    }
    // table_id and section_length are three bytes.
    return bytes.readSlice(length: 3 + Int(length & 0x0FFF))
  }

  /// Whether no section begins here: stuffing bytes 0xFF fill the packet after the last one, §2.4.4.1.
  private static func startsStuffing(_ bytes: ByteBuffer) -> Bool {
    bytes.getInteger(at: bytes.readerIndex, as: UInt8.self) == 0xFF
  }

  private mutating func handleSection(
    _ section: ByteBuffer, of identifier: UInt16, _ events: inout [Event]
  ) throws(ParsingError) {
    guard identifier != PacketIdentifier.programAssociation else { return try self.handleAssociation(section) }
    let map = try ProgramMap(parsing: section)
    if map != self.programMap { events.append(.programMap(map)) }
    self.programMap = map
  }

  /// Selects the first program other than program_number 0, the network, §2.4.4.3.
  private mutating func handleAssociation(_ section: ByteBuffer) throws(ParsingError) {
    var body = try ProgramSection(parsing: section, tableID: ProgramSection.programAssociationID)
    while let entry = body.content.readInteger(as: UInt32.self) {
      if entry >> 16 != 0 {
        self.programMapIdentifier = UInt16(truncatingIfNeeded: entry) & 0x1FFF
        return
      }
    }
    throw ParsingError(.missing, field: "program_number")
  }
}
