internal import Media
internal import NIOCore

/// A media segment, RFC 8216 §3: whole, or the one that grows.
struct HLSSegment: Sendable {
  /// The media sequence number.
  var number: Int
  var start: MediaTime
  /// Up to where its parts go.
  var end: MediaTime
  /// Unix time of its start.
  var unixTime: MediaDuration
  /// Whether a discontinuity lies before it.
  var isDiscontinuous: Bool
  /// The discontinuities before it since the stream's start, its own included.
  var discontinuities: Int
  /// The number of its initialization segment.
  var initialization: Int
  var parts: [HLSPart] = []
  /// MPEG-TS.
  var transportStream: ByteBuffer
  /// fMP4: all parts joined, once the segment is whole.
  var fragments = ByteBuffer()

  var duration: MediaDuration { self.end - self.start }

  /// Bytes in memory.
  var byteCount: Int {
    let parts = self.fragments.readableBytes == 0 ? self.parts.reduce(0) { $0 + $1.body.readableBytes } : 0
    return self.transportStream.readableBytes + self.fragments.readableBytes + parts
  }

  /// Joins the parts into one buffer; each is a slice of it from then on.
  mutating func join() {
    var joined = ByteBuffer()
    joined.reserveCapacity(self.parts.reduce(0) { $0 + $1.body.readableBytes })
    for part in self.parts { joined.writeImmutableBuffer(part.body) }
    var rest = joined
    for index in self.parts.indices {
      // A slice of the length that was just written is there.
      self.parts[index].body = rest.readSlice(length: self.parts[index].body.readableBytes) ?? ByteBuffer()
    }
    self.fragments = joined
  }
}

/// A partial segment, draft-pantos-hls-rfc8216bis §3: one fragment.
struct HLSPart: Sendable {
  var duration: MediaDuration
  /// Whether decoding can start in it.
  var isIndependent: Bool
  /// The fragment; a slice of the segment's bytes once that is whole.
  var body: ByteBuffer
}
