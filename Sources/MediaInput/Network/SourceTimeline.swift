package import Media

/// Maps timestamps of a network source to the stream's clock, with one offset for audio and video.
///
/// Live sources: the sample with the lowest network latency defines the offset, so that its capture time is its arrival. A burst at
/// the start, as from a server that first sends the last seconds, moves the offset with each frame, so that no latency remains. The
/// samples with which a source begins wait for each other for a moment, and move along (``StartBurst``).
/// A source clock that runs slower is followed by at most 5 ms per 10 s, a part with each sample. Samples that come late after a stall keep
/// their times, unless they stay late: then the source's clock has stopped meanwhile.
///
/// A live source that sends faster than in real time, beyond such a burst, is held back: the offset stays, and samples wait for their
/// times, as do those of buffered sources. It is live again when what it sends is no longer early.
///
/// Buffered sources (segments, files, pipes): the offset is set ``bufferDelay`` ahead of the arrival. A clock that runs slower is
/// followed by at most 30 ms a minute, where that time ahead is less than 0.3 s for five minutes. One that runs faster is not: the source
/// is held back.
///
/// A jump of the source's timestamps sets a new offset. While they alternate between several clocks, each track goes on with its own steps.
/// Mapped timestamps always increase.
package struct SourceTimeline {
  /// Arrival of samples relative to their capture.
  enum Pace: Hashable {
    /// Samples arrive right after their capture.
    ///
    /// - Parameter burst: How much may come early before the source is held back; nil where it cannot be.
    case live(burst: Burst?)
    /// Samples arrive in bursts, and are buffered until their presentation.
    case buffered

    /// A server that sends over TCP, and may begin with its last group of pictures.
    static let pulled = Self.live(burst: Burst(limit: .seconds(5), recovery: 100))
    /// A camera that sends over TCP. Some count a time of their own that runs faster, but none sends in double time.
    static let camera = Self.live(burst: Burst(limit: .seconds(5), recovery: 1))
    /// A publisher over TCP.
    static let published = Self.live(burst: Burst(limit: .seconds(1), recovery: 100))
    /// A source without timestamps whose packets are counted, and held back from the first one on.
    static let counted = Self.live(burst: Burst(limit: .zero, recovery: 100))
    /// A source of datagrams, or without timestamps, which is not held back.
    static let unheld = Self.live(burst: nil)
  }

  /// Samples that come early.
  struct Burst: Hashable {
    /// Time by which they may come early in all.
    var limit: MediaDuration
    /// Divisor of the time that has passed by which the time used is forgotten: clocks run faster by less.
    var recovery: Int64
  }

  /// Timestamps of a sample on the stream's clock.
  package struct Times: Hashable {
    package var decode: MediaTime
    package var presentation: MediaTime

    /// Creates the timestamps of a sample.
    package init(decode: MediaTime, presentation: MediaTime) {
      self.decode = decode
      self.presentation = presentation
    }
  }

  /// Playout delay of buffered sources, which absorbs a late burst.
  static let bufferDelay = MediaDuration.milliseconds(500)
  /// Latency of live samples beyond which they are late after a stall, or the source's clock was set back.
  static let maximumLatency = MediaDuration.seconds(3)
  /// Time in which late samples must come closer to their times by ``lateProgress``; otherwise they set a new offset.
  static let lateSpan = MediaDuration.seconds(1)
  static let lateProgress = MediaDuration.milliseconds(250)
  /// Distance of a sample from the last ones of all tracks beyond which the source's timestamps have jumped; of a single track,
  /// which may have a frame in ten seconds, ``maximumStepAlone``.
  static let maximumStep = MediaDuration.seconds(5)
  static let maximumStepAlone = MediaDuration.seconds(15)
  /// Time ahead of their presentation for which samples of a source that arrives in bursts are received.
  static let maximumSpan = MediaDuration.seconds(2)
  /// Likewise of a live source that is held back.
  static let maximumLead = MediaDuration.seconds(6)
  /// Variation of the time ahead within ``driftSpan`` up to which a source sends in real time.
  static let leadVariation = MediaDuration.milliseconds(200)
  /// Time by which a timestamp may be before the last one of its track: encoders make slips.
  static let backTolerance = MediaDuration.milliseconds(10)
  /// Minimum distance of two samples of a track: more than one tick of every protocol's clock.
  static let minimumStep = MediaDuration.microseconds(100)
  /// Maximum offset of presentation after decode time.
  static let maximumReordering = MediaDuration.seconds(2)
  /// Interval over which the minimum latency is measured, and the maximum correction per interval.
  static let driftSpan = MediaDuration.seconds(10)
  static let driftStep = MediaDuration.milliseconds(5)
  /// Likewise of buffered sources, whose segments are longer than the other span.
  static let bufferDriftSpan = MediaDuration.seconds(60)
  static let bufferDriftStep = MediaDuration.milliseconds(30)
  /// Deviation of the time ahead from ``bufferDelay`` that is no drift.
  static let bufferTolerance = MediaDuration.milliseconds(200)
  /// Number of spans that all have such a deviation: a stall is no drift.
  static let leadCount = 5

  /// Phase of a live source.
  private enum Phase: Hashable {
    /// Samples come in real time.
    case live
    /// Samples come faster, with a minimum and maximum time ahead of their presentation since a time.
    case held(minimum: MediaDuration, maximum: MediaDuration, since: MediaTime)
    /// Samples come late since a time, with a minimum latency.
    case late(minimum: MediaDuration, since: MediaTime)
  }

  private var pace = Pace.live(burst: nil)
  private var phase = Phase.live
  /// Time by which early samples have moved the offset, at a time.
  private var burst: (used: MediaDuration, at: MediaTime)?
  /// Added to the source's timestamps; nil before the first sample.
  private var offset: MediaDuration?
  /// Added to the timestamps of a track where those of the other one have jumped, until it jumps too: both are on one clock.
  private var shifts: [MediaKind: MediaDuration] = [:]
  /// Tracks whose samples are dropped until those that wait have been shown.
  private var skipping: Set<MediaKind> = []
  /// The last timestamps, shifted.
  private var lastSource: [MediaKind: MediaTime] = [:]
  private var lastTimes: [MediaKind: MediaTime] = [:]
  private var clocks = AlternatingClocks()
  /// Minimum and maximum latency since a time; negative ones of samples that are ahead.
  private var latency: (minimum: MediaDuration, maximum: MediaDuration, since: MediaTime)?
  /// Minimum times ahead of a buffered source in the last spans.
  private var leads: [MediaDuration] = []
  /// Time by which the offset of a buffered source has followed its clock.
  private var followed = MediaDuration.zero
  /// The first samples of the source; nil behind them, and where they do not wait for each other.
  private var startBurst: StartBurst?
  /// Change of the offset that is left, and the time in which it is made: each sample makes a part of it.
  private var correction: (change: MediaDuration, from: MediaTime, to: MediaTime)?

  /// Maximum time ahead of their presentation for which samples are received; nil while they come in real time.
  var bufferedSpan: MediaDuration? {
    if case .held = self.phase { return Self.maximumLead }
    return self.pace == .buffered ? Self.maximumSpan : nil
  }

  /// End of the wait of the samples with which the source begins; nil behind it.
  var startEnd: MediaTime? { self.startBurst?.end }

  /// Resets the mapping for a new connection; mapped timestamps continue to increase.
  ///
  /// - Parameter startWaits: Whether the owner lets samples of a live source wait up to ``startEnd``, and moves those that wait by
  ///   ``takeMove()``; of the first connection alone, since samples of another one may be moved before the end of the one before.
  mutating func restart(_ pace: Pace, startWaits: Bool = false) {
    (self.pace, self.phase, self.burst) = (pace, .live, nil)
    (self.offset, self.shifts, self.skipping) = (nil, [:], [])
    (self.lastSource, self.clocks) = ([:], AlternatingClocks())
    self.startBurst = startWaits && pace != .buffered ? StartBurst() : nil
    self.forgetDrift()
  }

  /// Removes and returns the time by which the samples that wait are to be earlier, since the last call.
  mutating func takeMove() -> MediaDuration { self.startBurst?.takeMove() ?? .zero }

  /// Maps the timestamps of the next sample of a track.
  ///
  /// - Parameters:
  ///   - decode: Decode time on the source's clock, in nanoseconds; nil when unknown.
  ///   - presentation: Presentation time, likewise.
  ///   - arrival: Arrival time on the stream's clock.
  mutating func map(_ kind: MediaKind, decode: Int64?, presentation: Int64?, arrival: MediaTime) -> Times {
    var time = arrival
    if let source = decode ?? presentation {
      if self.startBurst?.handleArrival(at: arrival) == false { self.startBurst = nil }
      time = self.map(kind, source, arrival: arrival)
    }
    if !self.skipping.contains(kind) {
      if let last = self.lastTimes[kind] { time = max(time, last + Self.minimumStep) }
      self.lastTimes[kind] = time
    }
    var reordering = MediaDuration.zero
    if let decode, let presentation {
      reordering = MediaTime(nanoseconds: presentation) - MediaTime(nanoseconds: decode)
    }
    return Times(decode: time, presentation: time + min(max(reordering, .zero), Self.maximumReordering))
  }

  /// Whether a sample is to be dropped: those before it wait longer than the source's latency, which ends by skipping their time.
  ///
  /// - Parameter times: The sample's times by ``map(_:decode:presentation:arrival:)``.
  mutating func skips(_ kind: MediaKind, at times: Times, isKeyframe: Bool) -> Bool {
    guard self.skipping.contains(kind) else { return false }
    if let last = self.lastTimes[kind], times.decode <= last || kind == .video && !isKeyframe { return true }
    self.skipping.remove(kind)
    self.lastTimes[kind] = times.decode
    return false
  }

  /// Accepts the time of a sample that is on the stream's clock already; only the order of a track's samples is
  /// ensured.
  package mutating func accept(_ kind: MediaKind, at time: MediaTime) -> Times {
    let time = self.lastTimes[kind].map { max(time, $0 + Self.minimumStep) } ?? time
    self.lastTimes[kind] = time
    return Times(decode: time, presentation: time)
  }

  private mutating func map(_ kind: MediaKind, _ source: Int64, arrival: MediaTime) -> MediaTime {
    let unshifted = MediaTime(nanoseconds: source)
    switch self.clocks.append(kind, at: unshifted) {
    case .single: break
    case .alternating(let step): return self.mapAlternating(kind, step, arrival: arrival)
    case .ended: self.restart(self.pace)
    }
    let source = self.shifted(kind, unshifted, arrival: arrival)
    defer { self.lastSource[kind] = source }
    self.correct(at: arrival)
    guard let offset else { return self.begin(source, arrival: arrival) }
    let isBack = self.isBack(kind, source)
    let time = source + offset
    let late = arrival - time
    switch self.pace {
    case .live(let burst):
      switch self.phase {
      case .live, .late:
        if isBack { return self.jump(kind, source, to: arrival, at: arrival) }
        if late > Self.maximumLatency {
          // A track that begins on a clock of its own, as audio whose timestamps are hours behind those of the video.
          if self.lastSource[kind] == nil, self.isJump(to: source) {
            return self.jump(kind, source, to: arrival, at: arrival)
          }
          return self.mapLate(source, time, arrival: arrival)
        }
        self.phase = .live
        guard late < .zero else {
          self.follow(late, at: arrival)
          return time
        }
        if self.isJump(to: source) { return self.jump(kind, source, to: arrival, at: arrival) }
        guard let burst, self.usesBurst(.zero - late, burst.recovery, at: arrival) > burst.limit else {
          self.moveStart(by: .zero - late)
          return self.rebase(source, to: arrival)
        }
        self.phase = .held(minimum: .zero - late, maximum: .zero - late, since: arrival)
        return time
      case .held(let minimum, let maximum, let since):
        if isBack || self.isJump(to: source) {
          return self.jump(kind, source, to: self.next(kind, arrival: arrival), at: arrival)
        }
        let lead = MediaDuration.zero - late
        guard lead > .zero else {
          // Samples are no longer early.
          (self.phase, self.burst) = (.live, nil)
          return time
        }
        let range = (minimum: min(minimum, lead), maximum: max(maximum, lead))
        guard range.maximum - range.minimum <= Self.leadVariation else {
          self.phase = .held(minimum: lead, maximum: lead, since: arrival)
          return time
        }
        self.phase = .held(minimum: range.minimum, maximum: range.maximum, since: since)
        // A live source whose first burst was longer: it was not held back, and all comes equally early.
        guard burst?.limit != .zero, arrival - since >= Self.driftSpan, range.maximum < Self.maximumLead
        else { return time }
        (self.phase, self.burst, self.skipping) = (.live, nil, Set(self.lastTimes.keys))
        return self.rebase(source, to: arrival)
      }
    case .buffered:
      if isBack || self.isJump(to: source) {
        return self.jump(kind, source, to: self.next(kind, arrival: arrival), at: arrival)
      }
      // The buffer has run empty: the playout delay is restored.
      guard late <= Self.bufferDelay else { return self.rebase(source, to: arrival + Self.bufferDelay) }
      self.followBuffered(late, at: arrival)
      return time
    }
  }

  /// Lets the samples that wait at the start keep their distance from one that comes early.
  private mutating func moveStart(by early: MediaDuration) {
    guard self.startBurst?.move(by: early) == true else { return }
    self.lastTimes = self.lastTimes.mapValues { $0 - early }
  }

  /// Time of a sample of one of several clocks, between which a step is no gap: after the one before it, or as it comes.
  private func mapAlternating(_ kind: MediaKind, _ step: MediaDuration?, arrival: MediaTime) -> MediaTime {
    guard self.bufferedSpan != nil, let last = self.lastTimes[kind] else { return arrival }
    return max(last + (step ?? .milliseconds(20)), arrival)
  }

  /// Maps a sample that comes too late: to its time while what follows comes less late, as after a stall of the network.
  private mutating func mapLate(_ source: MediaTime, _ time: MediaTime, arrival: MediaTime) -> MediaTime {
    let late = arrival - time
    guard case .late(let minimum, let since) = self.phase, late > minimum - Self.lateProgress else {
      self.phase = .late(minimum: late, since: arrival)
      return time
    }
    guard arrival - since > Self.lateSpan else { return time }
    self.phase = .live
    return self.rebase(source, to: arrival)
  }

  /// Begins a mapping: after the samples of a connection before, which may still wait for their times.
  private mutating func begin(_ source: MediaTime, arrival: MediaTime) -> MediaTime {
    let start = self.pace == .buffered ? arrival + Self.bufferDelay : arrival
    guard let last = self.lastTimes.values.max(), last > start, self.pace != .unheld else {
      return self.rebase(source, to: start)
    }
    if self.pace != .buffered { self.phase = .held(minimum: last - arrival, maximum: last - arrival, since: arrival) }
    return self.rebase(source, to: last + .milliseconds(20))
  }

  /// A timestamp on the clock of both tracks. A track that has jumped as well as the other one is on it without a shift.
  private mutating func shifted(_ kind: MediaKind, _ source: MediaTime, arrival: MediaTime) -> MediaTime {
    guard let shift = self.shifts[kind], let offset, let last = self.lastSource[kind] else { return source }
    let shifted = source + shift
    let latest = arrival + (self.bufferedSpan ?? .zero) + Self.maximumStep
    let isAhead = shifted - last > Self.maximumStep && shifted + offset > latest
    guard isAhead || shifted + Self.backTolerance < last else { return shifted }
    (self.shifts[kind], self.lastSource[kind]) = (nil, nil)
    return source
  }

  /// Begins a new mapping where the timestamps of a track jump. The other one continues as before until it jumps too: clips that
  /// were joined end and begin at different places of their tracks.
  private mutating func jump(
    _ kind: MediaKind, _ source: MediaTime, to time: MediaTime, at arrival: MediaTime
  ) -> MediaTime {
    let previous = MediaTime.zero + (self.offset ?? .zero)
    let mapped = self.rebase(source, to: time)
    // Differences of times, which are clamped.
    let change = previous - (MediaTime.zero + (self.offset ?? .zero))
    for (other, last) in self.lastSource where other != kind {
      self.shifts[other] = MediaTime.zero + (self.shifts[other] ?? .zero) + change - .zero
      self.lastSource[other] = last + change
    }
    return mapped
  }

  /// Whether a timestamp is before the last one of its track.
  private func isBack(_ kind: MediaKind, _ source: MediaTime) -> Bool {
    self.lastSource[kind].map { source + Self.backTolerance < $0 } ?? false
  }

  /// Whether a timestamp is far from the last ones.
  private func isJump(to source: MediaTime) -> Bool {
    let limit = self.lastSource.count > 1 ? Self.maximumStep : Self.maximumStepAlone
    return !self.lastSource.isEmpty
      && self.lastSource.values.allSatisfy { last in
        let distance = source - last
        return distance > limit || distance < .zero - limit
      }
  }

  /// Time of the first sample after a jump; of a track that begins, beside the other one.
  private func next(_ kind: MediaKind, arrival: MediaTime) -> MediaTime {
    let next =
      self.lastSource[kind] == nil ? self.lastTimes.values.max() : self.lastTimes[kind].map { $0 + .milliseconds(20) }
    return max(next ?? arrival, arrival)
  }

  /// Uses a part of the burst that a source may send early.
  ///
  /// - Returns: Time by which its samples have come early until now.
  private mutating func usesBurst(_ time: MediaDuration, _ recovery: Int64, at now: MediaTime) -> MediaDuration {
    var used = time
    if let burst {
      let forgotten = (now - burst.at).nanoseconds / recovery
      used = used + max(burst.used - MediaDuration(nanoseconds: forgotten), .zero)
    }
    self.burst = (used, now)
    return used
  }

  private mutating func rebase(_ source: MediaTime, to time: MediaTime) -> MediaTime {
    self.offset = time - source
    self.forgetDrift()
    return time
  }

  private mutating func forgetDrift() {
    (self.latency, self.correction, self.leads, self.followed) = (nil, nil, [], .zero)
  }

  private mutating func follow(_ late: MediaDuration, at arrival: MediaTime) {
    guard let minimum = self.measure(late, over: Self.driftSpan, at: arrival)?.minimum else { return }
    self.correction = (min(minimum, late, Self.driftStep), arrival, arrival + Self.driftSpan)
  }

  /// Follows a buffered source whose clock runs slower before it runs empty. One that is always ahead, as a file, is read when its samples
  /// are due, whatever its clock does: the time by which it was followed in vain, as while its server was slow, is removed again.
  private mutating func followBuffered(_ late: MediaDuration, at arrival: MediaTime) {
    guard let maximum = self.measure(late, over: Self.bufferDriftSpan, at: arrival)?.maximum else { return }
    self.leads.append(MediaDuration.zero - maximum)
    guard self.leads.count >= Self.leadCount, let best = self.leads.max(), let worst = self.leads.min() else { return }
    self.leads.removeFirst()
    let missing = Self.bufferDelay - Self.bufferTolerance - best
    let excess = worst - Self.bufferDelay - Self.bufferTolerance
    var change = MediaDuration.zero
    if missing > .zero { change = min(missing / 2, Self.bufferDriftStep) }
    if excess > .zero { change = MediaDuration.zero - min(excess, self.followed, Self.bufferDriftStep) }
    guard change != .zero else { return }
    self.followed = self.followed + change
    self.correction = (change, arrival, arrival + Self.bufferDriftSpan)
  }

  /// Adds a latency to those of a span.
  ///
  /// - Returns: Their range at the end of the span, after which another one begins; nil before.
  private mutating func measure(
    _ late: MediaDuration, over span: MediaDuration, at arrival: MediaTime
  ) -> (minimum: MediaDuration, maximum: MediaDuration)? {
    let (minimum, maximum, since) = self.latency ?? (late, late, arrival)
    self.latency = (min(minimum, late), max(maximum, late), since)
    guard arrival - since >= span else { return nil }
    self.latency = nil
    return (min(minimum, late), max(maximum, late))
  }

  /// Makes the part of the correction that is due.
  private mutating func correct(at now: MediaTime) {
    guard let (change, start, end) = self.correction, now > start else { return }
    let (passed, whole) = (min(now, end) - start, end - start)
    guard whole > .zero else {
      self.correction = nil
      return
    }
    let part = MediaDuration(nanoseconds: change.nanoseconds * passed.nanoseconds / whole.nanoseconds)
    self.offset = self.offset.map { $0 + part }
    self.correction = (change - part, start + passed, end)
  }
}
