internal import Containers
public import Media
internal import NIOCore

/// One live stream as HLS: segments and muxes encoded samples, keeps a bounded window of segments, answers requests.
///
/// | file | content |
/// |------|------|
/// | `index.m3u8`    | multivariant playlist with one variant, `live.m3u8` |
/// | `live.m3u8`     | low-latency playlist of fMP4 segments and parts, draft-pantos-hls-rfc8216bis |
/// | `playlist.m3u8` | playlist of MPEG-TS segments, for every player |
/// | `TOKEN-17.ts`, `TOKEN-17.m4s` | segment with this media sequence number, in both formats |
/// | `TOKEN-17.3.m4s` | part of a segment, counted from 0 |
/// | `TOKEN-init1.mp4` | initialization segment |
///
/// A value without clock, thread or socket; its owner protects it with a lock, passes every sample and request in, calls
/// ``advance(to:)`` at ``deadline``, and performs the returned ``HLSEffects``. All times are on the streams' clock.
///
/// The stream is inactive without playlist requests, and samples cost nothing. The first request activates it and requests a
/// keyframe; ``HLSConfiguration/idleTime`` after the last request it becomes inactive and drops all segments. Media sequence
/// numbers continue for the lifetime of the value.
public struct HLSStream: Sendable {
  /// Configuration, constant for the lifetime of the stream.
  public internal(set) var configuration: HLSConfiguration
  /// Unix time at the zero of the streams' clock, for segments that start from now on. A change is a discontinuity of
  /// `EXT-X-PROGRAM-DATE-TIME`, and of nothing else.
  public var unixTimeAtZero: MediaDuration
  /// Codec configuration of each track; replaced by ``change(to:)``.
  public private(set) var descriptions: [CodecDescription]

  var timing: HLSTiming {
    didSet {
      self.window.timing = self.timing
      self.segmenter?.timing = self.timing
    }
  }
  /// Codec configuration for which the timing holds.
  private var timedDescriptions: [CodecDescription]
  /// Whether a media playlist was sent, which has promised the target duration: sequence numbers continue after a time without
  /// viewers, so that a player that returns must not meet another one.
  var areTargetsFixed = false {
    didSet { self.segmenter?.isTargetFixed = self.areTargetsFixed }
  }
  /// Whether each segment since the last activation starts with a keyframe.
  var hasIndependentSegments = true
  var window: HLSWindow
  private(set) var isEnded = false
  var variant: HLSVariant
  private var segmenter: HLSSegmenter?
  /// Whether the segments are those of another rendition.
  let follows: Bool
  private var follower: HLSFollower?
  /// Whether other renditions follow this one's segments.
  var isFollowed = false {
    didSet { if !self.isFollowed { self.plan = [] } }
  }
  private var plan: [HLSPlan.Step] = []
  /// Tags and addresses of further variants in the multivariant playlist.
  var otherVariants: [String] = [] {
    didSet { if self.otherVariants != oldValue { self.invalidate() } }
  }
  /// Positions of the stream's other renditions.
  var reports: [HLSRenditionReport] = [] {
    didSet { if self.reports != oldValue { self.invalidateReports() } }
  }
  /// Average bitrate of the stream's encoders in bits per second, for playlists before the first segment; nil when unknown.
  var encoderBitrate: Int? {
    didSet { if self.encoderBitrate != oldValue, self.bitrates.average == nil { self.invalidate() } }
  }
  var transportStream: TransportStreamMuxer
  private var fragments: FragmentedMP4Muxer
  /// Number of the initialization segment, incremented with each change.
  var initialization = 1
  private var initializationBytes: ByteBuffer
  /// Numbers of the first segment and initialization segment that were not discarded.
  private(set) var firstNumber = 0
  private(set) var firstInitialization = 0
  /// Whether a keyframe was missing when the codecs changed: requests that wait for a playlist may go on waiting.
  private var wasShortOfKeyframes = false
  /// Whether segments existed before the last inactivity.
  private var hasHistory = false
  private var lastRequest: MediaTime?
  /// Whether no player of another process has come back yet.
  private var isAwaited = false
  private var counts = HLSStatistics()
  var bitrates = HLSBitrates()
  /// Playlists written since the last change of the window.
  var playlists: [HLSPlaylistKind: HLSContent] = [:]
  /// Incremented with each change of the playlists, for `ETag`.
  var revision = 0
  /// Incremented with each change of ``reports``.
  var reportRevision = 0

