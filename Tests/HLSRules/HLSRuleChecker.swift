/// Checks successive playlists of one URL and the files of one stream, and reports violated rules.
///
/// ```swift
/// var checker = HLSRuleChecker()
/// checker.check(text, at: 1.5)
/// checker.checkFile("a-17.m4s", [0x00, …])
/// #expect(checker.violations == [])
/// ```
package struct HLSRuleChecker: Sendable {
  /// The violations in the order of their detection.
  package private(set) var violations: [HLSViolation] = []
  /// Number of checked playlists.
  package private(set) var playlistCount = 0
  /// Number of checked delta updates.
  package private(set) var deltaCount = 0
  /// Seconds added to the maximum time until a new segment is listed; nil to skip this check.
  package var tolerance: Double?

  private var last: MediaPlaylistText?
  private var lastTime = 0.0
  /// Time at which the last new segment was seen.
  private var lastNews: (number: Int, time: Double)?
  private var known: [Int: MediaPlaylistText.Segment] = [:]
  private var files: [String: [UInt8]] = [:]

  /// Creates a checker for a playlist URL.
  ///
  /// - Parameter tolerance: Seconds added to the maximum time until a new segment is listed; nil to skip this check.
  package init(tolerance: Double? = nil) {
    self.tolerance = tolerance
  }

  /// Checks the next playlist.
  ///
  /// - Parameters:
  ///   - text: The full playlist, or a delta update.
  ///   - time: Arrival in seconds since an arbitrary start.
  package mutating func check(_ text: String, at time: Double) {
    var playlist = MediaPlaylistText(text)
    self.playlistCount += 1
    for problem in playlist.problems { self.report(.syntax, problem) }
    self.checkVersion(playlist, text)
    self.checkServerControl(playlist)
    if playlist.skippedSegments > 0 {
      self.deltaCount += 1
      self.complete(&playlist)
    }
    self.checkSegments(playlist)
    self.checkParts(playlist)
    if let last { self.checkChange(from: last, to: playlist) }
    self.checkHints(playlist)
    self.checkFreshness(playlist, at: time)
    for (index, segment) in playlist.segments.enumerated() where segment.uri != nil {
      var segment = segment
      // Parts that are no longer listed are remembered.
      if segment.parts.isEmpty { segment.parts = self.known[playlist.number(index)]?.parts ?? [] }
      self.known[playlist.number(index)] = segment
    }
    (self.last, self.lastTime) = (playlist, time)
  }

  /// Checks that a delta update and a full playlist of the same moment say the same.
  package mutating func check(delta: String, equals full: String) {
    var completed = MediaPlaylistText(delta)
    let full = MediaPlaylistText(full)
    guard completed.skippedSegments > 0 else { return self.report(.delta, "skips nothing") }
    guard completed.skippedSegments <= full.segments.count else { return self.report(.delta, "skips too much") }
    completed.segments.insert(contentsOf: full.segments.prefix(completed.skippedSegments), at: 0)
    completed.skippedSegments = 0
    Self.carryMaps(&completed)
    if completed != full { self.report(.delta, "differs from the full playlist") }
  }

  /// Checks the bytes of a segment or part that was fetched.
  package mutating func checkFile(_ uri: String, _ bytes: [UInt8]) {
    if let before = self.files[uri], before != bytes { self.report(.bytes, "\(uri) has changed") }
    if bytes.isEmpty { self.report(.bytes, "\(uri) is empty") }
    self.files[uri] = bytes
    for (number, segment) in self.known {
      guard let whole = segment.uri.flatMap({ self.files[$0] }), !segment.parts.isEmpty else { continue }
      guard segment.uri == uri || segment.parts.contains(where: { $0.uri == uri }) else { continue }
      let parts = segment.parts.map { self.files[$0.uri] }
      guard !parts.contains(nil) else { continue }
      if parts.flatMap({ $0 ?? [] }) != whole { self.report(.bytes, "segment \(number) is not its parts") }
    }
  }

  mutating func report(_ rule: HLSRule, _ detail: String) {
    self.violations.append(HLSViolation(rule: rule, detail: detail))
  }
}

extension HLSRuleChecker {
  private static func carryMaps(_ playlist: inout MediaPlaylistText) {
    for index in playlist.segments.indices.dropFirst() where playlist.segments[index].map == nil {
      playlist.segments[index].map = playlist.segments[index - 1].map
    }
  }

