internal import Media

/// Decides what the video pipeline encodes next, and when. Pure: no clock, thread or codec; `now` is an argument.
///
///                   frame or sample                  no frame for the silence limit, or source end + delay
///       starting ──────────────────▶ live ──────────────────────────────────────▶ slate
///                                    │  ▲                                           │
///               sample that fits     ▼  │ frame, or sample to transcode             │
///               and is a keyframe   passing ◀──────────── frame or sample ──────────┘
///
/// The pipeline thread passes each event to ``handle(_:at:)``, performs ``takeNotices()`` and then the returned action, and
/// calls ``handleTimeout(at:)`` at ``nextDeadline``. After an action that encodes it reports the result to
/// ``finishEncoding(_:at:)``.
///
/// While encoding is paused, or the source is slower than a keyframe request may wait, the last frame is encoded again. The last
/// frame of a source that reports its loss stays until that: a still screen and a camera at night send none for a while. A viewer that
/// joins meanwhile is shown it again at the full rate, and twice per second from then on until the source delivers.
struct VideoSchedule: ~Copyable {
  /// Whether encoding is paused; the pipeline updates it before each call.
  var isPaused = false

  private let configuration: Configuration
  private var requests: KeyframeRequests
  private var notices: [Notice] = []
  /// The source of the last frame or sample.
  private var source: SourceID
  /// Arrival of the last frame that was shown, or the start.
  private var lastArrival: MediaTime
  /// The last two intervals between arrivals.
  private var intervals = (MediaDuration.zero, MediaDuration.zero)
  /// Whether the source has delivered a frame, and reports its loss by its end.
  private var reportsLoss = false
  /// Capture-to-arrival latency of the last frame.
  private var captureLatency = MediaDuration.zero
  /// Source of the frame that the pipeline keeps; `nil` without one.
  private var lastFrameSource: SourceID?
  private(set) var output = Output()
  /// The source whose times are mapped, and how; `nil` where its times are those of the output.
  private(set) var timeline: (source: SourceID, offset: SwitchOffset?)
  /// The encoding whose result has not been reported yet.
  private var encoding: Encoding?

  /// Due time of the next slate; `nil` while the source delivers.
  private var nextSlate: MediaTime?
  private var isRedrawDue = false
  /// Earliest time to retry a frame that an effect dropped.
  private var nextRepetition = MediaTime.zero
  /// End of ``joiningTime`` of the newest viewer of the stream itself.
  private var joiningEnd = MediaTime.zero

  /// Whether access units of the source are passed through.
  private(set) var isPassing = false
  /// The only source that may be passed through, where the rule limits it.
  private var passThroughSource = PassThroughSource.undecided
  /// Whether the last sample that was passed through is a keyframe.
  private var isLastKeyframe = false
  /// Decode time of the last keyframe of the source, since the last switch.
  private var lastSourceKeyframe: MediaTime?
  /// Time of the first keyframe request to the source that it has not met yet.
  private var firstSourceRequest: MediaTime?
  /// Whether the source has been asked for the keyframe from which on it is passed through again.
  private var hasAskedToPass = false
  /// Earliest time of the next attempt to decode the last frame of a silent source.
  private var nextStill = MediaTime.zero
  /// Time before which a source whose last frame is encoded for a viewer is not passed through again: players probe one encoding.
  private var nextPassing = MediaTime.zero
  /// Earliest time of the next repetition of a decoded frame, and until when frames are repeated at the full rate; `nil` while none is
  /// requested.
  private var decodedRepetition: (next: MediaTime, end: MediaTime)?
  /// Codec configuration whose samples are known to need the encoder.
  private var unfit: CodecDescription?
  /// Earliest time of the next keyframe request to a passed-through source.
  private var nextSourceRequest = MediaTime.zero
  private var backlog = SampleBacklog()

  /// - Parameters:
  ///   - source: The source that the stream starts with.
  ///   - isSourceSilent: Whether ``Configuration/slateDelay`` has already passed without a frame.
  init(_ configuration: Configuration, source: SourceID, isSourceSilent: Bool = false, at now: MediaTime) {
    self.configuration = configuration
    self.requests = KeyframeRequests(maximumInterval: configuration.maximumKeyframeInterval)
    self.source = source
    self.timeline = (source, nil)
    self.lastArrival = isSourceSilent ? now - configuration.slateDelay : now
  }

