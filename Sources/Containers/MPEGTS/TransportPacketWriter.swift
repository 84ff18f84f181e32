internal import NIOCore

/// Splits a payload into transport packets while copying it, ISO/IEC 13818-1 §2.4.3.2.
///
/// | bits    | field |
/// |---------|-------|
/// | 8       | sync_byte, 0x47 |
/// | 1, 1, 1 | transport_error_indicator, payload_unit_start_indicator, transport_priority |
/// | 13      | PID |
/// | 2, 2    | transport_scrambling_control, adaptation_field_control |
/// | 4       | continuity_counter |
///
/// The length of the payload is known in advance, so that stuffing in the adaptation field of the last packet makes the
/// payload end with the packet.
struct TransportPacketWriter {
  static let packetLength = 188
  static let syncByte: UInt8 = 0x47
  /// Bytes of a packet after its header.
  static let maximumPayload = 184

  private let target: UnsafeMutableRawBufferPointer
  private let packetIdentifier: UInt16
  private var continuityCounter: UInt8
  private let adaptation: AdaptationField
  /// Index of the next byte.
  private var position = 0
  /// Free payload bytes of the current packet.
  private var room = 0
  /// Payload bytes not yet written.
  private var remaining: Int

  /// Writes a payload of a known length.
  ///
  /// - Parameters:
  ///   - adaptation: Adaptation field of the first packet.
  ///   - counter: Continuity counter of the first packet; on return, of the next packet.
  ///   - length: Payload length in bytes, at least 1.
  ///   - write: Appends exactly `length` bytes.
  static func write(
    _ packetIdentifier: UInt16, _ adaptation: AdaptationField, counter: inout UInt8, length: Int,
    into buffer: inout ByteBuffer, _ write: (inout TransportPacketWriter) -> Void
  ) {
    let firstRoom = Self.maximumPayload - adaptation.length
    let more = (max(0, length - firstRoom) + Self.maximumPayload - 1) / Self.maximumPayload
    let total = (1 + more) * Self.packetLength
    buffer.writeWithUnsafeMutableBytes(minimumWritableBytes: total) { target in
      var writer = TransportPacketWriter(
        target: target, packetIdentifier: packetIdentifier, continuityCounter: counter, adaptation: adaptation,
        remaining: length)
      write(&writer)
      assert(writer.position == total && writer.remaining == 0, "the closure writes the announced length")
      counter = writer.continuityCounter
      return writer.position
    }
  }

  /// Writes a packet with a clock value and no payload, which does not increment the continuity counter, §2.4.3.3.
  static func writeClock(
    _ adaptation: AdaptationField, _ packetIdentifier: UInt16, counter: UInt8, into buffer: inout ByteBuffer
  ) {
    buffer.writeWithUnsafeMutableBytes(minimumWritableBytes: Self.packetLength) { target in
      target[0] = Self.syncByte
      target[1] = UInt8(truncatingIfNeeded: packetIdentifier >> 8)
      target[2] = UInt8(truncatingIfNeeded: packetIdentifier)
      target[3] = 0b10_0000 | (counter &- 1) & 0b1111
      adaptation.write(into: UnsafeMutableRawBufferPointer(rebasing: target[4..<Self.packetLength]))
      return Self.packetLength
    }
  }

  private init(
    target: UnsafeMutableRawBufferPointer, packetIdentifier: UInt16, continuityCounter: UInt8,
    adaptation: AdaptationField, remaining: Int
  ) {
    self.target = target
    self.packetIdentifier = packetIdentifier
    self.continuityCounter = continuityCounter
    self.adaptation = adaptation
    self.remaining = remaining
  }

  /// Copies payload bytes, starting packets as needed.
  mutating func append(_ bytes: UnsafeRawBufferPointer) {
    var start = 0
    while start < bytes.count {
      if self.room == 0 { self.startPacket() }
      let count = min(self.room, bytes.count - start)
      UnsafeMutableRawBufferPointer(rebasing: self.target[self.position..<self.position + count])
        .copyMemory(from: UnsafeRawBufferPointer(rebasing: bytes[start..<start + count]))
      start += count
      self.position += count
      self.room -= count
      self.remaining -= count
    }
  }

  /// Copies the readable bytes of a buffer.
  mutating func append(_ buffer: ByteBuffer) {
    buffer.withUnsafeReadableBytes { self.append($0) }
  }

  private mutating func startPacket() {
    let isFirst = self.position == 0
    let adaptation = isFirst ? self.adaptation : AdaptationField()
    let room = Self.maximumPayload - adaptation.length
    let adaptationLength = adaptation.length + max(0, room - self.remaining)
    self.target[self.position] = Self.syncByte
    self.target[self.position + 1] =
      (isFirst ? 0b0100_0000 : 0) | UInt8(truncatingIfNeeded: self.packetIdentifier >> 8)
    self.target[self.position + 2] = UInt8(truncatingIfNeeded: self.packetIdentifier)
    self.target[self.position + 3] = (adaptationLength > 0 ? 0b11_0000 : 0b01_0000) | self.continuityCounter
    self.continuityCounter = (self.continuityCounter + 1) & 0b1111
    self.position += 4
    if adaptationLength > 0 {
      adaptation.write(
        into: UnsafeMutableRawBufferPointer(
          rebasing: self.target[self.position..<self.position + adaptationLength]))
      self.position += adaptationLength
    }
    self.room = Self.maximumPayload - adaptationLength
  }
}

/// Adaptation field of a packet, as far as the muxer uses it, ISO/IEC 13818-1 §2.4.3.4.
struct AdaptationField {
  /// Program clock in ticks of 27 MHz, before wrapping.
  var programClock: Int64?
  /// `random_access_indicator`: decoding can start here.
  var isRandomAccess = false
  /// `discontinuity_indicator`: neither clock nor continuity counter continue those of the packet before.
  var isDiscontinuous = false

  /// Length in bytes, adaptation_field_length included; 0 for an empty field, which is omitted.
  var length: Int {
    if self.programClock != nil { return 8 }
    return self.isRandomAccess || self.isDiscontinuous ? 2 : 0
  }

  /// Writes the field and stuffing into at least ``length`` bytes.
  func write(into bytes: UnsafeMutableRawBufferPointer) {
    bytes[0] = UInt8(truncatingIfNeeded: bytes.count - 1)
    guard bytes.count > 1 else { return }
    bytes[1] =
      (self.isDiscontinuous ? 0b1000_0000 : 0) | (self.isRandomAccess ? 0b0100_0000 : 0)
      | (self.programClock != nil ? 0b0001_0000 : 0)
    var position = 2
    if let clock = self.programClock {
      // Rounded down below zero as well: 33 bits of 90 kHz, 6 reserved ones, 9 bits of 27 MHz.
      let remainder = (clock % 300 + 300) % 300
      let base = UInt64(bitPattern: (clock - remainder) / 300) & ProgramClock.timestampMask
      let field = base << 15 | 0b11_1111 << 9 | UInt64(remainder)
      for byte in 0..<6 {
        bytes[position] = UInt8(truncatingIfNeeded: field >> UInt64(40 - 8 * byte))
        position += 1
      }
    }
    UnsafeMutableRawBufferPointer(rebasing: bytes[position...]).initializeMemory(as: UInt8.self, repeating: 0xFF)
  }
}
