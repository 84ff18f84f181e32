internal import Media

/// Brings the times of a network source onto the streams' clock: one mapping for pictures and sound, which stay in step.
///
/// Pictures that are sent as they are captured are mapped so that the quickest of them were captured when they came: the
/// others were under way for longer, which shows in their times and not in their order. A burst at the start, as from a
/// server that sends its last seconds first, moves the mapping with each picture, so that no delay is left over. The clock
/// of a source that runs slower than ours is followed, at 5 ms in 10 s at most.
///
/// What comes in bursts, segments and files, is mapped once, a little into the future, and handed on when its time has
/// come.
///
/// Where the source's times jump, the mapping is made anew. Times that come out always rise.
struct SourceTimeline {
  /// How samples come.
  enum Pace: Hashable {
    /// As they are captured.
    case live
    /// Earlier than they are to be shown, and kept until then.
    case buffered
  }

  /// Of a sample, on the streams' clock.
  struct Times: Hashable {
    var decode: MediaTime
    var presentation: MediaTime
  }

  /// How far a source that comes in bursts is kept behind its first sample, so that the next burst may be a bit late.
  static let bufferDelay = MediaDuration.milliseconds(500)
  /// A live sample that is later than this begins a new mapping: the source's clock was set back, or the network hung.
  static let longestLateness = MediaDuration.seconds(3)
  /// A greater distance of two samples of a kind is a jump of the source's times.
  static let longestStep = MediaDuration.seconds(5)
  /// The least distance of two samples of a kind: more than one tick of each protocol's clock.
  static let shortestStep = MediaDuration.microseconds(100)
  /// The farthest that a picture is shown after it is decoded.
  static let longestReordering = MediaDuration.seconds(2)
  /// How long lateness is looked at before the mapping follows it, and how far it does.
  static let driftSpan = MediaDuration.seconds(10)
  static let driftStep = MediaDuration.milliseconds(5)

  private var pace = Pace.live
  /// What is added to the source's times.
  private var offset: MediaDuration?
  private var lastSource: [MediaKind: Int64] = [:]
  private var lastTimes: [MediaKind: MediaTime] = [:]
  /// The least lateness since a time.
  private var lateness: (least: MediaDuration, since: MediaTime)?

  /// Begins anew with another connection; times go on rising.
  mutating func restart(_ pace: Pace) {
    self.pace = pace
    self.offset = nil
    self.lastSource = [:]
    self.lateness = nil
  }

  /// The times of the next sample of a kind.
  ///
  /// - Parameters:
  ///   - decode: When it is to be decoded, in nanoseconds on the source's clock; nil where that is not told.
  ///   - presentation: When it is to be shown, likewise.
  ///   - arrival: When it came.
  mutating func map(_ kind: MediaKind, decode: Int64?, presentation: Int64?, arrival: MediaTime) -> Times {
    let earliest = self.lastTimes[kind].map { $0 + Self.shortestStep }
    var time = arrival
    if let source = decode ?? presentation {
      time = self.map(kind, source, arrival: arrival)
      self.lastSource[kind] = source
    }
    if let earliest { time = max(time, earliest) }
    self.lastTimes[kind] = time
    var reordering = MediaDuration.zero
    if let decode, let presentation {
      reordering = MediaTime(nanoseconds: presentation) - MediaTime(nanoseconds: decode)
    }
    return Times(decode: time, presentation: time + min(max(reordering, .zero), Self.longestReordering))
  }

  private mutating func map(_ kind: MediaKind, _ source: Int64, arrival: MediaTime) -> MediaTime {
    let source = MediaTime(nanoseconds: source)
    guard let offset else {
      return self.rebase(source, to: self.pace == .live ? arrival : arrival + Self.bufferDelay)
    }
    let time = source + offset
    switch self.pace {
    case .live:
      let isBack = self.lastSource[kind].map { source.nanoseconds < $0 } ?? false
      let late = arrival - time
      if late < .zero || late > Self.longestLateness || isBack { return self.rebase(source, to: arrival) }
      self.follow(late, at: arrival)
      return time
    case .buffered:
      let isJump =
        self.lastTimes[kind].map { time + .milliseconds(500) < $0 || time - $0 > Self.longestStep }
        ?? (time - arrival > Self.longestStep)
      if isJump {
        return self.rebase(source, to: max(self.lastTimes[kind].map { $0 + .milliseconds(20) } ?? arrival, arrival))
      }
      // The buffer has run empty: it is filled again.
      return arrival - time > Self.bufferDelay ? self.rebase(source, to: arrival + Self.bufferDelay) : time
    }
  }

  private mutating func rebase(_ source: MediaTime, to time: MediaTime) -> MediaTime {
    self.offset = time - source
    self.lateness = nil
    return time
  }

  private mutating func follow(_ late: MediaDuration, at arrival: MediaTime) {
    let (least, since) = self.lateness ?? (late, arrival)
    self.lateness = (min(least, late), since)
    guard arrival - since >= Self.driftSpan else { return }
    self.offset = self.offset.map { $0 + min(least, late, Self.driftStep) }
    self.lateness = nil
  }
}