  /// The time at which ``handleTimeout(at:)`` is due unless an event comes first.
  var nextDeadline: MediaTime {
    let slate = self.nextSlate ?? (self.lastArrival + self.silenceLimit)
    let others = [
      self.repetitionTime, self.decodedRepetitionTime, self.stillTime, self.sourceRequestTime,
    ]
    return others.compactMap(\.self).reduce(slate, min)
  }

  /// Time without a frame after which the source counts as lost: ``Configuration/slateDelay``, or four times its own interval.
  private var silenceLimit: MediaDuration {
    guard !self.reportsLoss else { return .seconds(86_400 * 365) }
    let interval = min(self.intervals.0, self.intervals.1, Self.maximumInterval)
    return max(self.configuration.slateDelay, interval * 4)
  }

  /// Removes and returns the changes to perform before the action returned last.
  mutating func takeNotices() -> [Notice] {
    defer { self.notices = [] }
    return self.notices
  }

  mutating func handle(_ event: Event, at now: MediaTime) -> Action {
    switch event {
    case .frame(let frame): return self.handle(frame, at: now)
    case .sample(let sample): return self.handle(sample, at: now)
    case .sourceEnded:
      guard self.output.time != nil else { return .fail }
      self.showSlate(from: now + self.configuration.slateDelayAfterEnd)
    case .keyframeRequested:
      self.requests.request()
      self.joiningEnd = now + Self.joiningTime
      if self.isPassing { self.requestKeyframeFromSource(at: now) }
    case .frameRequested:
      let end = now + Self.joiningTime
      if self.isPassing {
        self.decodedRepetition = (min(self.decodedRepetition?.next ?? now, now + self.frameInterval), end)
      } else {
        (self.joiningEnd, self.isRedrawDue) = (end, true)
      }
    case .groupRequested:
      if self.isPassing, now >= self.nextSourceRequest { self.askForKeyframe(at: now) }
    case .redrawRequested: self.isRedrawDue = true
    }
    return .none
  }

  /// Runs what is due at ``nextDeadline``: repeats the last frame, encodes the slate, or asks the source for a keyframe.
  mutating func handleTimeout(at now: MediaTime) -> Action {
    if let repetitionTime, now >= repetitionTime, let source = self.lastFrameSource {
      // With the latency of the source's frames, so that the next one is not before it.
      let earliest = (self.output.time ?? .zero) + Self.minimumInterval
      return self.encodeLastAgain(timestamp: max(now - self.captureLatency, earliest), of: source, at: now)
    }
    if let decodedRepetitionTime, now >= decodedRepetitionTime { return self.repeatDecoded(at: now) }
    if let stillTime, now >= stillTime {
      // In vain where decoding cannot begin: then the source is asked again.
      self.nextStill = now + Self.keyframeTimeout
      self.requestKeyframeFromSource(at: now)
      return .keepStill
    }
    if let sourceRequestTime, now >= sourceRequestTime { self.requestKeyframeFromSource(at: now) }
    if self.nextSlate == nil, now >= self.lastArrival + self.silenceLimit {
      self.notices.append(.sourceSilent)
      self.showSlate(from: now)
    }
    guard let nextSlate, now >= nextSlate else { return .none }
    self.nextSlate = max(nextSlate + self.frameInterval, now)
    self.isPassing = false
    let isWanted = !self.isPaused || self.isRedrawDue || self.requests.forcesKeyframe(at: now)
    guard self.output.time.map({ $0 < now }) ?? true, isWanted else { return .none }
    self.isRedrawDue = false
    self.encoding = Encoding(kind: .slate, timestamp: now)
    return .encodeSlate(timestamp: now, forcesKeyframe: self.forcesKeyframe(of: nil, at: now))
  }

  /// Reports the result of the action that encoded.
  ///
  /// - Parameter now: The time passed when the action was returned.
  mutating func finishEncoding(_ result: EncodingResult, at now: MediaTime) {
    guard let encoding = self.encoding.take() else { return }
    guard result != .dropped else {
      if case .last = encoding.kind { self.nextRepetition = now + self.frameInterval }
      return
    }
    if result == .keyframe { self.requests.keyframeEncoded(at: now) }
    self.output.append(
      at: now, timestamp: encoding.timestamp, source: encoding.source, isSubstitute: encoding.isSubstitute)
    if case .newest = encoding.kind { self.noteArrival(at: now) }
  }
}

// MARK: Frames

