internal import Media

/// Divides the samples of a further rendition into the segments that the main rendition's segmenter has decided, and into parts that
/// join ``HLSTiming/joinedPartCount`` of its parts each, the last one of a segment fewer.
///
/// A part is closed once all its samples have arrived, which a later sample of each kind proves; a kind that is
/// ``maximumLag`` behind the plan is no longer waited for. The first segment is one that starts with a keyframe, which the
/// renditions share; segments before it are skipped.
struct HLSFollower: Sendable {
  enum Action: Sendable {
    case start(HLSSegmentStart)
    case part(HLSPartSamples)
    case end
  }

  /// Maximum lag of a kind behind the plan for which a part waits.
  static let maximumLag = MediaDuration.milliseconds(250)
  /// Maximum number of samples of a kind that wait for the plan.
  static let maximumSamples = 1024
  /// Maximum number of steps that wait for samples.
  static let maximumSteps = 256

  private let hasAudio: Bool
  private var steps: [HLSPlan.Step] = []
  /// Latest time of the plan.
  private var planReach: MediaTime?
  private var video: [EncodedSample] = []
  private var audio: [EncodedSample] = []
  /// Time up to which all samples of a kind have arrived; nil before the first.
  private var videoReach: MediaTime?
  private var audioReach: MediaTime?
  /// Start of the current part; nil outside of a segment.
  private var partStart: MediaTime?
  /// End of the last of the main rendition's parts that are to be joined with the next one; nil without any.
  private var joinedEnd: MediaTime?
  private var joinedCount = 0
  /// Number of parts to join.
  private var partCount = 1
  private var isFirst = true
  private(set) var droppedSamples = 0
  /// Whether a segment has started with a frame that is no keyframe.
  private(set) var hasDependentSegment = false

  init(_ descriptions: [CodecDescription]) {
    self.hasAudio = descriptions.contains { $0.kind == .audio }
  }

  /// Appends a sample.
  mutating func append(_ sample: EncodedSample) -> [Action] {
    switch sample.kind {
    case .video:
      guard self.videoReach.map({ $0 < sample.decodeTime }) ?? true else { return self.drop() }
      self.videoReach = sample.decodeTime
      self.video.append(sample)
      if self.video.count > Self.maximumSamples {
        self.video.removeFirst()
        self.droppedSamples += 1
      }
    case .audio:
      guard self.hasAudio, self.audio.last.map({ $0.decodeTime < sample.decodeTime }) ?? true else {
        return self.drop()
      }
      self.audioReach = sample.decodeTime + sample.duration
      self.audio.append(sample)
      if self.audio.count > Self.maximumSamples {
        self.audio.removeFirst()
        self.droppedSamples += 1
      }
    }
    return self.proceed()
  }

  /// Appends decisions of the main rendition.
  mutating func append(_ plan: HLSPlan) -> [Action] {
    self.partCount = plan.timing.joinedPartCount
    for step in plan.steps {
      switch step {
      case .start(let start): self.note(start.time)
      case .part(let end): self.note(end)
      case .end: break
      }
      self.steps.append(step)
    }
    if self.steps.count > Self.maximumSteps { self.steps.removeFirst(self.steps.count - Self.maximumSteps) }
    return self.proceed()
  }

  /// Ends the segment with what it has; the next one that is planned follows.
  mutating func finish() -> [Action] {
    defer { self.steps = [] }
    var actions: [Action] = []
    self.endSegment(into: &actions)
    return actions
  }

  private mutating func note(_ time: MediaTime) {
    self.planReach = self.planReach.map { max($0, time) } ?? time
  }

  private mutating func drop() -> [Action] {
    self.droppedSamples += 1
    return []
  }

  private mutating func proceed() -> [Action] {
    var actions: [Action] = []
    while let step = self.steps.first {
      switch step {
      case .start(let start):
        guard self.isReached(self.videoReach, start.time) else { return actions }
        self.steps.removeFirst()
        self.start(start, into: &actions)
      case .part(let end):
        guard self.partStart != nil else {
          self.steps.removeFirst()
          continue
        }
        guard self.isReached(self.videoReach, end), !self.hasAudio || self.isReached(self.audioReach, end) else {
          return actions
        }
        self.steps.removeFirst()
        (self.joinedEnd, self.joinedCount) = (end, self.joinedCount + 1)
        if self.joinedCount >= self.partCount { self.endPart(into: &actions) }
      case .end:
        self.steps.removeFirst()
        self.endSegment(into: &actions)
      }
    }
    return actions
  }

  private func isReached(_ reach: MediaTime?, _ time: MediaTime) -> Bool {
    if let reach, reach >= time { return true }
    return self.planReach.map { $0 - Self.maximumLag >= time } ?? false
  }

  /// Ends the part that joins what the main rendition has divided.
  private mutating func endPart(into actions: inout [Action]) {
    guard let partStart, let joinedEnd else { return }
    actions.append(.part(self.part(from: partStart, to: joinedEnd)))
    (self.partStart, self.joinedEnd, self.joinedCount) = (joinedEnd, nil, 0)
  }

  private mutating func endSegment(into actions: inout [Action]) {
    self.endPart(into: &actions)
    if self.partStart != nil { actions.append(.end) }
    (self.partStart, self.joinedEnd, self.joinedCount) = (nil, nil, 0)
  }

  private mutating func start(_ start: HLSSegmentStart, into actions: inout [Action]) {
    self.endSegment(into: &actions)
    let first = self.video.first { HLSSegmenter.boundary($0.decodeTime) >= start.time }
    // A later frame than the main rendition's keyframe belongs to a group of pictures whose start is missing.
    let startsWithKeyframe = first.map { $0.isKeyframe && HLSSegmenter.boundary($0.decodeTime) == start.time } ?? false
    if self.isFirst, !startsWithKeyframe { return }
    if self.isFirst {
      let count = self.video.count + self.audio.count
      self.video.removeAll { HLSSegmenter.boundary($0.decodeTime) < start.time }
      self.audio.removeAll { HLSSegmenter.boundary($0.decodeTime) < start.time }
      self.droppedSamples += count - self.video.count - self.audio.count
    }
    if !startsWithKeyframe { self.hasDependentSegment = true }
    self.isFirst = false
    self.partStart = start.time
    actions.append(.start(start))
  }

  private mutating func part(from start: MediaTime, to end: MediaTime) -> HLSPartSamples {
    let videoCount = self.video.firstIndex { HLSSegmenter.boundary($0.decodeTime) >= end } ?? self.video.count
    let audioCount = self.audio.firstIndex { HLSSegmenter.boundary($0.decodeTime) >= end } ?? self.audio.count
    var frames = self.video.prefix(videoCount)
    for index in frames.indices {
      let next = index + 1 < self.video.endIndex ? self.video[index + 1].decodeTime : end
      let duration = next - frames[index].decodeTime
      if duration > .zero, duration < .seconds(1) { frames[index].duration = duration }
    }
    let samples = HLSSegmenter.merge(frames, self.audio.prefix(audioCount))
    self.video.removeFirst(videoCount)
    self.audio.removeFirst(audioCount)
    return HLSPartSamples(samples: samples, start: start, end: end, isIndependent: frames.contains(where: \.isKeyframe))
  }
}
