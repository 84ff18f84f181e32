package import Media
internal import NIOCore

/// `mvhd`, `tkhd` or `mdhd` box, ISO/IEC 14496-12 §8.2.2, §8.3.2, §8.4.2; only the duration depends on the samples.
///
/// ```
/// version, flags; creation_time, modification_time (32 or 64 bits); 4 or 8 bytes; duration (32 or 64 bits); the rest
/// ```
package struct MovieHeader {
  private let type: FourCharacterCode
  private let flags: UInt32
  private let times: (UInt64, UInt64)
  private let identification: ByteBuffer
  private let rest: ByteBuffer

  /// `timescale` of `mvhd` and `mdhd`, `track_ID` of `tkhd`.
  var number: UInt32 {
    // Parsed with at least 4 bytes.
    self.identification.getInteger(at: self.identification.readerIndex) ?? 0
  }

  package init(parsing box: MP4Box) throws(ParsingError) {
    var (version, flags, content) = try box.full()
    let truncated = ParsingError(.truncated, field: box.type.description, offset: box.offset)
    func time() throws(ParsingError) -> UInt64 {
      let value =
        version == 1 ? content.readInteger(as: UInt64.self) : content.readInteger(as: UInt32.self).map(UInt64.init)
      guard let value else { throw truncated }
      return value
    }
    guard version <= 1 else { throw ParsingError(.unsupported, field: box.type.description, offset: box.offset) }
    self.type = box.type
    self.flags = flags
    self.times = (try time(), try time())
    guard let identification = content.readSlice(length: box.type == "tkhd" ? 8 : 4) else { throw truncated }
    self.identification = identification
    _ = try time()
    self.rest = content
  }

  /// Appends the box, version 0 if all times fit 32 bits.
  func serialize(duration: UInt64, into buffer: inout ByteBuffer) {
    let isShort = max(self.times.0, self.times.1, duration) < UInt64(UInt32.max)
    buffer.writeFullBox(self.type, version: isShort ? 0 : 1, flags: self.flags) {
      if isShort {
        $0.writeMultipleIntegers(UInt32(clamping: self.times.0), UInt32(clamping: self.times.1))
        $0.writeImmutableBuffer(self.identification)
        $0.writeInteger(UInt32(clamping: duration))
      } else {
        $0.writeMultipleIntegers(self.times.0, self.times.1)
        $0.writeImmutableBuffer(self.identification)
        $0.writeInteger(duration)
      }
      $0.writeImmutableBuffer(self.rest)
    }
  }
}
