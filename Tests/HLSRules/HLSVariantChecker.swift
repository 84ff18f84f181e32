/// Checks a multivariant playlist against what its variants hold, and the rendition reports of media playlists, by
/// draft-pantos-hls-rfc8216bis §4.4.6.2 and §4.4.5.4.
///
/// ```swift
/// var checker = HLSVariantChecker()
/// checker.check(index, media: ["main/live.m3u8": media, "low/live.m3u8": other])
/// #expect(checker.violations == [])
/// ```
package struct HLSVariantChecker: Sendable {
  /// Contents of the files of a variant.
  package struct Media: Hashable, Sendable {
    /// Bytes and seconds of successive segments.
    package var segments: [Segment]
    /// Target duration of the playlist, in seconds.
    package var targetDuration: Double
    /// Formats of the media by RFC 6381, such as `avc1.64001f`.
    package var codecs: Set<String>
    package var width: Int
    package var height: Int
    /// Minimum interval between two frames, in seconds.
    package var frameInterval: Double

    /// Describes measured media.
    package init(
      segments: [Segment], targetDuration: Double, codecs: Set<String>, width: Int, height: Int, frameInterval: Double
    ) {
      self.segments = segments
      self.targetDuration = targetDuration
      self.codecs = codecs
      (self.width, self.height) = (width, height)
      self.frameInterval = frameInterval
    }

    /// The peak segment bit rate: the maximum bit rate of successive segments that last 0.5 to 1.5 target durations in all.
    package var peakBitrate: Double {
      var peak = 0.0
      for first in self.segments.indices {
        var (bytes, seconds) = (0, 0.0)
        for segment in self.segments[first...] {
          bytes += segment.bytes
          seconds += segment.seconds
          guard seconds <= 1.5 * self.targetDuration else { break }
          if seconds >= 0.5 * self.targetDuration { peak = max(peak, Double(bytes) * 8 / seconds) }
        }
      }
      return peak
    }
  }

  /// A segment with everything that its address returns.
  package struct Segment: Hashable, Sendable {
    package var bytes: Int
    package var seconds: Double

    /// A segment of a length in bytes and seconds.
    package init(bytes: Int, seconds: Double) {
      (self.bytes, self.seconds) = (bytes, seconds)
    }
  }

  /// Media sequence number of a segment, and index of a part in it.
  package struct Position: Hashable, Comparable, Sendable {
    package var segment: Int
    package var part: Int

    /// A position of a part.
    package init(segment: Int, part: Int) {
      (self.segment, self.part) = (segment, part)
    }

    package static func < (left: Position, right: Position) -> Bool {
      (left.segment, left.part) < (right.segment, right.part)
    }

    /// The last part of a playlist; the last segment where that has no parts.
    package init(lastOf playlist: MediaPlaylistText) {
      let last = playlist.segments.count - 1
      self.init(segment: playlist.number(last), part: max(0, (playlist.segments.last?.parts.count ?? 0) - 1))
    }
  }

  /// The violations in the order of their detection.
  package private(set) var violations: [HLSViolation] = []

  /// A checker that has found nothing yet.
  package init() {}

  /// Checks the attributes of each variant.
  ///
  /// - Parameters:
  ///   - text: The multivariant playlist.
  ///   - media: What was found in the files of each variant, by its address in the playlist.
  package mutating func check(_ text: String, media: [String: Media]) {
    let lines = text.split(separator: "\n")
    if lines.first != "#EXTM3U" || !text.hasSuffix("\n") { self.report(.syntax, "does not start with #EXTM3U") }
    var variants: Set<String> = []
    for (line, address) in zip(lines, lines.dropFirst()) where line.hasPrefix("#EXT-X-STREAM-INF:") {
      guard !address.hasPrefix("#"), variants.insert(String(address)).inserted, let media = media[String(address)]
      else {
        self.report(.syntax, "\(line) is followed by \(address)")
        continue
      }
      self.check(MediaPlaylistText.attributes(line.drop { $0 != ":" }.dropFirst()), of: String(address), media)
    }
    if variants != Set(media.keys) { self.report(.syntax, "the variants are \(variants.sorted())") }
    let tags = lines.count { $0.hasPrefix("#EXT-X-STREAM-INF:") }
    if tags != lines.count(where: { !$0.hasPrefix("#") }) { self.report(.syntax, "an address without a tag") }
  }

  private mutating func check(_ attributes: [String: String], of variant: String, _ media: Media) {
    let bandwidth = attributes["BANDWIDTH"].flatMap { Int($0) } ?? 0
    let average = attributes["AVERAGE-BANDWIDTH"].flatMap { Int($0) }
    // Rounded down at most by a bit per second.
    if Double(bandwidth) < media.peakBitrate - 1 {
      self.report(.bandwidth, "\(variant): \(bandwidth) is less than \(Int(media.peakBitrate))")
    }
    if let average, average > bandwidth { self.report(.bandwidth, "\(variant): \(average) on average") }
    let codecs = Set((attributes["CODECS"] ?? "").split(separator: ",").map(String.init))
    if codecs != media.codecs { self.report(.codecs, "\(variant): \(codecs.sorted()), not \(media.codecs.sorted())") }
    if attributes["RESOLUTION"] != "\(media.width)x\(media.height)" {
      self.report(.resolution, "\(variant): \(attributes["RESOLUTION"] ?? "none"), not \(media.width)x\(media.height)")
    }
    let text = attributes["FRAME-RATE"] ?? ""
    let rate = Double(text) ?? 0
    let hasThreeDecimals = text.split(separator: ".").last?.count == 3
    // Times are rounded to ticks: an interval is longer or shorter by one.
    let tolerance = rate * rate * 0.0015
    if !hasThreeDecimals || media.frameInterval <= 0 || abs(rate - 1 / media.frameInterval) > tolerance {
      self.report(.frameRate, "\(variant): \(text), an interval is \(media.frameInterval)")
    }
  }

  /// Checks the reports of one playlist on others.
  ///
  /// - Parameters:
  ///   - text: The playlist.
  ///   - others: For each other rendition, by its address relative to this playlist, the last positions of its own playlists
  ///     of a moment before and a moment after: a report is of a moment between.
  package mutating func check(reportsOf text: String, on others: [String: ClosedRange<Position>]) {
    var reported: Set<String> = []
    for line in text.split(separator: "\n") where line.hasPrefix("#EXT-X-RENDITION-REPORT:") {
      let attributes = MediaPlaylistText.attributes(line.drop { $0 != ":" }.dropFirst())
      guard let address = attributes["URI"], let range = others[address], reported.insert(address).inserted else {
        self.report(.renditionReport, "\(line) is of no other rendition")
        continue
      }
      guard let segment = attributes["LAST-MSN"].flatMap({ Int($0) }),
        let part = attributes["LAST-PART"].flatMap({ Int($0) })
      else {
        self.report(.renditionReport, "\(line) has no position")
        continue
      }
      if !range.contains(Position(segment: segment, part: part)) {
        self.report(.renditionReport, "\(line), it was at \(range)")
      }
    }
    for missing in Set(others.keys).subtracting(reported) { self.report(.renditionReport, "none of \(missing)") }
  }

  private mutating func report(_ rule: HLSRule, _ detail: String) {
    self.violations.append(HLSViolation(rule: rule, detail: detail))
  }
}
