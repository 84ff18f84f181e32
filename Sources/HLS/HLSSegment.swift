internal import Media
internal import NIOCore

/// A media segment, RFC 8216 §3: complete, or still growing.
struct HLSSegment: Sendable {
  /// The media sequence number.
  var number: Int
  var start: MediaTime
  /// End of its last part.
  var end: MediaTime
  /// Unix time of the start.
  var unixTime: MediaDuration
  /// Whether a discontinuity precedes the segment.
  var isDiscontinuous: Bool
  /// Number of discontinuities since the start of the stream, its own included.
  var discontinuities: Int
  /// Number of its initialization segment.
  var initialization: Int
  var parts: [HLSPart] = []
  /// Bytes as MPEG-TS.
  var transportStream: ByteBuffer
  /// Bytes as fragmented MP4: all parts joined, once the segment is complete.
  var fragments = ByteBuffer()

  var duration: MediaDuration { self.end - self.start }

  /// Values that the segments of this number have in common in all renditions.
  var common: HLSSegmentStart {
    HLSSegmentStart(
      number: self.number, time: self.start, unixTime: self.unixTime, isDiscontinuous: self.isDiscontinuous,
      discontinuities: self.discontinuities)
  }

  /// Number of bytes in memory.
  var byteCount: Int {
    let parts = self.fragments.readableBytes == 0 ? self.parts.reduce(0) { $0 + $1.body.readableBytes } : 0
    return self.transportStream.readableBytes + self.fragments.readableBytes + parts
  }

  /// Joins the parts into one buffer; each part becomes a slice of the buffer.
  mutating func join() {
    var joined = ByteBuffer()
    joined.reserveCapacity(self.parts.reduce(0) { $0 + $1.body.readableBytes })
    for part in self.parts { joined.writeImmutableBuffer(part.body) }
    var rest = joined
    for index in self.parts.indices {
      // The slice exists: its bytes were just written.
      self.parts[index].body = rest.readSlice(length: self.parts[index].body.readableBytes) ?? ByteBuffer()
    }
    self.fragments = joined
  }
}

/// A partial segment, draft-pantos-hls-rfc8216bis §3: one fragment.
struct HLSPart: Sendable {
  var duration: MediaDuration
  /// Whether decoding can start in the part.
  var isIndependent: Bool
  /// The fragment; a slice of the segment once that is complete.
  var body: ByteBuffer
}