extension VideoSchedule {
  private var frameInterval: MediaDuration { self.configuration.format.frameRate.frameInterval }

  private mutating func handle(_ frame: FrameSummary, at now: MediaTime) -> Action {
    self.isPassing = false
    if self.passThroughSource == .undecided { self.passThroughSource = .none }
    var timestamp = self.mapped(frame.timestamp, of: frame.source, at: now)
    self.captureLatency = now - timestamp
    if let lastTime = self.output.time {
      if frame.source != self.source {
        // The first frame of a source may be the only one for a while.
        timestamp = max(timestamp, lastTime + Self.minimumInterval)
      } else if timestamp <= lastTime {
        // A frame that comes later than it was expected ends the slate, or the repetition; one of a stall is older.
        guard self.output.isSubstitute, now - timestamp <= Self.maximumDelay else { return .dropNewest }
        timestamp = lastTime + Self.minimumInterval
      }
    }
    guard self.isPaused else {
      self.lastFrameSource = frame.source
      self.switchSource(to: frame.source)
      self.reportsLoss = frame.reportsLoss
      self.isRedrawDue = false
      self.encoding = Encoding(kind: .newest(frame.source), timestamp: timestamp)
      return .encodeNewest(
        timestamp: timestamp, forcesKeyframe: self.forcesKeyframe(of: frame.source, at: now))
    }
    let hasLastFrame = self.lastFrameSource != nil
    self.lastFrameSource = self.lastFrameSource ?? frame.source
    self.switchSource(to: frame.source)
    self.reportsLoss = frame.reportsLoss
    self.noteArrival(at: now)
    if hasLastFrame { self.notices.append(.releaseSourceMemory) }
    return hasLastFrame ? .none : .keepNewest(timestamp: timestamp)
  }

  /// The time of a frame or sample on the viewers' timeline, see ``SwitchOffset``.
  private mutating func mapped(_ time: MediaTime, of source: SourceID, at now: MediaTime) -> MediaTime {
    if source != self.timeline.source { self.timeline = (source, self.switchOffset(to: time, at: now)) }
    self.timeline.offset = self.timeline.offset?.limited(for: time, at: now)
    return self.timeline.offset?.applied(to: time) ?? time
  }

  /// Places the first frame of another source one interval after the last output, when it was captured before that by a
  /// frame or more, or so much later that viewers would wait although frames keep arriving.
  private func switchOffset(to time: MediaTime, at now: MediaTime) -> SwitchOffset? {
    guard let lastTime = self.output.time, let moment = self.output.moment else { return nil }
    let (step, interval) = (time - lastTime, self.frameInterval)
    let isBehind = step <= .zero - interval
    let isAhead = step > interval * 2 && now - moment <= interval * 2
    return isBehind || isAhead ? SwitchOffset(interval - step, from: time, at: now) : nil
  }

  private mutating func encodeLastAgain(timestamp: MediaTime, of source: SourceID, at now: MediaTime) -> Action {
    self.isRedrawDue = false
    self.encoding = Encoding(kind: .last(source), timestamp: timestamp)
    return .encodeLastAgain(timestamp: timestamp, forcesKeyframe: self.forcesKeyframe(of: source, at: now))
  }

  /// Whether the next encoded frame is to be a keyframe: requested, due, or the first of another source.
  private func forcesKeyframe(of source: SourceID?, at now: MediaTime) -> Bool {
    let isCut = source == nil ? self.output.source != nil : self.output.time != nil && source != self.output.source
    return self.requests.forcesKeyframe(at: now) || isCut && self.requests.allowsKeyframe(at: now)
  }

  private mutating func switchSource(to source: SourceID) {
    guard source != self.source else { return }
    self.source = source
    self.passThroughSource = .none
    self.intervals = (.zero, .zero)
    self.reportsLoss = false
    self.lastSourceKeyframe = nil
    self.firstSourceRequest = nil
    self.nextPassing = .zero
    if let lastFrameSource, lastFrameSource != source { self.notices.append(.releaseSourceMemory) }
    self.notices.append(.sourceSwitched)
  }

  private mutating func noteArrival(at now: MediaTime) {
    self.intervals = (self.intervals.1, now - self.lastArrival)
    self.lastArrival = now
    if self.nextSlate != nil { self.notices.append(.slateHidden) }
    self.nextSlate = nil
  }

  private mutating func showSlate(from time: MediaTime) {
    if self.nextSlate == nil { self.notices += [.releaseSourceMemory, .slateShown] }
    self.nextSlate = time
  }

