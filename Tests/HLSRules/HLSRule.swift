/// A rule of RFC 8216 or draft-pantos-hls-rfc8216bis that a sequence of media playlists can break.
package enum HLSRule: String, Hashable, Sendable, CaseIterable {
  /// The playlist is well-formed: known tags, each at a valid position, none repeated (§4.1, §4.4).
  case syntax
  /// `EXT-X-VERSION` matches the tags in use: 3 for fractions, 6 for `EXT-X-MAP`, 9 for `EXT-X-SKIP` (§8).
  case version
  /// No `EXTINF` rounds above `EXT-X-TARGETDURATION` (§4.4.3.1).
  case targetDuration
  /// Target durations never change (§6.2.1).
  case constantTargets
  /// Media sequence numbers never decrease, and none is skipped (§4.4.3.2, §6.2.2).
  case mediaSequence
  /// URI, duration and attributes of a segment or part never change (§6.2.1).
  case constantSegments
  /// A segment is removed only if at least three target durations remain (§6.2.2).
  case windowLength
  /// The discontinuity sequence number counts the removed discontinuities (§4.4.3.3).
  case discontinuitySequence
  /// A part is no longer than the part target (§4.4.4.9).
  case partTarget
  /// A part lasts at least 85% of the part target unless it is independent or the last of its segment (§4.4.4.9).
  case shortPart
  /// The durations of the parts of a segment add up to the duration of the segment.
  case partSum
  /// Parts are listed within three target durations of the end only (§6.2.2), and never without `EXT-X-PART-INF`.
  case partsAtEnd
  /// Hold-backs and skip boundary have at least their minimum durations (§4.4.3.8).
  case serverControl
  /// A low-latency playlist without `EXT-X-ENDLIST` has one preload hint, and the next part has the hinted URI
  /// (§4.4.5.3).
  case preloadHint
  /// A delta update skips segments beyond the skip boundary only, and is otherwise equal to the full playlist (§6.2.5.1).
  case delta
  /// A playlist with `EXT-X-ENDLIST` has no preload hint, and never changes (§4.4.3.4).
  case endList
  /// The first segment and each one after a discontinuity has a date, and dates match durations (§6.2.1).
  case dateTime
  /// fMP4 has an `EXT-X-MAP`, which changes only at a discontinuity (§4.4.4.5).
  case map
  /// A new segment is listed within one and a half target durations (§6.2.1).
  case freshness
  /// A segment is the concatenation of its parts, and the content of a URI never changes.
  case bytes
  /// `BANDWIDTH` is at least the peak segment bit rate of the variant, and `AVERAGE-BANDWIDTH`, which is no more than that
  /// (§4.4.6.2).
  case bandwidth
  /// `CODECS` names the formats of the variant's media, and no other (§4.4.6.2, RFC 6381).
  case codecs
  /// `RESOLUTION` is the size of the variant's frames (§4.4.6.2).
  case resolution
  /// `FRAME-RATE` is the maximum frame rate of the variant, rounded to three decimals (§4.4.6.2).
  case frameRate
  /// A playlist reports the position of every other rendition, and no position that this one has not, or has long left
  /// (§4.4.5.4, appendix B).
  case renditionReport
}

/// A violation of a rule, with the values found.
package struct HLSViolation: Hashable, Sendable, CustomStringConvertible {
  package var rule: HLSRule
  package var detail: String

  package var description: String { "\(self.rule.rawValue): \(self.detail)" }
}