  /// Restores skipped segments from earlier playlists.
  private mutating func complete(_ playlist: inout MediaPlaylistText) {
    let skipped = playlist.skippedSegments
    let boundary = playlist.serverControl?["CAN-SKIP-UNTIL"].flatMap { Double($0) } ?? .infinity
    if playlist.duration < boundary { self.report(.delta, "skips segments within the skip boundary") }
    let numbers = playlist.mediaSequence..<playlist.mediaSequence + skipped
    let segments = numbers.compactMap { self.known[$0] }
    if segments.count < skipped { self.report(.delta, "skips segments that were never listed") }
    playlist.skippedSegments = skipped - segments.count
    playlist.segments.insert(contentsOf: segments.map { Self.withoutParts($0) }, at: 0)
    Self.carryMaps(&playlist)
  }

  private static func withoutParts(_ segment: MediaPlaylistText.Segment) -> MediaPlaylistText.Segment {
    var segment = segment
    segment.parts = []
    return segment
  }

  private mutating func checkVersion(_ playlist: MediaPlaylistText, _ text: String) {
    var needed = text.contains("#EXTINF:") && text.contains(".") ? 3 : 1
    if text.contains("#EXT-X-MAP") { needed = 6 }
    if playlist.skippedSegments > 0 { needed = 9 }
    if playlist.version < needed { self.report(.version, "\(playlist.version) is less than \(needed)") }
  }

  private mutating func checkServerControl(_ playlist: MediaPlaylistText) {
    let control = playlist.serverControl ?? [:]
    let target = Double(playlist.targetDuration ?? 0)
    func value(_ name: String) -> Double? { control[name].flatMap { Double($0) } }
    if let skip = value("CAN-SKIP-UNTIL"), skip < 6 * target { self.report(.serverControl, "CAN-SKIP-UNTIL \(skip)") }
    if let hold = value("HOLD-BACK"), hold < 3 * target { self.report(.serverControl, "HOLD-BACK \(hold)") }
    if let partTarget = playlist.partTarget {
      let hold = value("PART-HOLD-BACK") ?? 0
      if hold < 3 * partTarget - 1e-9 { self.report(.serverControl, "PART-HOLD-BACK \(hold)") }
      if control["CAN-BLOCK-RELOAD"] != "YES" { self.report(.serverControl, "no CAN-BLOCK-RELOAD") }
    }
    if playlist.skippedSegments > 0, value("CAN-SKIP-UNTIL") == nil {
      self.report(.serverControl, "a delta update without CAN-SKIP-UNTIL")
    }
  }

  private mutating func checkSegments(_ playlist: MediaPlaylistText) {
    var expected: Double?
    for (index, segment) in playlist.segments.enumerated() {
      let number = playlist.number(index)
      if segment.uri != nil, segment.duration.rounded() > Double(playlist.targetDuration ?? .max) {
        self.report(.targetDuration, "segment \(number) lasts \(segment.duration)")
      }
      if segment.dateTime == nil, index == 0 && playlist.skippedSegments == 0 || segment.hasDiscontinuity {
        self.report(.dateTime, "segment \(number) has no date")
      }
      if let dateTime = segment.dateTime, let expected, !segment.hasDiscontinuity, abs(dateTime - expected) > 0.01 {
        self.report(.dateTime, "segment \(number) starts \(dateTime - expected) s off")
      }
      expected = (segment.dateTime ?? expected).map { $0 + segment.duration }
      let isMP4 = (segment.uri ?? segment.parts.first?.uri)?.hasSuffix(".m4s") ?? false
      if isMP4, segment.map == nil, playlist.skippedSegments == 0 { self.report(.map, "segment \(number) has none") }
      if index > 0, segment.map != playlist.segments[index - 1].map, !segment.hasDiscontinuity,
        playlist.segments[index - 1].map != nil
      {
        self.report(.map, "segment \(number) has another without a discontinuity")
      }
    }
  }

  private mutating func checkParts(_ playlist: MediaPlaylistText) {
    let partTarget = playlist.partTarget ?? 0
    var distance = playlist.duration
    for (index, segment) in playlist.segments.enumerated() {
      let number = playlist.number(index)
      distance -= segment.uri == nil ? 0 : segment.duration
      guard !segment.parts.isEmpty else { continue }
      if partTarget == 0 { self.report(.partsAtEnd, "no EXT-X-PART-INF") }
      if segment.uri != nil, distance > Double(playlist.targetDuration ?? 0) * 3 + 1e-6 {
        self.report(.partsAtEnd, "segment \(number) still has its parts")
      }
      for (partIndex, part) in segment.parts.enumerated() {
        if part.duration > partTarget + 1e-9 { self.report(.partTarget, "\(part.uri) lasts \(part.duration)") }
        // Of a segment that is not whole, the last part may be the last one of the segment.
        let isLast = partIndex == segment.parts.count - 1
        if part.duration < partTarget * 0.85 - 1e-9, !isLast, !part.isIndependent {
          self.report(.shortPart, "\(part.uri) lasts \(part.duration)")
        }
      }
      let sum = segment.parts.reduce(0) { $0 + $1.duration }
      if segment.uri != nil, abs(sum - segment.duration) > 1.5e-6 {
        self.report(.partSum, "segment \(number) lasts \(segment.duration), its parts \(sum)")
      }
    }
  }

