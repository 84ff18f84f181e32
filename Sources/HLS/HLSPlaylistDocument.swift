package import Media

/// A playlist of another server, as far as a player needs it: RFC 8216 §4, and the low-latency tags of draft-pantos-hls-rfc8216bis.
///
/// Unknown tags are ignored, as §6.3.1 asks of players. Text that breaks a rule is parsed as far as possible, and the rule noted in
/// ``violations``.
package struct HLSPlaylistDocument: Hashable, Sendable {
  /// Entry of a multivariant playlist, `EXT-X-STREAM-INF`, §4.3.4.2.
  package struct Variant: Hashable, Sendable {
    /// Address, relative to the playlist's.
    package var address: String
    /// `CODECS`, such as `avc1.64001f,mp4a.40.2`; nil without it.
    package var codecs: String?
    /// `AUDIO`: group of the renditions that have its audio; nil where its own segments have it.
    package var audioGroup: String?
  }

  /// Rendition that variants share, `EXT-X-MEDIA`, §4.3.4.1.
  package struct Rendition: Hashable, Sendable {
    /// `TYPE`, such as `AUDIO`.
    package var type: String
    /// `GROUP-ID`.
    package var group: String
    /// `NAME`, for people.
    package var name: String
    /// Address of its media playlist, relative to the playlist's; nil where the segments of the variants have it.
    package var address: String?
    /// Whether players choose it by themselves: `DEFAULT`.
    package var isDefault: Bool
  }

  /// Key of encrypted segments, `EXT-X-KEY`, §4.3.2.4.
  package struct Key: Hashable, Sendable {
    /// `METHOD`, such as `AES-128`; empty without it.
    package var method: String
    /// Address, relative to the playlist's; nil without one.
    package var address: String?
    /// Whether the address has the key itself, as `KEYFORMAT` says, and not a license.
    package var isIdentity: Bool
  }

  /// Media segment, §4.3.2.
  package struct Segment: Hashable, Sendable {
    /// Address, relative to the playlist's.
    package var address: String
    /// `EXTINF` in seconds; 0 without it.
    package var duration: Double
    /// Whether it is a part of its resource, `EXT-X-BYTERANGE`.
    package var isByteRange: Bool
    /// Address of its initialization section, `EXT-X-MAP`; nil without one.
    package var map: String?
    /// Key with which it is encrypted; nil for one that is not.
    package var key: Key?
    /// Whether it is encrypted.
    package var isEncrypted: Bool { self.key != nil }
    /// Whether it is missing, `EXT-X-GAP`, draft-pantos-hls-rfc8216bis §4.4.4.7: players do not load it.
    package var isGap: Bool
  }

  /// Maximum length of the text in bytes.
  package static let maximumLength = 8 << 20
  /// Maximum number of noted violations.
  private static let maximumViolationCount = 8

  /// Entries of a multivariant playlist; empty in a media playlist.
  package private(set) var variants: [Variant] = []
  /// Renditions of a multivariant playlist beside its variants.
  package private(set) var renditions: [Rendition] = []
  /// Segments of a media playlist; empty in a multivariant playlist.
  package private(set) var segments: [Segment] = []
  /// `EXT-X-VERSION`; 1 without it.
  package private(set) var version = 1
  /// `EXT-X-TARGETDURATION` in seconds; nil without it.
  package private(set) var targetDuration: Int?
  /// `EXT-X-MEDIA-SEQUENCE`: number of the first segment.
  package private(set) var mediaSequence = 0
  /// Whether nothing is appended any more: `EXT-X-ENDLIST`.
  package private(set) var isEnded = false
  /// `PART-TARGET` in seconds; nil without low latency.
  package private(set) var partTarget: Double?
  /// `PART-HOLD-BACK` in seconds; nil without it.
  package private(set) var partHoldBack: Double?
  /// `HOLD-BACK` in seconds; nil without it.
  package private(set) var holdBack: Double?
  /// Rules that the text breaks, each with its section; at most eight.
  package private(set) var violations: [String] = []

  private var isFractional = false
  private var hasLowLatencyTags = false

  /// Parses a playlist.
  ///
  /// - Throws: `.tooLarge` beyond ``maximumLength``, `.invalid` where the text does not start with `#EXTM3U`, §4.3.1.1.
  package init(parsing text: String) throws(ParsingError) {
    guard text.utf8.count <= Self.maximumLength else { throw ParsingError(.tooLarge, field: "playlist") }
    var lines = text.split(whereSeparator: \.isNewline)[...]
    guard let first = lines.popFirst(), first == "#EXTM3U" || first.hasPrefix("#EXTM3U ") else {
      throw ParsingError(.invalid, field: "#EXTM3U")
    }
    var state = LineState()
    for line in lines { self.handle(line.drop { $0 == " " || $0 == "\t" }, &state) }
    self.checkWhole(state)
  }

  /// Tags that hold for the segments and variants behind them.
  private struct LineState {
    var duration: Double?
    var isByteRange = false
    var map: String?
    var key: Key?
    var isGap = false
    var variant: Variant?
    var hasMediaTags = false
  }

  private mutating func handle(_ line: Substring, _ state: inout LineState) {
    guard line.first == "#" else {
      if !line.isEmpty { self.handleAddress(String(line), &state) }
      return
    }
    let colon = line.firstIndex(of: ":") ?? line.endIndex
    let value = line[colon...].dropFirst()
    switch line[..<colon] {
    case "#EXT-X-VERSION": self.version = Int(value) ?? self.violate("EXT-X-VERSION is no number (§4.3.1.2)", 1)
    case "#EXT-X-TARGETDURATION":
      state.hasMediaTags = true
      self.targetDuration = Int(value).flatMap { (0...86_400).contains($0) ? $0 : nil }
      if self.targetDuration == nil { self.violate("EXT-X-TARGETDURATION is no number of seconds (§4.3.3.1)") }
    case "#EXT-X-MEDIA-SEQUENCE":
      state.hasMediaTags = true
      let number = Int(value).flatMap { $0 >= 0 ? $0 : nil }
      self.mediaSequence = number ?? self.violate("EXT-X-MEDIA-SEQUENCE is no number (§4.3.3.2)", 0)
    case "#EXT-X-ENDLIST": self.isEnded = true
    case "#EXTINF":
      state.hasMediaTags = true
      let text = value.prefix { $0 != "," }
      self.isFractional = self.isFractional || text.contains(".")
      state.duration = Self.seconds(text) ?? self.violate("EXTINF is no duration (§4.3.2.1)", 0)
    case "#EXT-X-BYTERANGE": state.isByteRange = true
    case "#EXT-X-GAP": state.isGap = true
    case "#EXT-X-MAP":
      state.map = HLSAttributeList(value)["URI"]
      if state.map == nil { self.violate("EXT-X-MAP without URI (§4.3.2.5)") }
    case "#EXT-X-KEY": state.key = self.key(HLSAttributeList(value))
    case "#EXT-X-STREAM-INF":
      let attributes = HLSAttributeList(value)
      if attributes["BANDWIDTH"] == nil { self.violate("EXT-X-STREAM-INF without BANDWIDTH (§4.3.4.2)") }
      state.variant = Variant(address: "", codecs: attributes["CODECS"], audioGroup: attributes["AUDIO"])
    case "#EXT-X-MEDIA": self.appendRendition(HLSAttributeList(value))
    case "#EXT-X-PART-INF":
      self.hasLowLatencyTags = true
      self.partTarget = HLSAttributeList(value)["PART-TARGET"].flatMap { Self.seconds($0[...]) }
    case "#EXT-X-SERVER-CONTROL":
      let attributes = HLSAttributeList(value)
      self.partHoldBack = attributes["PART-HOLD-BACK"].flatMap { Self.seconds($0[...]) }
      self.holdBack = attributes["HOLD-BACK"].flatMap { Self.seconds($0[...]) }
    default: break
    }
  }

  /// The key of the following segments; nil where they are not encrypted.
  private mutating func key(_ attributes: HLSAttributeList) -> Key? {
    let method = attributes["METHOD"] ?? self.violate("EXT-X-KEY without METHOD (§4.3.2.4)", "")
    guard method != "NONE" else { return nil }
    let address = attributes["URI"]
    if address == nil { self.violate("EXT-X-KEY without URI (§4.3.2.4)") }
    return Key(method: method, address: address, isIdentity: attributes["KEYFORMAT"] ?? "identity" == "identity")
  }

  private mutating func appendRendition(_ attributes: HLSAttributeList) {
    guard let type = attributes["TYPE"], let group = attributes["GROUP-ID"], let name = attributes["NAME"] else {
      self.violate("EXT-X-MEDIA without TYPE, GROUP-ID or NAME (§4.3.4.1)")
      return
    }
    self.renditions.append(
      Rendition(
        type: type, group: group, name: name, address: attributes["URI"], isDefault: attributes["DEFAULT"] == "YES"))
  }

  private mutating func handleAddress(_ address: String, _ state: inout LineState) {
    if var variant = state.variant {
      variant.address = address
      self.variants.append(variant)
      state.variant = nil
      return
    }
    if state.duration == nil { self.violate("a segment without EXTINF (§4.3.2.1)") }
    let duration = state.duration ?? 0
    if let target = self.targetDuration, duration.rounded() > Double(target) {
      self.violate("a segment of \(duration) s in a playlist with the target duration \(target) s (§4.3.3.1)")
    }
    self.segments.append(
      Segment(
        address: address, duration: duration, isByteRange: state.isByteRange, map: state.map,
        key: state.key, isGap: state.isGap))
    (state.duration, state.isByteRange, state.isGap) = (nil, false, false)
  }

  private mutating func checkWhole(_ state: LineState) {
    if !self.variants.isEmpty {
      if state.hasMediaTags || !self.segments.isEmpty {
        self.violate("tags of media and multivariant playlists in one playlist (§4.1)")
      }
      let groups = Set(self.renditions.filter { $0.type == "AUDIO" }.map(\.group))
      if self.variants.contains(where: { $0.audioGroup.map { !groups.contains($0) } ?? false }) {
        self.violate("AUDIO of a variant names a group without EXT-X-MEDIA (§4.3.4.2)")
      }
      return
    }
    if self.targetDuration == nil { self.violate("no EXT-X-TARGETDURATION (§4.3.3.1)") }
    if self.isFractional, self.version < 3 { self.violate("fractions in EXTINF need EXT-X-VERSION 3 (§7)") }
    if self.segments.contains(where: { $0.map != nil }), self.version < 5 {
      self.violate("EXT-X-MAP needs EXT-X-VERSION 6 (§7)")
    }
    if let partTarget, (self.partHoldBack ?? 0) < 2 * partTarget - 1e-6 {
      self.violate("PART-HOLD-BACK is less than two part targets (draft-pantos-hls-rfc8216bis §4.4.3.8)")
    }
    if self.hasLowLatencyTags, self.partTarget == nil {
      self.violate("EXT-X-PART-INF without PART-TARGET (draft-pantos-hls-rfc8216bis §4.4.3.7)")
    }
  }

  /// Records a violation, and returns the value that stands for the text.
  private mutating func violate<Value>(_ rule: String, _ value: Value) -> Value {
    self.violate(rule)
    return value
  }

  private mutating func violate(_ rule: String) {
    guard self.violations.count < Self.maximumViolationCount, !self.violations.contains(rule) else { return }
    self.violations.append(rule)
  }

  /// A decimal number from 0 to a day, §4.2.
  private static func seconds(_ text: Substring) -> Double? {
    let digits = text.utf8
    guard !digits.isEmpty, digits.count <= 20, digits.allSatisfy({ $0 == UInt8(ascii: ".") || 48...57 ~= $0 }) else {
      return nil
    }
    return Double(text).flatMap { (0...86_400).contains($0) ? $0 : nil }
  }
}

