internal import Media
internal import NIOCore

/// The segments that can be fetched: those in the playlists, the one that grows, and those that have left.
///
/// A segment that leaves stays fetchable as long as it lasts itself plus the longest playlist that held it (RFC 8216
/// §6.2.2), since a player may have read its name just before.
struct HLSWindow: Sendable {
  /// Segments in the TS playlist.
  static let transportStreamCount = 6

  /// May be raised.
  var timing: HLSTiming
  private let maximumBytes: Int

  /// Whole segments in the low-latency playlist, the last of them in the TS one too.
  private(set) var segments: [HLSSegment] = []
  /// Those that have left it, the oldest first.
  private(set) var retired: [HLSSegment] = []
  /// The segment that grows.
  private(set) var growing: HLSSegment?
  /// What decoders must know first, by number.
  private(set) var initializations: [Int: ByteBuffer] = [:]
  /// The number of the next segment to start.
  private(set) var nextNumber = 0
  /// The discontinuities of all segments up to now.
  private var discontinuities = 0
  private(set) var byteCount = 0

  init(timing: HLSTiming, maximumBytes: Int) {
    self.timing = timing
    self.maximumBytes = maximumBytes
  }

  /// The span of the low-latency playlist: as long again as what delta updates leave.
  private var length: MediaDuration { self.timing.skipBoundary * 2 }

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

  /// Adds a part to the segment that grows.
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
    // Taken out, so that the buffer is not copied for having two owners.
    guard var buffer = self.growing?.transportStream else { return }
    self.growing?.transportStream = ByteBuffer()
    mux(&buffer)
    self.growing?.transportStream = buffer
  }

  /// Ends the segment that grows; one without parts is taken back.
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

  /// Forgets everything but the numbers.
  mutating func removeAll() {
    self.segments.removeAll()
    self.retired.removeAll()
    self.growing = nil
    self.initializations.removeAll()
    self.byteCount = 0
  }

  /// Whether there is anything to play.
  var hasParts: Bool { !self.segments.isEmpty || self.growing.map { !$0.parts.isEmpty } ?? false }

  /// A segment that can be fetched.
  func segment(_ number: Int) -> HLSSegment? {
    if let segment = self.segments.element(number) { return segment }
    return self.retired.element(number)
  }

  /// The segment, also the one that grows.
  func segmentWithParts(_ number: Int) -> HLSSegment? {
    if let growing, growing.number == number { return growing }
    return self.segment(number)
  }

  /// The last whole segments, as the TS playlist tells them: six, or as many as last three target durations (§6.2.2).
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
      self.forgetFirst()
    }
    while self.byteCount > self.maximumBytes, !self.retired.isEmpty { self.forgetFirst() }
    while self.byteCount > self.maximumBytes, let first = self.segments.first,
      duration - first.duration >= self.timing.target * 3
    {
      duration = duration - first.duration
      self.retireFirst()
      self.forgetFirst()
    }
    let used = Set((self.retired + self.segments).map(\.initialization))
    if self.initializations.count > 1 { self.initializations = self.initializations.filter { used.contains($0.key) } }
  }

  private mutating func retireFirst() {
    self.retired.append(self.segments.removeFirst())
  }

  private mutating func forgetFirst() {
    self.byteCount -= self.retired.removeFirst().byteCount
  }
}

extension [HLSSegment] {
  /// The segment of a number; numbers are consecutive.
  fileprivate func element(_ number: Int) -> HLSSegment? {
    guard let first = self.first, number >= first.number, number - first.number < self.count else { return nil }
    return self[number - first.number]
  }
}
