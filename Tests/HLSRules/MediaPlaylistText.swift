/// A media playlist as a player reads it, line by line.
package struct MediaPlaylistText: Hashable, Sendable {
  /// A partial segment.
  package struct Part: Hashable, Sendable {
    package var uri: String
    package var duration: Double
    package var isIndependent: Bool
  }

  /// A segment, or at the end parts of one that is not whole.
  package struct Segment: Hashable, Sendable {
    /// Nil while it is not whole.
    package var uri: String?
    package var duration: Double = 0
    package var parts: [Part] = []
    package var hasDiscontinuity = false
    /// Seconds since the start of 1970.
    package var dateTime: Double?
    /// The address of the initialization section that holds for it.
    package var map: String?

    var isEmpty: Bool { self.uri == nil && self.parts.isEmpty }
  }

  package var version = 1
  package var targetDuration: Int?
  package var mediaSequence = 0
  package var discontinuitySequence = 0
  package var isIndependent = false
  package var isEnded = false
  package var partTarget: Double?
  package var serverControl: [String: String]?
  package var skippedSegments = 0
  package var hints: [String] = []
  package var renditionReports = 0
  /// The last may be unfinished.
  package var segments: [Segment] = []
  /// Unknown lines, and missing or repeated tags.
  package var problems: [String] = []

  /// The whole segments.
  package var whole: ArraySlice<Segment> {
    self.segments.last?.uri == nil ? self.segments.dropLast() : self.segments[...]
  }

  /// The number of the segment at an index of ``segments``.
  package func number(_ index: Int) -> Int { self.mediaSequence + self.skippedSegments + index }

  /// The length of everything, skipped segments left out.
  package var duration: Double {
    self.whole.reduce(0) { $0 + $1.duration } + self.unfinishedDuration
  }

  var unfinishedDuration: Double {
    guard let last = self.segments.last, last.uri == nil else { return 0 }
    return last.parts.reduce(0) { $0 + $1.duration }
  }

  /// Reads a playlist.
  package init(_ text: String) {
    var seen: Set<Substring> = []
    var segment = Segment()
    var hasLength = false
    if !text.utf8.starts(with: "#EXTM3U\n".utf8) { self.problems.append("does not start with #EXTM3U") }
    if text.utf8.last != UInt8(ascii: "\n") { self.problems.append("ends within a line") }
    for line in text.split(separator: "\n").dropFirst() {
      guard line.hasPrefix("#") else {
        segment.uri = String(line)
        if !hasLength { self.problems.append("\(line) has no EXTINF") }
        self.segments.append(segment)
        segment = Segment(map: segment.map)
        hasLength = false
        continue
      }
      let colon = line.utf8.firstIndex(of: UInt8(ascii: ":"))
      let tag = colon.map { line[..<$0] } ?? line
      let value = colon.map { line[line.index(after: $0)...] } ?? ""
      let isSingle = !Self.repeatedTags.contains(tag)
      if isSingle, !seen.insert(tag).inserted { self.problems.append("\(tag) appears twice") }
      let attributes = Self.tagsWithAttributes.contains(tag) ? Self.attributes(value) : [:]
      switch tag {
      case "#EXT-X-VERSION": self.version = Int(value) ?? self.fail(line, 0)
      case "#EXT-X-TARGETDURATION": self.targetDuration = Int(value) ?? self.fail(line, 0)
      case "#EXT-X-MEDIA-SEQUENCE": self.mediaSequence = Int(value) ?? self.fail(line, 0)
      case "#EXT-X-DISCONTINUITY-SEQUENCE": self.discontinuitySequence = Int(value) ?? self.fail(line, 0)
      case "#EXT-X-INDEPENDENT-SEGMENTS": self.isIndependent = true
      case "#EXT-X-ENDLIST": self.isEnded = true
      case "#EXT-X-PART-INF": self.partTarget = Self.seconds(attributes["PART-TARGET"]) ?? self.fail(line, 0)
      case "#EXT-X-SERVER-CONTROL": self.serverControl = attributes
      case "#EXT-X-SKIP":
        self.skippedSegments = attributes["SKIPPED-SEGMENTS"].flatMap { Int($0) } ?? self.fail(line, 0)
        if self.skippedSegments == 0 { self.problems.append("EXT-X-SKIP skips nothing") }
      case "#EXT-X-PRELOAD-HINT":
        self.hints.append(attributes["URI"] ?? self.fail(line, ""))
        if attributes["TYPE"] != "PART" { self.problems.append("\(line)") }
      case "#EXT-X-RENDITION-REPORT": self.renditionReports += 1
      case "#EXT-X-DISCONTINUITY": segment.hasDiscontinuity = true
      case "#EXT-X-PROGRAM-DATE-TIME": segment.dateTime = Self.dateTime(value) ?? self.fail(line, 0)
      case "#EXT-X-MAP": segment.map = attributes["URI"] ?? self.fail(line, "")
      case "#EXT-X-PART":
        segment.parts.append(
          Part(
            uri: attributes["URI"] ?? self.fail(line, ""),
            duration: Self.seconds(attributes["DURATION"]) ?? self.fail(line, 0),
            isIndependent: attributes["INDEPENDENT"] == "YES"))
      case "#EXTINF":
        hasLength = true
        let length = value.split(separator: ",", maxSplits: 1, omittingEmptySubsequences: false)
        if length.count != 2 { self.problems.append("no comma: \(line)") }
        segment.duration = Self.seconds(length.first.map(String.init)) ?? self.fail(line, 0)
      default: self.problems.append("unknown: \(line)")
      }
    }
    if !segment.isEmpty { self.segments.append(segment) }
    if self.targetDuration == nil { self.problems.append("no EXT-X-TARGETDURATION") }
  }

  private static let repeatedTags: Set<Substring> = [
    "#EXT-X-DISCONTINUITY", "#EXT-X-PROGRAM-DATE-TIME", "#EXT-X-MAP", "#EXT-X-PART", "#EXTINF", "#EXT-X-PRELOAD-HINT",
    "#EXT-X-RENDITION-REPORT",
  ]

  private static let tagsWithAttributes: Set<Substring> = [
    "#EXT-X-PART-INF", "#EXT-X-SERVER-CONTROL", "#EXT-X-SKIP", "#EXT-X-PRELOAD-HINT", "#EXT-X-MAP", "#EXT-X-PART",
  ]

  private mutating func fail<Value>(_ line: Substring, _ value: Value) -> Value {
    self.problems.append("not understood: \(line)")
    return value
  }

  /// An attribute list, RFC 8216 §4.2; quotes are taken off.
  static func attributes(_ text: Substring) -> [String: String] {
    var attributes: [String: String] = [:]
    var rest = text
    // By bytes: a debug build finds characters slowly.
    while let equals = rest.utf8.firstIndex(of: UInt8(ascii: "=")) {
      let name = String(rest[..<equals])
      rest = rest[rest.index(after: equals)...]
      let isQuoted = rest.utf8.first == UInt8(ascii: "\"")
      if isQuoted { rest = rest.dropFirst() }
      let end = rest.utf8.firstIndex(of: isQuoted ? UInt8(ascii: "\"") : UInt8(ascii: ",")) ?? rest.endIndex
      attributes[name] = String(rest[..<end])
      rest = rest[end...].drop { $0 == "\"" }.drop { $0 == "," }
    }
    return attributes
  }

  private static func seconds(_ text: String?) -> Double? {
    guard let text, !text.isEmpty, text.utf8.allSatisfy({ $0 == UInt8(ascii: ".") || 48...57 ~= $0 }) else {
      return nil
    }
    return Double(text)
  }

  /// "2026-11-21T07:41:03.123Z" as seconds since the start of 1970.
  private static func dateTime(_ text: Substring) -> Double? {
    let numbers = text.utf8.split { !(48...57 ~= $0 || $0 == UInt8(ascii: ".")) }.map { Double(Substring($0)) }
    guard text.utf8.count == 24, text.hasSuffix("Z"), numbers.count == 6 else { return nil }
    let values = numbers.compactMap { $0 }
    guard values.count == 6 else { return nil }
    // The days since 1970: whole years, the leap days in them, and the months of this year.
    let year = Int(values[0])
    let month = Int(values[1])
    guard (1970...9999).contains(year), (1...12).contains(month) else { return nil }
    let isLeap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0)
    let lengths = [31, isLeap ? 29 : 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31]
    let leapDays = { (before: Int) in (before - 1) / 4 - (before - 1) / 100 + (before - 1) / 400 }
    let days = (year - 1970) * 365 + leapDays(year) - leapDays(1970) + lengths.prefix(month - 1).reduce(0, +)
    return Double(days) * 86_400 + (values[2] - 1) * 86_400 + values[3] * 3600 + values[4] * 60 + values[5]
  }
}
