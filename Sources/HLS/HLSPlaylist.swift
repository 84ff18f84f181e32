internal import Bitstreams
internal import Media

/// Writes media playlists, RFC 8216 §4 and draft-pantos-hls-rfc8216bis §4.
struct HLSPlaylist {
  let token: String
  let timing: HLSTiming
  let window: HLSWindow
  let isEnded: Bool
  /// Whether each segment starts with a keyframe.
  var hasIndependentSegments = true
  /// `PART-HOLD-BACK`: three times the maximum part target of the renditions that a player may choose among (§4.4.3.8).
  let partHoldBack: MediaDuration
  /// Positions of other renditions, in the low-latency playlist.
  var reports: [HLSRenditionReport] = []

  /// The MPEG-TS playlist: complete segments.
  func transportStream() -> String {
    let segments = self.window.transportStreamSegments
    var text = self.head(version: 3)
    self.writeNumbers(of: segments.first, to: &text)
    for segment in segments {
      Self.writeTags(of: segment, to: &text)
      Self.writeLength(of: segment, to: &text)
      text += "\(self.token)-\(segment.number).ts\n"
    }
    if self.isEnded { text += "#EXT-X-ENDLIST\n" }
    return text
  }

  /// The low-latency playlist; nil for a delta update that would skip nothing.
  func lowLatency(isDelta: Bool) -> String? {
    let segments = self.window.segments
    let growing = self.window.growing
    let distances = self.distancesFromEnd()
    let skipped = isDelta ? distances.prefix { $0 > self.timing.skipBoundary }.count : 0
    if isDelta, skipped == 0 { return nil }

    // §8: version 6 for EXT-X-MAP, 9 for EXT-X-SKIP; always 9, since the version must not change between reloads.
    var text = self.head(version: 9)
    text += "#EXT-X-SERVER-CONTROL:CAN-BLOCK-RELOAD=YES,CAN-SKIP-UNTIL=\(Self.seconds(self.timing.skipBoundary))"
    text += ",HOLD-BACK=\(Self.seconds(self.timing.holdBack))"
    text += ",PART-HOLD-BACK=\(Self.seconds(self.partHoldBack))\n"
    text += "#EXT-X-PART-INF:PART-TARGET=\(Self.seconds(self.timing.partTarget))\n"
    self.writeNumbers(of: segments.first ?? growing, to: &text)
    if skipped > 0 { text += "#EXT-X-SKIP:SKIPPED-SEGMENTS=\(skipped)\n" }
    var initialization = skipped > 0 ? segments[skipped - 1].initialization : nil
    for (segment, distance) in zip(segments, distances).dropFirst(skipped) {
      Self.writeTags(of: segment, to: &text)
      self.writeMap(of: segment, after: &initialization, to: &text)
      // Parts are listed near the live edge only, §6.2.2.
      if distance < self.timing.target * 3 { self.writeParts(of: segment, to: &text) }
      Self.writeLength(of: segment, to: &text)
      text += "\(self.token)-\(segment.number).m4s\n"
    }
    if let growing, !growing.parts.isEmpty {
      Self.writeTags(of: growing, to: &text)
      self.writeMap(of: growing, after: &initialization, to: &text)
      self.writeParts(of: growing, to: &text)
    }
    if self.isEnded {
      text += "#EXT-X-ENDLIST\n"
    } else {
      let number = growing?.number ?? self.window.nextNumber
      text += "#EXT-X-PRELOAD-HINT:TYPE=PART,URI=\"\(self.token)-\(number).\(growing?.parts.count ?? 0).m4s\"\n"
      for report in self.reports {
        text += "#EXT-X-RENDITION-REPORT:URI=\"\(report.uri)\",LAST-MSN=\(report.number),LAST-PART=\(report.part)\n"
      }
    }
    return text
  }

  private func head(version: Int) -> String {
    "#EXTM3U\n#EXT-X-VERSION:\(version)\n#EXT-X-TARGETDURATION:\(self.timing.targetSeconds)\n"
  }

  private func writeNumbers(of first: HLSSegment?, to text: inout String) {
    text += "#EXT-X-MEDIA-SEQUENCE:\(first?.number ?? self.window.nextNumber)\n"
    if let first {
      let before = first.discontinuities - (first.isDiscontinuous ? 1 : 0)
      text += "#EXT-X-DISCONTINUITY-SEQUENCE:\(before)\n"
    }
    if self.hasIndependentSegments { text += "#EXT-X-INDEPENDENT-SEGMENTS\n" }
  }

  private static func writeTags(of segment: HLSSegment, to text: inout String) {
    if segment.isDiscontinuous { text += "#EXT-X-DISCONTINUITY\n" }
    text += "#EXT-X-PROGRAM-DATE-TIME:\(CalendarTime(unixTime: segment.unixTime).rfc3339)\n"
  }

  private func writeMap(of segment: HLSSegment, after last: inout Int?, to text: inout String) {
    guard segment.initialization != last else { return }
    last = segment.initialization
    text += "#EXT-X-MAP:URI=\"\(self.token)-init\(segment.initialization).mp4\"\n"
  }

  private func writeParts(of segment: HLSSegment, to text: inout String) {
    for (index, part) in segment.parts.enumerated() {
      text += "#EXT-X-PART:DURATION=\(Self.seconds(part.duration)),URI=\"\(self.token)-\(segment.number).\(index).m4s\""
      text += part.isIndependent ? ",INDEPENDENT=YES\n" : "\n"
    }
  }

  private static func writeLength(of segment: HLSSegment, to text: inout String) {
    text += "#EXTINF:\(Self.seconds(segment.duration)),\n"
  }

  /// Distance of the end of each complete segment from the end of the playlist, without gaps at discontinuities.
  private func distancesFromEnd() -> [MediaDuration] {
    var distance = self.window.growing?.duration ?? .zero
    var distances: [MediaDuration] = []
    for segment in self.window.segments.reversed() {
      distances.append(distance)
      distance = distance + segment.duration
    }
    return distances.reversed()
  }

  /// Seconds with one to six decimals, without trailing zeros: "1.0", "0.2", "0.033333".
  static func seconds(_ duration: MediaDuration) -> String {
    let microseconds = max(0, duration.nanoseconds / 1000)
    let (whole, rest) = microseconds.quotientAndRemainder(dividingBy: 1_000_000)
    var digits = String(rest)
    digits = String(repeating: "0", count: 6 - digits.count) + digits
    while digits.count > 1, digits.last == "0" { digits.removeLast() }
    return "\(whole).\(digits)"
  }
}