  /// Creates an inactive stream.
  ///
  /// - Parameter descriptions: At least one track; the first of each kind is used.
  public init(_ descriptions: [CodecDescription], configuration: HLSConfiguration) {
    self.init(descriptions, configuration: configuration, follows: false)
  }

  /// - Parameter follows: Whether segments are started and ended by ``follow(_:)``.
  init(_ descriptions: [CodecDescription], configuration: HLSConfiguration, follows: Bool) {
    self.follows = follows
    self.configuration = configuration
    self.unixTimeAtZero = configuration.unixTimeAtZero
    self.descriptions = descriptions
    self.timing = HLSTiming(descriptions)
    self.timedDescriptions = descriptions
    self.window = HLSWindow(timing: self.timing, maximumBytes: configuration.maximumBytes)
    self.variant = HLSVariant(descriptions)
    self.transportStream = TransportStreamMuxer(descriptions)
    self.fragments = FragmentedMP4Muxer(descriptions)
    self.initializationBytes = self.fragments.initializationSegment(hasEvents: true)
  }

  /// Counters since the stream was created, and gauges of its current state.
  public var statistics: HLSStatistics {
    var statistics = self.counts
    statistics.isActive = self.isActive
    statistics.windowSegments = self.window.segments.count
    statistics.windowBytes = self.window.byteCount
    statistics.droppedSamples +=
      (self.segmenter?.droppedSamples ?? 0) + (self.follower?.droppedSamples ?? 0)
      + self.transportStream.skippedSampleCount
      + self.fragments.skippedSampleCount
    return statistics
  }

  /// Whether the stream has viewers, so that samples are muxed.
  public var isActive: Bool { self.segmenter != nil || self.follower != nil }

  /// Time of the next ``advance(to:)`` call; nil while inactive. Changes with each call of a method.
  public var deadline: MediaTime? {
    guard self.isActive else { return nil }
    let idle = self.lastRequest.map { $0 + self.idleTime }
    return [self.segmenter?.requestDue, idle].compactMap { $0 }.min()
  }

  /// Consumes a sample, in decoding order per kind; audio and video may be some hundred milliseconds apart.
  public mutating func consume(_ sample: EncodedSample, at now: MediaTime) -> HLSEffects {
    guard self.isActive else { return .none }
    var effects = self.advance(to: now)
    if let actions = self.follower?.append(sample), self.perform(actions) { effects.wakesRequests = true }
    if let actions = self.segmenter?.append(sample, at: now), self.perform(actions) { effects.wakesRequests = true }
    if self.segmenter?.requestsKeyframe(at: now) == true { effects.requestsKeyframe = true }
    return effects
  }

  /// Consumes metadata, in order of time and before the frame of its time. MPEG-TS carries metadata from the first segment
  /// that starts after this call.
  public mutating func consume(_ metadata: TimedMetadata) {
    self.transportStream.carriesMetadata = true
    self.segmenter?.append(metadata)
  }

  /// Runs timers: requests a keyframe when no frame arrived, becomes inactive when there are no requests.
  public mutating func advance(to now: MediaTime) -> HLSEffects {
    guard self.isActive else { return .none }
    if let lastRequest, now - lastRequest >= self.idleTime {
      self.deactivate()
      return HLSEffects(wakesRequests: true)
    }
    return HLSEffects(requestsKeyframe: self.segmenter?.requestsKeyframe(at: now) ?? false)
  }

