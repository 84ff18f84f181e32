internal import Media
internal import NIOCore

/// Event message box `emsg`, version 1, ISO/IEC 23009-1 §5.10.3.3, with an ID3 tag as in AOM's "Carriage of ID3 Timed
/// Metadata in the Common Media Application Format".
///
/// | bits | field |
/// |------|-------|
/// | 32   | timescale of the video track |
/// | 64   | presentation_time since the clock's zero |
/// | 32   | event_duration: unknown |
/// | 32   | id, unique per message |
/// |      | scheme_id_uri, value (empty), each null-terminated |
/// |      | message_data: ID3 tag |
struct EventMessage {
  var metadata: TimedMetadata
  var id: UInt32

  /// `scheme_id_uri` of ID3.
  static let scheme = "https://aomedia.org/emsg/ID3"
  /// Compatible brand of files with ID3 messages.
  static let brand: FourCharacterCode = "aid3"
  /// `event_duration` for an unknown duration.
  private static let unknownDuration = UInt32.max

  /// Appends the box; nothing when the tag would be too long, or for times before the clock's zero.
  func serialize(into buffer: inout ByteBuffer) {
    guard let tag = ID3Tag.bytes(self.metadata), self.metadata.time >= .zero else { return }
    buffer.writeFullBox("emsg", version: 1) {
      $0.writeInteger(UInt32(VideoTimeline.timescale))
      $0.writeInteger(UInt64(clamping: self.metadata.time.ticks(timescale: VideoTimeline.timescale)))
      $0.writeInteger(Self.unknownDuration)
      $0.writeInteger(self.id)
      $0.writeNullTerminatedString(Self.scheme)
      $0.writeNullTerminatedString("")
      $0.writeImmutableBuffer(tag)
    }
  }
}
