internal import Media
internal import NIOCore

/// The segments that can be fetched: those in the playlists, the growing one, and retired ones.
///
/// A segment removed from the playlist remains available for its own duration plus the maximum duration of the playlists
/// that contained it (RFC 8216 §6.2.2), since a player may have just read its name.
struct HLSWindow: Sendable {
  /// Maximum number of segments in the MPEG-TS playlist.
  static let transportStreamCount = 6

  /// Durations of the playlists; the target duration may be raised while the stream is active.
  var timing: HLSTiming
  private let maximumBytes: Int

  /// Complete segments in the low-latency playlist; the last ones are also in the MPEG-TS playlist.
  private(set) var segments: [HLSSegment] = []
  /// Segments removed from the playlist, oldest first.
  private(set) var retired: [HLSSegment] = []
  /// The growing segment.
  private(set) var growing: HLSSegment?
  /// Initialization segments by number.
  private(set) var initializations: [Int: ByteBuffer] = [:]
  /// Media sequence number of the next segment.
  private(set) var nextNumber = 0
  /// Number of discontinuities of all segments so far.
  private(set) var discontinuities = 0
  private(set) var byteCount = 0

  init(timing: HLSTiming, maximumBytes: Int) {
    self.timing = timing
    self.maximumBytes = maximumBytes
  }

  /// Duration of the low-latency playlist: twice the skip boundary of delta updates.
  private var length: MediaDuration { self.timing.skipBoundary * 2 }

  /// Starts a segment with the number and discontinuities of another rendition's; earlier segments are dropped unless the number
  /// follows.
  mutating func start(_ start: HLSSegmentStart, initialization: Int, _ bytes: ByteBuffer, transportStream: ByteBuffer) {
    if start.number != self.nextNumber { self.removeAll() }
    self.nextNumber = start.number
    self.discontinuities = start.discontinuities - (start.isDiscontinuous ? 1 : 0)
    self.start(
      at: start.time, unixTime: start.unixTime, isDiscontinuous: start.isDiscontinuous, initialization: initialization,
      bytes, transportStream: transportStream)
  }

  mutating func start(
    at start: MediaTime, unixTime: MediaDuration, isDiscontinuous: Bool, initialization: Int,
    _ initializationBytes: ByteBuffer, transportStream: ByteBuffer
  ) {
    if isDiscontinuous { self.discontinuities += 1 }
    self.initializations[initialization] = initializationBytes
    self.growing = HLSSegment(
      number: self.nextNumber, start: start, end: start, unixTime: unixTime, isDiscontinuous: isDiscontinuous,
      discontinuities: self.discontinuities, initialization: initialization, transportStream: transportStream)
    self.nextNumber += 1
    self.byteCount += transportStream.readableBytes
  }

  /// Appends a part to the growing segment.
  ///
  /// - Parameter mux: Writes the part's samples to the segment's MPEG-TS.
  mutating func append(_ part: HLSPart, until end: MediaTime, mux: (inout ByteBuffer) -> Void) {
    let before = self.growing?.transportStream.readableBytes ?? 0
    self.growing?.parts.append(part)
    self.growing?.end = end
    if self.growing != nil { self.edit(mux) }
    self.byteCount += part.body.readableBytes + (self.growing?.transportStream.readableBytes ?? 0) - before
  }

  private mutating func edit(_ mux: (inout ByteBuffer) -> Void) {
    // Moved out, so that the buffer has a single owner and is not copied.
    guard var buffer = self.growing?.transportStream else { return }
    self.growing?.transportStream = ByteBuffer()
    mux(&buffer)
    self.growing?.transportStream = buffer
  }

