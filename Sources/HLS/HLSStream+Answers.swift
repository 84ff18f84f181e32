public import Media
internal import NIOCore

extension HLSStream {
  /// Answers a request, also one that was told to wait before.
  ///
  /// A playlist waits until it has ``HLSConfiguration/startSegments`` whole segments, since players give up on less; with
  /// `_HLS_msn` until it holds what it is asked for (the draft's §6.2.5.2), and with `_HLS_part` for no more than that: a
  /// player that knows parts can begin with the first one, and asks for `_HLS_msn=0&_HLS_part=0`. The part of the preload
  /// hint waits until it is there. All wait for three target durations, and longer while no
  /// keyframe comes.
  ///
  /// - Returns: The answer; and the effects, since a first request sets a stream to work.
  public mutating func answer(_ request: HLSRequest, at now: MediaTime) -> (answer: HLSAnswer, effects: HLSEffects) {
    if request.isPlaylist, let problem = request.directives.problem { return (.badRequest(problem), .none) }
    let effects = self.noteRequest(request, at: now)
    return (self.answerNoted(request, at: now), effects)
  }

  private mutating func answerNoted(_ request: HLSRequest, at now: MediaTime) -> HLSAnswer {
    switch request.resource {
    case .multivariantPlaylist:
      guard let content = self.playlist(.multivariant, caching: self.shortCaching) else { return .notFound }
      return .content(content)
    case .mediaPlaylist(let face):
      return self.answerPlaylist(request, face, at: now)
    case .segment(let face, let token, let number):
      guard token == self.configuration.token, let segment = self.window.segment(number) else { return .notFound }
      return face == .transportStream
        ? .content(self.file(segment.transportStream, HLSContent.transportStreamType, "\(number).ts"))
        : .content(self.file(segment.fragments, self.mp4Type, "\(number).m4s"))
    case .part(let token, let number, let index):
      return token == self.configuration.token ? self.answerPart(request, number, index, at: now) : .notFound
    case .initialization(let token, let number):
      guard token == self.configuration.token, let bytes = self.window.initializations[number] else {
        return .notFound
      }
      return .content(self.file(bytes, self.mp4Type, "init\(number).mp4"))
    }
  }

  private mutating func answerPlaylist(_ request: HLSRequest, _ face: HLSFace, at now: MediaTime) -> HLSAnswer {
    if let problem = self.problem(of: request.directives, face) { return .badRequest(problem) }
    let isThere = self.isLongEnough(for: request.directives) && self.holds(request.directives, face)
    guard isThere || self.isEnded else { return self.wait(request, at: now) }
    guard self.window.hasParts else { return .notFound }
    // What asks for something old is answered with the present, which does not stay what it is.
    let isBlocking = request.directives.sequenceNumber.map { $0 > 0 && $0 >= self.lastNumber } ?? false && !self.isEnded
    let caching = isBlocking ? HLSContent.Caching.blocking(self.timing.target * 6) : self.shortCaching
    if face == .lowLatency, request.directives.allowsSkip, let content = self.playlist(.delta, caching: caching) {
      return .content(content)
    }
    guard let content = self.playlist(face == .lowLatency ? .lowLatency : .transportStream, caching: caching) else {
      return .notFound
    }
    return .content(content)
  }

  /// Whether there is enough for a playlist: for players that name a part, one part; else what all players want.
  private func isLongEnough(for directives: HLSDirectives) -> Bool {
    guard directives.part == nil else { return self.window.hasParts }
    let segments = self.window.segments
    if segments.count >= self.configuration.startSegments { return true }
    // Long ones, of a source that gives keyframes when it likes.
    return segments.count >= 2 && segments.reduce(.zero) { $0 + $1.duration } >= .seconds(8)
  }

  /// What is wrong with directives, since they ask for what is too far away.
  private func problem(of directives: HLSDirectives, _ face: HLSFace) -> String? {
    guard let number = directives.sequenceNumber, !self.isEnded else { return nil }
    guard number <= self.lastNumber + 2 else { return "_HLS_msn is more than two segments ahead" }
    guard face == .lowLatency, let part = directives.part else { return nil }
    let count = self.window.segmentWithParts(number)?.parts.count ?? 0
    return part < count + self.timing.advancePartLimit ? nil : "_HLS_part is too far ahead"
  }

  /// The number of the last whole segment; -1 before the first.
  private var lastNumber: Int {
    (self.window.growing?.number ?? self.window.nextNumber) - 1
  }

  /// Whether a playlist holds what directives ask for.
  private func holds(_ directives: HLSDirectives, _ face: HLSFace) -> Bool {
    guard let number = directives.sequenceNumber else { return true }
    guard face == .lowLatency, let part = directives.part else { return number <= self.lastNumber }
    if number > self.lastNumber {
      return self.window.growing.map { $0.number == number && part < $0.parts.count } ?? false
    }
    // A part behind the last one of its segment is the first one of the next.
    guard number == self.lastNumber, let segment = self.window.segment(number), part >= segment.parts.count else {
      return true
    }
    return self.window.growing.map { !$0.parts.isEmpty } ?? false
  }

  private func answerPart(_ request: HLSRequest, _ number: Int, _ index: Int, at now: MediaTime) -> HLSAnswer {
    if let part = self.window.segmentWithParts(number)?.parts.dropFirst(index).first {
      return .content(self.file(part.body, self.mp4Type, "\(number).\(index).m4s"))
    }
    let isHinted = number == self.lastNumber + 1 && index == self.window.growing?.parts.count ?? 0
    return isHinted && self.isActive ? self.wait(request, at: now) : .notFound
  }

  private func wait(_ request: HLSRequest, at now: MediaTime) -> HLSAnswer {
    let deadline = request.arrival + self.timing.longestWait
    if now < deadline { return .wait(until: deadline) }
    let latest = request.arrival + HLSTiming.longestWaitForKeyframes
    guard self.isShortOfKeyframes, now < latest else { return .unavailable }
    return .wait(until: min(latest, now + self.timing.longestWait))
  }

  private func file(_ body: ByteBuffer, _ mediaType: String, _ name: String) -> HLSContent {
    HLSContent(body: body, mediaType: mediaType, caching: .immutable, etag: "\"\(self.configuration.token)-\(name)\"")
  }

  private var shortCaching: HLSContent.Caching { .short(self.timing.target / 2) }

  private var mp4Type: String {
    self.descriptions.contains { $0.kind == .video } ? HLSContent.mp4Type : HLSContent.audioMP4Type
  }
}