  /// Continues with other codecs or parameters: ends the current segment; the next one starts with a discontinuity and a
  /// keyframe. Later samples have the new parameters; equal descriptions change nothing.
  ///
  /// The target duration is constant from the first playlist on (RFC 8216 §6.2.1), the part target while the stream is active.
  /// Where frames are longer than it, which come while the stream is inactive, addresses from before are gone. Before it, the
  /// target duration is raised to the segments of a source that meets no keyframe requests, up to 20 s; later, or then, a longer
  /// group of pictures is divided, and playlists no longer have `EXT-X-INDEPENDENT-SEGMENTS`.
  public mutating func change(to descriptions: [CodecDescription]) -> HLSEffects {
    guard descriptions != self.descriptions, !self.isEnded else { return .none }
    let isActive = self.isActive
    // Another configuration of video is that of a keyframe, which comes next.
    let hasKeyframe = descriptions.contains { $0.kind == .video && !self.descriptions.contains($0) }
    self.interrupt()
    // Parts that are listed already keep their part target.
    if !isActive || !self.areTargetsFixed && !self.window.hasParts { self.setTiming(of: descriptions) }
    self.descriptions = descriptions
    self.variant = HLSVariant(descriptions)
    self.transportStream.change(to: descriptions)
    self.fragments.change(to: descriptions)
    self.initialization += 1
    self.initializationBytes = self.fragments.initializationSegment(hasEvents: true)
    self.invalidate()
    guard isActive else { return .none }
    self.wasShortOfKeyframes = self.isShortOfKeyframes
    self.stopSegmenter()
    self.divide(startSegments: 1, isDiscontinuous: true)
    return HLSEffects(requestsKeyframe: !hasKeyframe, wakesRequests: true)
  }

  /// Discards all segments, which answer as gone from now on; the next one starts with a discontinuity and a keyframe.
  public mutating func discardEarlier() -> HLSEffects {
    guard self.window.nextNumber > 0 else { return .none }
    let isActive = self.isActive
    self.hasHistory = true
    self.stopSegmenter()
    self.window.removeAll()
    self.startAgain()
    self.invalidate()
    guard isActive, !self.isEnded else { return HLSEffects(wakesRequests: true) }
    self.divide(startSegments: self.configuration.startSegments, isDiscontinuous: true)
    return HLSEffects(requestsKeyframe: true, wakesRequests: true)
  }

  /// Ends the stream: the pending samples become the last segment, and playlists get `EXT-X-ENDLIST`.
  public mutating func end() -> HLSEffects {
    guard !self.isEnded else { return .none }
    self.interrupt()
    self.isEnded = true
    self.stopSegmenter()
    self.invalidate()
    return HLSEffects(wakesRequests: true)
  }
}

extension HLSStream {
  /// Records a request; a playlist request activates an inactive stream.
  mutating func noteRequest(_ request: HLSRequest, at now: MediaTime) -> HLSEffects {
    self.lastRequest = self.lastRequest.map { max($0, now) } ?? now
    self.isAwaited = false
    guard request.isPlaylist, !self.isActive, !self.isEnded else { return .none }
    self.counts.activations += 1
    self.divide(startSegments: self.configuration.startSegments, isDiscontinuous: self.hasHistory)
    let requestsKeyframe = self.segmenter?.requestsKeyframe(at: now) ?? false
    self.invalidate()
    return HLSEffects(requestsKeyframe: requestsKeyframe)
  }

  /// Number of the last segment with a part, and index of its last part; nil before the first.
  var lastPart: (number: Int, part: Int)? {
    let last = self.window.growing.flatMap { $0.parts.isEmpty ? nil : $0 } ?? self.window.segments.last
    return last.map { ($0.number, $0.parts.count - 1) }
  }

  /// Removes and returns the decisions on segments since the last call; nil without any.
  mutating func takePlan() -> HLSPlan? {
    guard !self.plan.isEmpty else { return nil }
    defer { self.plan = [] }
    return HLSPlan(steps: self.plan, timing: self.timing)
  }