  private mutating func checkChange(from last: MediaPlaylistText, to playlist: MediaPlaylistText) {
    if last.targetDuration != playlist.targetDuration || last.partTarget != playlist.partTarget {
      self.report(.constantTargets, "a target duration has changed")
    }
    guard playlist.mediaSequence >= last.mediaSequence else {
      return self.report(.mediaSequence, "from \(last.mediaSequence) to \(playlist.mediaSequence)")
    }
    let lastNumber = last.number(last.whole.count - 1)
    let removed = playlist.mediaSequence - last.mediaSequence
    if playlist.number(playlist.whole.count - 1) < lastNumber {
      self.report(.mediaSequence, "segment \(lastNumber) is gone")
    }
    // Numbers beyond the last playlist are a new activation after inactivity.
    let isOverlapping = playlist.mediaSequence <= lastNumber + 1
    let gone = last.segments.prefix(removed).count { $0.hasDiscontinuity }
    if isOverlapping, playlist.discontinuitySequence != last.discontinuitySequence + gone {
      self.report(.discontinuitySequence, "\(playlist.discontinuitySequence) after \(gone) were taken away")
    }
    if playlist.discontinuitySequence < last.discontinuitySequence {
      self.report(.discontinuitySequence, "goes back to \(playlist.discontinuitySequence)")
    }
    if removed > 0, isOverlapping, !playlist.isEnded,
      playlist.whole.reduce(0, { $0 + $1.duration }) < Double(playlist.targetDuration ?? 0) * 3 - 1e-6
    {
      self.report(.windowLength, "\(playlist.duration) s after a segment was taken away")
    }
    if last.isEnded, playlist.segments != last.segments || !playlist.isEnded {
      self.report(.endList, "changes after the end")
    }
    self.checkConstancy(from: last, to: playlist)
  }

  private mutating func checkConstancy(from last: MediaPlaylistText, to playlist: MediaPlaylistText) {
    for (index, before) in last.segments.enumerated() {
      let position = last.number(index) - playlist.number(0)
      guard playlist.segments.indices.contains(position) else { continue }
      let after = playlist.segments[position]
      let isSameWhole = before.uri == nil || before.uri == after.uri && before.duration == after.duration
      let isSameStart =
        before.dateTime == after.dateTime && before.hasDiscontinuity == after.hasDiscontinuity
        && (before.map == after.map || before.map == nil)
      let areSameParts = after.parts.isEmpty || after.parts.starts(with: before.parts)
      if !isSameWhole || !isSameStart || !areSameParts {
        self.report(.constantSegments, "segment \(last.number(index)) has changed")
      }
    }
  }

  private mutating func checkHints(_ playlist: MediaPlaylistText) {
    if playlist.isEnded, !playlist.hints.isEmpty { self.report(.endList, "has a hint") }
    if playlist.partTarget != nil, !playlist.isEnded, playlist.hints.count != 1 {
      self.report(.preloadHint, "\(playlist.hints.count) hints")
    }
    guard let last, let hint = last.hints.first, !playlist.isEnded else { return }
    let lastParts = Set(last.segments.flatMap(\.parts).map(\.uri))
    let isOverlapping = playlist.mediaSequence <= last.number(last.segments.count - 1)
    if let next = playlist.segments.flatMap(\.parts).first(where: { !lastParts.contains($0.uri) }), isOverlapping,
      next.uri != hint, playlist.segments.flatMap(\.parts).contains(where: { lastParts.contains($0.uri) })
    {
      self.report(.preloadHint, "\(hint) was hinted, \(next.uri) came")
    }
  }

  private mutating func checkFreshness(_ playlist: MediaPlaylistText, at time: Double) {
    let number = playlist.number(playlist.whole.count - 1)
    defer { if self.lastNews?.number != number { self.lastNews = (number, time) } }
    guard let tolerance, let lastNews, !playlist.isEnded, let target = playlist.targetDuration else { return }
    if time - lastNews.time > 1.5 * Double(target) + tolerance {
      self.report(.freshness, "no new segment for \(time - lastNews.time) s")
    }
  }
}
