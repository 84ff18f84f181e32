/// A rule of RFC 8216 or draft-pantos-hls-rfc8216bis that a sequence of media playlists can break.
package enum HLSRule: String, Hashable, Sendable, CaseIterable {
  /// The playlist can be read: known tags, each where it belongs, none twice (§4.1, §4.4).
  case syntax
  /// `EXT-X-VERSION` is that of the tags: 3 for fractions, 6 for `EXT-X-MAP`, 9 for `EXT-X-SKIP` (§8).
  case version
  /// No `EXTINF` rounds above `EXT-X-TARGETDURATION` (§4.4.3.1).
  case targetDuration
  /// Target durations never change (§6.2.1).
  case constantTargets
  /// Media sequence numbers only grow, and none is left out (§4.4.3.2, §6.2.2).
  case mediaSequence
  /// What a segment or part has once been said to be, it stays (§6.2.1).
  case constantSegments
  /// A segment is taken away only where three target durations stay (§6.2.2).
  case windowLength
  /// The discontinuity sequence number counts the discontinuities that were taken away (§4.4.3.3).
  case discontinuitySequence
  /// A part is no longer than the part target (§4.4.4.9).
  case partTarget
  /// A part lasts 85% of the part target unless it is independent or the last of its segment (§4.4.4.9).
  case shortPart
  /// The parts of a segment last as long together as the segment.
  case partSum
  /// Parts are listed near the end only: three target durations (§6.2.2), and never without `EXT-X-PART-INF`.
  case partsAtEnd
  /// Hold-backs and skip boundary are as long as they must be (§4.4.3.8).
  case serverControl
  /// A low-latency playlist that goes on has one hint, and the next part is the one that was hinted (§4.4.5.3).
  case preloadHint
  /// A delta update skips segments beyond the skip boundary only, and is otherwise equal to the full playlist (§6.2.5.1).
  case delta
  /// After `EXT-X-ENDLIST` nothing changes, and nothing is hinted (§4.4.3.4).
  case endList
  /// There is a date where the playlist starts and after discontinuities, and dates agree with durations (§6.2.1).
  case dateTime
  /// fMP4 has an `EXT-X-MAP`; another one comes with a discontinuity (§4.4.4.5).
  case map
  /// A new segment comes within one and a half target durations (§6.2.1).
  case freshness
  /// A segment's bytes are those of its parts, and a name always gives the same bytes.
  case bytes
}

/// A broken rule.
package struct HLSViolation: Hashable, Sendable, CustomStringConvertible {
  package var rule: HLSRule
  package var detail: String

  package var description: String { "\(self.rule.rawValue): \(self.detail)" }
}
