package import NIOCore

/// Finds the first place of a transport stream (ISO/IEC 13818-1) at which a packet identifier gets another type of stream, as where clips
/// were appended to each other, or at an event of a broadcaster. Pure.
///
/// Demuxers that keep the type of an identifier, as libavformat 5, take all that follows for damaged. Packets have 188 bytes, 192 with a
/// time before them (BDAV), or 204 with a check behind them (DVB-ASI).
package struct ProgramMapScanner: Sendable {
  /// Offset of the program association table before the map that has changed, where reading can begin again, behind the first byte; nil
  /// while none has.
  package private(set) var change: Int64?

  /// Bytes that are not examined yet, the first of which has ``offset``.
  private var buffer = ByteBuffer()
  private var offset: Int64
  private let start: Int64
  /// Distance of two packets; nil before the first ones.
  private var stride: Int?
  private var associationOffset: Int64?
  private var mapIdentifiers: Set<UInt16> = []
  private var types: [UInt16: ProgramStreamType] = [:]
  /// Sections of maps that have not been completed, by their identifiers.
  private var sections: [UInt16: ByteBuffer] = [:]

  private static let strides = [188, 192, 204]
  private static let packetLength = 188
  private static let syncByte: UInt8 = 0x47
  /// Number of packets by which their distance is found.
  private static let syncCount = 4
  /// Maximum number of programs.
  private static let maximumProgramCount = 256

  /// - Parameter offset: Offset of the first byte in its file.
  package init(offset: Int64 = 0) {
    (self.start, self.offset) = (offset, offset)
  }

  /// Examines the bytes that follow; ignored after a change.
  package mutating func append(_ bytes: ByteBuffer) {
    guard self.change == nil else { return }
    self.buffer.discardReadBytes()
    self.buffer.writeImmutableBuffer(bytes)
    while self.change == nil, self.advance() {}
  }

  /// Examines a packet, or searches one.
  ///
  /// - Returns: False when more bytes are needed.
  private mutating func advance() -> Bool {
    guard let stride else { return self.synchronize() }
    guard self.buffer.readableBytes >= stride else { return false }
    guard self.byte(0) == Self.syncByte else {
      self.stride = nil
      return true
    }
    if let packet = self.buffer.getSlice(at: self.buffer.readerIndex, length: Self.packetLength) {
      self.examine(packet)
    }
    self.skip(stride)
    return true
  }

  private func byte(_ index: Int) -> UInt8? { self.buffer.getInteger(at: self.buffer.readerIndex + index) }

  private mutating func skip(_ count: Int) {
    self.buffer.moveReaderIndex(forwardBy: count)
    self.offset += Int64(count)
  }

  /// Finds the distance of the packets, at the first byte that begins one.
  private mutating func synchronize() -> Bool {
    guard self.buffer.readableBytes > (Self.syncCount - 1) * 204 else { return false }
    self.stride = Self.strides.first { stride in
      (0..<Self.syncCount).allSatisfy { self.byte($0 * stride) == Self.syncByte }
    }
    if self.stride == nil { self.skip(1) }
    return true
  }

  /// §2.4.3.2: sync byte, indicators and PID, scrambling, adaptation field and continuity, and the payload.
  private mutating func examine(_ packet: ByteBuffer) {
    var packet = packet
    guard let head = packet.readInteger(as: UInt32.self) else { return }
    let identifier = UInt16(truncatingIfNeeded: head >> 8) & 0x1FFF
    let isMap = self.mapIdentifiers.contains(identifier)
    guard isMap || identifier == PacketIdentifier.programAssociation, head >> 23 & 1 == 0, head >> 4 & 1 == 1 else {
      return
    }
    if head >> 5 & 1 == 1 {
      guard let length = packet.readInteger(as: UInt8.self), packet.readSlice(length: Int(length)) != nil else {
        return
      }
    }
    if head >> 22 & 1 == 1 {
      guard let pointer = packet.readInteger(as: UInt8.self), packet.readSlice(length: Int(pointer)) != nil else {
        return
      }
      if !isMap { self.associationOffset = self.offset }
      self.sections[identifier] = packet
    } else {
      guard self.sections[identifier] != nil else { return }
      self.sections[identifier]?.writeImmutableBuffer(packet)
    }
    self.parseSection(of: identifier, isMap: isMap)
  }

  /// Parses the section of an identifier where it is complete.
  private mutating func parseSection(of identifier: UInt16, isMap: Bool) {
    guard let section = self.sections[identifier],
      let length = section.getInteger(at: section.readerIndex + 1, as: UInt16.self),
      section.readableBytes >= ProgramSection.headLength + Int(length & 0x0FFF)
    else { return }
    self.sections[identifier] = nil
    if isMap {
      if let map = try? ProgramMap(parsing: section) { self.adopt(map) }
    } else if let table = try? ProgramSection(parsing: section, tableID: ProgramSection.programAssociationID) {
      self.adopt(programs: table.content)
    }
  }

  /// §2.4.4.3: program_number, or 0 of the network, and the PID of each program.
  private mutating func adopt(programs content: ByteBuffer) {
    var content = content
    self.mapIdentifiers = []
    while let number = content.readInteger(as: UInt16.self), let identifier = content.readInteger(as: UInt16.self),
      self.mapIdentifiers.count < Self.maximumProgramCount
    {
      if number != 0 { self.mapIdentifiers.insert(identifier & 0x1FFF) }
    }
    self.sections = self.sections.filter { self.mapIdentifiers.contains($0.key) }
  }

  private mutating func adopt(_ map: ProgramMap) {
    let isChanged = map.streams.contains { stream in
      self.types[stream.packetIdentifier].map { $0 != stream.type } ?? false
    }
    if isChanged {
      // Of two maps behind the first table, the second one begins at itself: reading must get on.
      self.change = self.associationOffset.flatMap { $0 > self.start ? $0 : nil } ?? self.offset
    }
    for stream in map.streams { self.types[stream.packetIdentifier] = stream.type }
  }
}
