internal import Media
internal import NIOCore

/// A message for a moment of the presentation: the `emsg` box, version 1, ISO/IEC 23009-1 §5.10.3.3, with an ID3 tag as
/// AOM's "Carriage of ID3 Timed Metadata in the Common Media Application Format" wants it.
///
/// | bits | field |
/// |------|-------|
/// | 32   | timescale, that of the pictures |
/// | 64   | presentation_time: the moment, from the clock's zero |
/// | 32   | event_duration: unknown |
/// | 32   | id, another one for each message |
/// |      | scheme_id_uri, value (none), each ended by a 0 |
/// |      | message_data: the tag |
struct EventMessage {
  var metadata: TimedMetadata
  var id: UInt32

  /// What says that the data is ID3.
  static let scheme = "https://aomedia.org/emsg/ID3"
  /// What says in `ftyp` that there may be such messages.
  static let brand: FourCharacterCode = "aid3"
  /// An event_duration that is not told.
  private static let unknownDuration = UInt32.max

  /// Appends the box; nothing when no tag can hold it, or for a moment before the clock's zero.
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