  /// Time from which the next frame is late: one that comes in time meets requests, unless encoding is paused.
  private var overdueTime: MediaTime {
    self.lastArrival + max(self.frameInterval * 3 / 2, Self.maximumJitter)
  }

  /// Whether a viewer has joined since the last frame, or so shortly before it that it needs more.
  private var hasJoined: Bool { self.joiningEnd > self.lastArrival }

  /// Time between two repetitions of the last frame after ``joiningTime``.
  private var stillInterval: MediaDuration { max(Self.stillInterval, self.frameInterval) }

  /// Due time of the last frame's next encoding: to meet a keyframe request that the source is too slow for, to show
  /// changed effects, for a new viewer, and while encoding is paused; `nil` when none is due.
  private var repetitionTime: MediaTime? {
    guard let lastOutput = self.output.moment, self.lastFrameSource != nil, self.nextSlate == nil else { return nil }
    let requested = self.requests.dueTime
    let due: MediaTime?
    let overdue = self.overdueTime
    if self.isPaused {
      // Changed effects show at once: they may be there for privacy.
      let still = lastOutput + (self.isRedrawDue ? self.frameInterval : self.configuration.pausedInterval)
      due = requested.map { min($0, still) } ?? still
    } else if self.isRedrawDue {
      due = overdue
    } else {
      let next = max(overdue, lastOutput + self.frameInterval)
      let met = requested.map { max($0, overdue) }
      let still = max(overdue, lastOutput + self.stillInterval)
      due = next < self.joiningEnd ? next : self.hasJoined ? min(met ?? still, still) : met
    }
    return due.map { max($0, self.nextRepetition) }
  }
}

// MARK: Sources that compress their video

extension VideoSchedule {
  private mutating func handle(_ sample: SampleSummary, at now: MediaTime) -> Action {
    self.switchSource(to: sample.source)
    if self.unfit != sample.description, sample.needsEncoder { self.unfit = sample.description }
    let fits =
      self.unfit != sample.description
      && self.configuration.passThrough.allows(sample, in: self.configuration.format)
    self.limitPassThrough(of: sample, fits: fits, at: now)
    guard !self.isOld(sample, at: now) else { return self.transcode(sample, dropsFrames: true, at: now) }
    let isLimited = self.configuration.passThrough.isLimitedToFirstSource
    let isAllowed =
      fits && !self.isPaused && now >= self.nextPassing && (self.output.source == nil || !self.isBehind(sample))
      && (!isLimited || self.passThroughSource == .source(sample.source))
    if isAllowed, self.isPassing || sample.isKeyframe { return self.pass(sample, at: now) }
    if isAllowed, !self.hasAskedToPass, now >= self.nextSourceRequest {
      self.hasAskedToPass = true
      self.askForKeyframe(at: now)
    }
    if self.isPaused, self.lastFrameSource != nil {
      self.isPassing = false
      self.noteArrival(at: now)
      self.notices.append(.releaseSourceMemory)
      return .closeDecoder
    }
    return self.transcode(sample, dropsFrames: self.backlog.dropsFrames(sample.backlog), at: now)
  }

  private mutating func transcode(_ sample: SampleSummary, dropsFrames: Bool, at now: MediaTime) -> Action {
    self.isPassing = false
    if !sample.isDecodable, now >= self.nextSourceRequest { self.askForKeyframe(at: now) }
    return .transcode(dropsFrames: dropsFrames)
  }

  /// Time at which the last frame that was passed through is encoded for a viewer: the source sends nothing at all, and has not
  /// met a request for a keyframe, or nothing has followed the keyframe, for longer than a source with a frame each second or two is late.
  private var stillTime: MediaTime? {
    guard self.isPassing, self.nextSlate == nil else { return nil }
    if self.requests.isPending {
      return self.firstSourceRequest.map { max(max($0, self.lastArrival) + Self.keyframeTimeout, self.nextStill) }
    }
    // Once for each keyframe: what cannot be decoded stays so.
    guard self.hasJoined, self.isLastKeyframe, self.nextStill <= self.lastArrival else { return nil }
    let rhythm = max(self.intervals.0, self.intervals.1)
    let timeout = Self.keyframeTimeout
    return self.lastArrival + (rhythm < timeout * 2 ? max(rhythm * 2, timeout) : timeout)
  }