  /// Ends the growing segment; a segment without parts is discarded and its number reused.
  mutating func end(flush: (inout ByteBuffer) -> Void) {
    guard self.growing != nil else { return }
    let before = self.growing?.transportStream.readableBytes ?? 0
    self.edit(flush)
    guard var segment = self.growing.take() else { return }
    guard !segment.parts.isEmpty else {
      self.byteCount -= before
      self.nextNumber -= 1
      if segment.isDiscontinuous { self.discontinuities -= 1 }
      return
    }
    self.byteCount += segment.transportStream.readableBytes - before
    segment.join()
    self.segments.append(segment)
    self.shrink()
  }

  /// Restores the segments of another process, with consecutive numbers up to the next one.
  ///
  /// - Parameter retiredCount: Number of the first ones that are in no playlist.
  mutating func restore(
    _ segments: [HLSSegment], retiredCount: Int, initializations: [Int: ByteBuffer], nextNumber: Int,
    discontinuities: Int
  ) {
    (self.retired, self.segments) = (Array(segments.prefix(retiredCount)), Array(segments.dropFirst(retiredCount)))
    self.initializations = initializations
    (self.nextNumber, self.discontinuities) = (nextNumber, discontinuities)
    self.byteCount = segments.reduce(0) { $0 + $1.byteCount }
  }

  /// Removes all segments; media sequence and discontinuity numbers continue.
  mutating func removeAll() {
    self.segments.removeAll()
    self.retired.removeAll()
    self.growing = nil
    self.initializations.removeAll()
    self.byteCount = 0
  }

  /// Whether there is at least one part to play.
  var hasParts: Bool { !self.segments.isEmpty || self.growing.map { !$0.parts.isEmpty } ?? false }

  /// A complete segment by number; nil when it is not available.
  func segment(_ number: Int) -> HLSSegment? {
    if let segment = self.segments.element(number) { return segment }
    return self.retired.element(number)
  }

  /// A complete or growing segment by number.
  func segmentWithParts(_ number: Int) -> HLSSegment? {
    if let growing, growing.number == number { return growing }
    return self.segment(number)
  }

  /// Segments of the MPEG-TS playlist: the last six, or as many as last three target durations (RFC 8216 §6.2.2).
  var transportStreamSegments: ArraySlice<HLSSegment> {
    var first = max(0, self.segments.count - Self.transportStreamCount)
    while first > 0, Self.duration(self.segments[first...]) < self.timing.target * 3 { first -= 1 }
    return self.segments[first...]
  }

  private static func duration(_ segments: ArraySlice<HLSSegment>) -> MediaDuration {
    segments.reduce(.zero) { $0 + $1.duration }
  }

  private mutating func shrink() {
    var duration = Self.duration(self.segments[...])
    while let first = self.segments.first, duration - first.duration >= self.length {
      duration = duration - first.duration
      self.retireFirst()
    }
    var retiredDuration = Self.duration(self.retired[...])
    while let first = self.retired.first, retiredDuration - first.duration > self.length + self.timing.target * 2 {
      retiredDuration = retiredDuration - first.duration
      self.dropFirstRetired()
    }
    while self.byteCount > self.maximumBytes, !self.retired.isEmpty { self.dropFirstRetired() }
    while self.byteCount > self.maximumBytes, let first = self.segments.first,
      duration - first.duration >= self.timing.target * 3
    {
      duration = duration - first.duration
      self.retireFirst()
      self.dropFirstRetired()
    }
    let used = Set((self.retired + self.segments).map(\.initialization))
    if self.initializations.count > 1 { self.initializations = self.initializations.filter { used.contains($0.key) } }
  }

  private mutating func retireFirst() {
    self.retired.append(self.segments.removeFirst())
  }

  private mutating func dropFirstRetired() {
    self.byteCount -= self.retired.removeFirst().byteCount
  }
}

extension [HLSSegment] {
  /// Segment by number; numbers are consecutive.
  fileprivate func element(_ number: Int) -> HLSSegment? {
    guard let first = self.first, number >= first.number, number - first.number < self.count else { return nil }
    return self[number - first.number]
  }
}
