/// What is told of a packet beside its payload, as far as the muxer uses it, ISO/IEC 13818-1 §2.4.3.4.
struct AdaptationField {
  /// The program clock in ticks of 27 MHz, not wrapped.
  var programClock: Int64?
  /// Whether decoding can start here: `random_access_indicator`.
  var isRandomAccess = false

  /// Bytes, adaptation_field_length included; 0 when there is nothing to tell.
  var length: Int {
    if self.programClock != nil { return 8 }
    return self.isRandomAccess ? 2 : 0
  }

  /// Fills bytes of at least ``length``, adaptation_field_length first, with stuffing to their end.
  func write(into bytes: UnsafeMutableRawBufferPointer) {
    bytes[0] = UInt8(truncatingIfNeeded: bytes.count - 1)
    guard bytes.count > 1 else { return }
    bytes[1] = (self.isRandomAccess ? 0b0100_0000 : 0) | (self.programClock != nil ? 0b0001_0000 : 0)
    var position = 2
    if let clock = self.programClock {
      // Rounded down also below zero: 33 bits of 90 kHz, 6 reserved bits of ones, 9 bits of 27 MHz.
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