  /// Records that the last frame of those that were passed through is kept, and is encoded from now on: first for a whole
  /// ``joiningTime``, since viewers have had no other frame.
  mutating func keepStill(at now: MediaTime) {
    self.isPassing = false
    self.lastFrameSource = self.source
    self.joiningEnd = now + Self.joiningTime
    self.nextPassing = self.joiningEnd
  }

  /// Time at which a source that sends nothing is asked for a keyframe that was requested while its last one was young.
  private var sourceRequestTime: MediaTime? {
    guard self.isPassing, self.nextSlate == nil, self.firstSourceRequest == nil else { return nil }
    return self.requests.dueTime.map { max($0, self.nextSourceRequest) }
  }

  /// Due time of the next repetition of the last frame that was passed through, for viewers of other encodings, while the source is
  /// late: as often as for those of the stream itself.
  private var decodedRepetitionTime: MediaTime? {
    guard self.isPassing, self.nextSlate == nil, let decodedRepetition else { return nil }
    return max(self.overdueTime, decodedRepetition.next)
  }

  private mutating func repeatDecoded(at now: MediaTime) -> Action {
    let next = now + self.frameInterval
    if let end = self.decodedRepetition?.end {
      self.decodedRepetition = (next < end ? next : now + self.stillInterval, end)
    }
    let earliest = (self.output.time ?? .zero) + Self.minimumInterval
    return .repeatDecoded(timestamp: max(now - self.captureLatency, earliest))
  }

  /// Records that no other encoding has viewers, or nothing to decode: after ``joiningTime`` the last frame is not repeated for them any more.
  mutating func endDecodedRepetition(at now: MediaTime) {
    if let decodedRepetition, now >= decodedRepetition.end { self.decodedRepetition = nil }
  }

  /// Decides with the first sample whether its source may be passed through, and takes that back when viewers wait for a
  /// keyframe and the source's are too far apart.
  private mutating func limitPassThrough(of sample: SampleSummary, fits: Bool, at now: MediaTime) {
    if self.passThroughSource == .undecided {
      self.passThroughSource = fits ? .source(sample.source) : .none
    }
    if sample.isKeyframe {
      (self.lastSourceKeyframe, self.firstSourceRequest) = (sample.decodeTime, nil)
      return
    }
    guard let maximum = self.configuration.passThrough.maximumKeyframeInterval, let last = self.lastSourceKeyframe,
      sample.isDecodable, sample.decodeTime - last > maximum, let request = self.firstSourceRequest,
      now - request >= Self.keyframeTimeout
    else { return }
    self.passThroughSource = .none
  }

  private mutating func pass(_ sample: SampleSummary, at now: MediaTime) -> Action {
    self.isPassing = true
    self.isLastKeyframe = sample.isKeyframe
    self.hasAskedToPass = false
    self.isRedrawDue = false
    self.endDecodedRepetition(at: now)
    self.lastFrameSource = nil
    var decodeTime = self.mapped(sample.decodeTime, of: sample.source, at: now)
    let shift = decodeTime - sample.decodeTime
    self.captureLatency = now - decodeTime
    self.reportsLoss = sample.reportsLoss
    self.noteArrival(at: now)
    // Previous output may be of another source, or encoded frames with later presentation times.
    let isContinued = sample.source == self.output.source
    let last = (isContinued ? self.output.passedDecodeTime : nil) ?? self.output.time
    if let last { decodeTime = max(decodeTime, last + Self.minimumInterval) }
    let presentationTime = max(sample.presentationTime + shift, decodeTime)
    if sample.isKeyframe { self.requests.keyframeEncoded(at: now) }
    self.output.append(at: now, timestamp: presentationTime, source: sample.source, passedDecodeTime: decodeTime)
    self.requestKeyframeFromSource(at: now)
    return .passThrough(decodeTime: decodeTime, presentationTime: presentationTime)
  }

  /// Requests a keyframe from a passed-through source when one is due; not while the last one is young, and not again
  /// before the source can have produced one.
  private mutating func requestKeyframeFromSource(at now: MediaTime) {
    guard let due = self.requests.dueTime, now >= due, now >= self.nextSourceRequest else { return }
    self.firstSourceRequest = self.firstSourceRequest ?? now
    self.askForKeyframe(at: now)
  }

  private mutating func askForKeyframe(at now: MediaTime) {
    self.nextSourceRequest = now + KeyframeRequests.interval
    self.notices.append(.requestKeyframeFromSource)
  }
}
