public import Media
internal import NIOCore

extension HLSStream {
  /// Answers a new or repeated request.
  ///
  /// A playlist request waits until there are ``HLSConfiguration/startSegments`` complete segments, since players give up on
  /// fewer; with `_HLS_msn` until the playlist contains that segment (draft-pantos-hls-rfc8216bis §6.2.5.2); with
  /// `_HLS_part` only for that part, since a low-latency player can start with `_HLS_msn=0&_HLS_part=0`. A request for the
  /// part of the preload hint waits until the part exists. The timeout is three target durations, and 45 s while a
  /// requested keyframe is missing.
  ///
  /// - Returns: The answer, and actions for the owner: the first request activates the stream.
  public mutating func respond(to request: HLSRequest, at now: MediaTime) -> (
    response: HLSResponse, effects: HLSEffects
  ) {
    self.respond(to: request, hasReports: false, at: now)
  }

  /// - Parameter hasReports: Whether a low-latency playlist carries ``reports``.
  mutating func respond(to request: HLSRequest, hasReports: Bool, at now: MediaTime) -> (
    response: HLSResponse, effects: HLSEffects
  ) {
    if request.isPlaylist, let problem = request.directives.problem { return (.badRequest(problem), .none) }
    let effects = self.noteRequest(request, at: now)
    return (self.respondToNoted(request, hasReports: hasReports, at: now), effects)
  }

  private mutating func respondToNoted(_ request: HLSRequest, hasReports: Bool, at now: MediaTime) -> HLSResponse {
    switch request.resource {
    case .multivariantPlaylist:
      guard let content = self.playlist(.multivariant, caching: self.shortCaching) else { return .notFound }
      return .content(content)
    case .mediaPlaylist(let format):
      return self.playlistResponse(request, format, hasReports: hasReports, at: now)
    case .segment(let format, let token, let number):
      guard token == self.configuration.token else { return .notFound }
      guard let segment = self.window.segment(number) else {
        return number < self.firstNumber ? .gone : .notFound
      }
      return format == .transportStream
        ? .content(self.file(segment.transportStream, HLSContent.transportStreamType, "\(number).ts"))
        : .content(self.file(segment.fragments, self.mp4Type, "\(number).m4s"))
    case .part(let token, let number, let index):
      guard token == self.configuration.token else { return .notFound }
      return number < self.firstNumber ? .gone : self.partResponse(request, number, index, at: now)
    case .initialization(let token, let number):
      guard token == self.configuration.token else { return .notFound }
      guard let bytes = self.window.initializations[number] else {
        return number < self.firstInitialization ? .gone : .notFound
      }
      return .content(self.file(bytes, self.mp4Type, "init\(number).mp4", caching: .immutable))
    }
  }

  private mutating func playlistResponse(
    _ request: HLSRequest, _ format: HLSFormat, hasReports: Bool, at now: MediaTime
  ) -> HLSResponse {
    if let problem = self.problem(of: request.directives, format) { return .badRequest(problem) }
    let isAvailable = self.isLongEnough(for: request.directives) && self.holds(request.directives, format)
    guard isAvailable || self.isEnded else { return self.wait(request, at: now) }
    guard self.window.hasParts else { return .notFound }
    // A request for an old segment gets the current playlist, which will change.
    let isBlocking = request.directives.sequenceNumber.map { $0 > 0 && $0 >= self.lastNumber } ?? false && !self.isEnded
    let caching = isBlocking ? HLSContent.Caching.blocking(self.timing.target * 6) : self.shortCaching
    self.fixTargets()
    let content: HLSContent?
    switch format {
    case .transportStream: content = self.playlist(.transportStream, caching: caching)
    case .lowLatency:
      let delta = HLSPlaylistKind.delta(hasReports: hasReports)
      content =
        (request.directives.allowsSkip ? self.playlist(delta, caching: caching) : nil)
        ?? self.playlist(.lowLatency(hasReports: hasReports), caching: caching)
    }
    return content.map { .content($0) } ?? .notFound
  }

  /// Whether there is enough media for a playlist: one part for requests with `_HLS_part`, once the target duration is
  /// known; else the start segments.
  private func isLongEnough(for directives: HLSDirectives) -> Bool {
    guard directives.part == nil else { return self.window.hasParts && self.isKeyframeIntervalKnown }
    return self.window.segments.count >= self.firstSegmentCount
  }

  /// Describes directives that request a segment or part too far in the future; nil if they do not.
  private func problem(of directives: HLSDirectives, _ format: HLSFormat) -> String? {
    guard let number = directives.sequenceNumber, !self.isEnded else { return nil }
    // Its numbers are not known before its first segment.
    if self.follows, !self.window.hasParts { return nil }
    guard number <= self.lastNumber + 2 else { return "_HLS_msn is more than two segments ahead" }
    guard format == .lowLatency, let part = directives.part else { return nil }
    let count = self.window.segmentWithParts(number)?.parts.count ?? 0
    return part < count + self.timing.advancePartLimit ? nil : "_HLS_part is too far ahead"
  }

  /// Number of the last complete segment; -1 before the first.
  private var lastNumber: Int {
    (self.window.growing?.number ?? self.window.nextNumber) - 1
  }

  /// Whether the current playlist contains the segment or part that the directives request.
  private func holds(_ directives: HLSDirectives, _ format: HLSFormat) -> Bool {
    guard let number = directives.sequenceNumber else { return true }
    guard format == .lowLatency, let part = directives.part else { return number <= self.lastNumber }
    if number > self.lastNumber {
      return self.window.growing.map { $0.number == number && part < $0.parts.count } ?? false
    }
    // A part after the last one of its segment is the first part of the next segment.
    guard number == self.lastNumber, let segment = self.window.segment(number), part >= segment.parts.count else {
      return true
    }
    return self.window.growing.map { !$0.parts.isEmpty } ?? false
  }

  private func partResponse(_ request: HLSRequest, _ number: Int, _ index: Int, at now: MediaTime) -> HLSResponse {
    if let part = self.window.segmentWithParts(number)?.parts.dropFirst(index).first {
      return .content(self.file(part.body, self.mp4Type, "\(number).\(index).m4s"))
    }
    let isHinted = number == self.lastNumber + 1 && index == self.window.growing?.parts.count ?? 0
    return isHinted && self.isActive ? self.wait(request, at: now) : .notFound
  }

  private func wait(_ request: HLSRequest, at now: MediaTime) -> HLSResponse {
    let deadline = request.arrival + self.timing.requestTimeout
    if now < deadline { return .wait(until: deadline) }
    let latest = request.arrival + self.timing.keyframeRequestTimeout
    guard self.isShortOfKeyframes, now < latest else { return .unavailable }
    return .wait(until: min(latest, now + self.timing.requestTimeout))
  }

  private func file(
    _ body: ByteBuffer, _ mediaType: String, _ name: String, caching: HLSContent.Caching? = nil
  ) -> HLSContent {
    HLSContent(
      body: body, mediaType: mediaType, caching: caching ?? .media(self.timing.mediaLifetime),
      etag: "\"\(self.configuration.token)-\(name)\"")
  }

  private var shortCaching: HLSContent.Caching { .short(self.timing.target / 2) }

  private var mp4Type: String {
    self.descriptions.contains { $0.kind == .video } ? HLSContent.mp4Type : HLSContent.audioMP4Type
  }
}