extension HLSPlaylistDocument {
  /// Segments without those that are missing.
  package var availableSegments: [Segment] { self.segments.filter { !$0.isGap } }

  /// The rendition that players choose for the audio of a variant; nil where the segments of the variant have it.
  package func audio(of variant: Variant) -> Rendition? {
    let group = self.renditions.filter { $0.type == "AUDIO" && $0.group == variant.audioGroup }
    return group.first(where: \.isDefault) ?? group.first
  }

  /// Duration of the available segments, in seconds.
  package var duration: Double { self.availableSegments.reduce(0) { $0 + $1.duration } }

  /// Media sequence number of the last segment; nil without segments.
  package var lastNumber: Int? {
    self.segments.isEmpty ? nil : self.mediaSequence.addingReportingOverflow(self.segments.count - 1).partialValue
  }

  /// Seconds behind the end at which a player starts: `PART-HOLD-BACK`, `HOLD-BACK`, or three target durations, §6.3.3.
  package var startLatency: Double {
    self.partHoldBack ?? self.holdBack ?? 3 * Double(self.targetDuration ?? 0)
  }

  /// Rules that a later version of this playlist breaks beside its own.
  package func violations(ofLater later: HLSPlaylistDocument) -> [String] {
    if later.mediaSequence < self.mediaSequence {
      return ["EXT-X-MEDIA-SEQUENCE goes back from \(self.mediaSequence) to \(later.mediaSequence) (§6.2.2)"]
    }
    var violations: [String] = []
    if later.targetDuration != self.targetDuration { violations.append("EXT-X-TARGETDURATION changes (§6.2.1)") }
    let removed = later.mediaSequence - self.mediaSequence
    let changed = zip(self.segments.dropFirst(removed), later.segments).contains { before, after in
      before.address != after.address
    }
    if changed { violations.append("the address of a segment changes (§6.2.1)") }
    if let last = self.lastNumber, let laterLast = later.lastNumber, laterLast < last {
      violations.append("segments at the end are removed (§6.2.2)")
    }
    return violations
  }
}

/// Attributes of a tag of another server, RFC 8216 §4.2: `NAME=value,NAME="text"`. Any text is a list.
struct HLSAttributeList {
  private var values: [Substring: String] = [:]

  /// Attributes of the value behind a tag's colon; of a repeated name the first one counts.
  init(_ text: Substring) {
    var rest = text
    while let equals = rest.firstIndex(of: "=") {
      let name = rest[..<equals].drop { $0 == "," || $0 == " " }
      rest = rest[equals...].dropFirst()
      let isQuoted = rest.first == "\""
      if isQuoted { rest = rest.dropFirst() }
      let end = rest.firstIndex(of: isQuoted ? "\"" : ",") ?? rest.endIndex
      if self.values[name] == nil { self.values[name] = String(rest[..<end]) }
      rest = rest[end...].drop { $0 == "\"" }
    }
  }

  /// The value of an attribute without quotation marks; nil without it.
  subscript(_ name: Substring) -> String? { self.values[name] }
}
