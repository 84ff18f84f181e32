/// Position of another rendition of the stream, for `EXT-X-RENDITION-REPORT`, draft-pantos-hls-rfc8216bis §4.4.5.4.
struct HLSRenditionReport: Hashable, Sendable {
  /// Address of its low-latency playlist, relative to the playlist with the report.
  var uri: String
  /// Number of its last segment, which may be growing.
  var number: Int
  /// Index of the last part of that segment.
  var part: Int
}