  /// Continues with decisions of the main rendition.
  mutating func follow(_ plan: HLSPlan) -> HLSEffects {
    guard self.isActive else { return .none }
    if self.timing != plan.timing.joined { self.timing = plan.timing.joined }
    guard let actions = self.follower?.append(plan), self.perform(actions) else { return .none }
    return HLSEffects(wakesRequests: true)
  }

  /// Begins to divide samples into segments.
  private mutating func divide(startSegments: Int, isDiscontinuous: Bool) {
    if self.follows {
      self.follower = HLSFollower(self.descriptions)
    } else {
      self.segmenter = HLSSegmenter(
        self.descriptions, timing: self.timing, startSegments: startSegments, isDiscontinuous: isDiscontinuous)
      self.segmenter?.isTargetFixed = self.areTargetsFixed
    }
  }

  /// Becomes active with the segments of another process, as if a playlist had been requested; those before answer as gone.
  mutating func activateAgain(at now: MediaTime, startSegments: Int) {
    let first = self.window.retired.first ?? self.window.segments.first
    self.firstNumber = first?.number ?? self.window.nextNumber
    self.firstInitialization = first?.initialization ?? self.initialization
    self.hasHistory = true
    (self.lastRequest, self.isAwaited) = (now, true)
    self.counts.activations += 1
    self.divide(startSegments: startSegments, isDiscontinuous: true)
    self.invalidate()
  }

  /// Ends the segment with the samples that have arrived.
  ///
  /// - Parameter keepsTarget: Whether parts are left out with which the segment would exceed the target duration, such as those of audio
  ///   that is ahead of video.
  mutating func interrupt(keepsTarget: Bool = false) {
    if var actions = self.segmenter?.interrupt() {
      if keepsTarget, let start = self.window.growing?.start {
        let end = start + self.timing.maximumSegment
        actions.removeAll { action in
          if case .part(let part) = action { return part.end >= end }
          return false
        }
      }
      _ = self.perform(actions)
    }
    if let actions = self.follower?.finish() { _ = self.perform(actions) }
  }

  /// Time without a request after which the stream becomes inactive. Players request a playlist once per target duration,
  /// which is longer than 3 s only when the source's keyframes are rare. Those of another process need time to come back.
  private var idleTime: MediaDuration {
    let target = self.timing.target
    let minimum = self.isAwaited ? HLSSuspendedStreams.lifetime : target > .seconds(3) ? target * 3 : .zero
    return max(self.configuration.idleTime, minimum)
  }

  /// `EXT-X-TARGETDURATION` of its playlists; may grow until the first one is sent.
  public var targetDuration: MediaDuration { self.timing.target }

  /// Promises the target durations: a media playlist is sent.
  mutating func fixTargets() {
    if !self.areTargetsFixed { self.areTargetsFixed = true }
  }

  /// Whether the interval of the source's keyframes is known well enough to promise a target duration: they follow requests,
  /// or a segment is complete.
  var isKeyframeIntervalKnown: Bool {
    self.follows || self.areTargetsFixed || !self.window.segments.isEmpty || self.segmenter?.meetsRequests ?? false
  }

  /// Lets the addresses of all segments, parts and initialization segments so far answer as gone.
  private mutating func startAgain() {
    self.initialization += 1
    (self.firstNumber, self.firstInitialization) = (self.window.nextNumber, self.initialization)
  }

  private mutating func setTiming(of descriptions: [CodecDescription]) {
    guard self.timedDescriptions != descriptions else { return }
    var timing = HLSTiming(descriptions)
    if self.areTargetsFixed {
      if timing.targetSeconds > self.timing.targetSeconds { self.startAgain() }
      timing.targetSeconds = max(timing.targetSeconds, self.timing.targetSeconds)
    }
    self.timing = timing
    self.timedDescriptions = descriptions
  }

  /// Whether requests have the longer timeout because a keyframe is missing.
  var isShortOfKeyframes: Bool {
    // The segments of the main rendition that a further one starts with are not shorter than others, and the next may be far.
    guard self.follows else {
      if self.segmenter?.isShortOfKeyframes ?? false { return true }
      return self.wasShortOfKeyframes && self.window.segments.count < self.firstSegmentCount
    }
    return self.isActive && self.window.segments.count < self.configuration.startSegments
  }

