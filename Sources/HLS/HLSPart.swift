internal import Media
internal import NIOCore

/// A partial segment, draft-pantos-hls-rfc8216bis §3: one fragment.
struct HLSPart: Sendable {
  var duration: MediaDuration
  /// Whether decoding can start in it.
  var isIndependent: Bool
  /// The fragment; a slice of the segment's bytes once that is whole.
  var body: ByteBuffer
}