  /// Number of complete segments that a playlist starts with.
  var firstSegmentCount: Int { min(self.configuration.startSegments, self.timing.startSegments) }

  /// Becomes inactive.
  private mutating func deactivate() {
    if self.window.nextNumber > 0 { self.hasHistory = true }
    self.stopSegmenter()
    self.window.removeAll()
    self.hasIndependentSegments = true
    self.wasShortOfKeyframes = false
    // Measurements of the same source remain valid.
    self.setTiming(of: self.descriptions)
    self.invalidate()
  }

  mutating func stopSegmenter() {
    self.counts.droppedSamples += (self.segmenter?.droppedSamples ?? 0) + (self.follower?.droppedSamples ?? 0)
    self.segmenter = nil
    self.follower = nil
  }

  /// Part without samples: a `free` box, ISO/IEC 14496-12 §8.1.2, since players treat an empty file as a failure.
  private static let emptyPart = ByteBuffer(bytes: [0, 0, 0, 8, 0x66, 0x72, 0x65, 0x65])

  /// - Returns: Whether a part or segment was completed.
  private mutating func perform(_ actions: [HLSSegmenterAction]) -> Bool {
    var isNew = false
    if self.segmenter?.hasDependentSegment ?? false { self.hasIndependentSegments = false }
    for action in actions {
      switch action {
      case .start(let time, let isDiscontinuous):
        var head = ByteBuffer()
        self.transportStream.startSegment(into: &head)
        self.window.start(
          at: time, unixTime: self.unixTimeAtZero.adding(time), isDiscontinuous: isDiscontinuous,
          initialization: self.initialization, self.initializationBytes, transportStream: head)
        if self.isFollowed, let start = self.window.growing?.common { self.plan.append(.start(start)) }
      case .part(let part):
        isNew = true
        self.append(part)
        if self.isFollowed { self.plan.append(.part(end: part.end)) }
      case .end:
        isNew = true
        self.endSegment()
        if self.isFollowed { self.plan.append(.end) }
      }
    }
    if isNew { self.invalidate() }
    return isNew
  }

  /// - Returns: Whether a part or segment was completed.
  private mutating func perform(_ actions: [HLSFollower.Action]) -> Bool {
    var isNew = false
    if self.follower?.hasDependentSegment ?? false { self.hasIndependentSegments = false }
    for action in actions {
      switch action {
      case .start(let start):
        var head = ByteBuffer()
        self.transportStream.startSegment(into: &head)
        self.window.start(
          start, initialization: self.initialization, self.initializationBytes, transportStream: head)
      case .part(let part):
        isNew = true
        self.append(part)
      case .end:
        isNew = true
        self.endSegment()
      }
    }
    if isNew { self.invalidate() }
    return isNew
  }

  private mutating func append(_ part: HLSPartSamples) {
    self.counts.parts += 1
    var body = self.fragments.fragment(part.samples, events: part.metadata)
    if body.readableBytes == 0 { body = Self.emptyPart }
    self.window.append(
      HLSPart(duration: part.end - part.start, isIndependent: part.isIndependent, body: body), until: part.end
    ) { buffer in
      self.transportStream.mux(part.samples, metadata: part.metadata, into: &buffer)
    }
  }

  private mutating func endSegment() {
    self.window.end { self.transportStream.flush(into: &$0) }
    guard let last = self.window.segments.last else { return }
    self.counts.segments += 1
    self.bitrates.add(bytes: last.fragments.readableBytes, duration: last.duration)
    var raised = self.timing
    // No `EXTINF` may exceed it, also that of a segment that has ended without a keyframe.
    if !self.follows, !self.areTargetsFixed, raised.raise(to: last.duration) { self.timing = raised }
  }
}

extension MediaDuration {
  /// Sum of this duration and a time of the clock, clamped.
  fileprivate func adding(_ time: MediaTime) -> MediaDuration {
    (time + self) - .zero
  }
}
