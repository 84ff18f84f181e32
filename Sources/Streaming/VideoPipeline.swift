internal import Capture
internal import Codecs
internal import Effects
internal import Media
internal import NIOCore
internal import Synchronization
internal import Threading

/// Performs what ``VideoSchedule`` decides, on the thread of the video pipeline: takes events from the input queue, and
/// drives the encoder, the decoder of passed-through sources and the counters.
///
/// A source that compresses its video is passed through where ``PassThroughRule`` allows it and frames are not reordered
/// (no B-frames, which neither RTSP clients nor WebRTC accept); otherwise it is transcoded.
///
/// ``LiveStream`` makes it on a thread of its own when the stream starts, and runs it there until the stream ends:
///
/// ```swift
/// let pipeline = try VideoPipeline(
///   source: capturer.format, feed: feed, inputQueue: inputQueue, settings: self.videoSettings, shared: self.shared)
/// try pipeline.run { description in … }   // once, when the first sample is out
/// ```
final class VideoPipeline {
  private let inputQueue: VideoInputQueue
  private let shared: StreamState
  private let stage: EncoderStage
  private let clock = StreamClock.system
  private var schedule: VideoSchedule
  /// The samples of the current source, where it compresses its video.
  private let gopCache = GOPCache()
  /// Decodes passed-through samples for the renditions in use.
  private let renditionDecoder: RenditionDecoder
  private var isDecodingForRenditions = false
  /// Difference between the times of the output and those of the source, of the last sample that was passed through.
  private var passedShift = MediaDuration.zero
  private lazy var slate = ReleasedFrame.slate(self.slateText, format: self.stage.format)
  /// Slate of a source that is connected, and whose decoding cannot start yet.
  private lazy var waitingSlate = ReleasedFrame.slate(self.waitingSlateText, format: self.stage.format)
  private let slateText: String
  private let waitingSlateText: String
  private var isSourceWaiting = false

  /// The current source.
  private var feed: VideoFeed
  /// Duration of a frame at the stream's frame rate.
  private let frameInterval: MediaDuration
  /// The last frame of the source; while encoding is paused, the displayed frame. It is in the memory of its source
  /// only while frames of that source are displayed: a device whose memory is retained cannot be opened again.
  private var lastFrame: SourceFrame?
  private var isLastFrameCopied = false
  /// Whether the last frame was private.
  private var isPrivate: Bool

  /// Opens the encoder for a started source, once the first frame has shown its orientation.
  init(
    source: VideoFormat,
    feed: VideoFeed,
    inputQueue: VideoInputQueue,
    settings: VideoSettings,
    shared: StreamState
  ) throws(VidiconError) {
    let frameRate = min(settings.frameRate ?? source.frameRate, source.frameRate)
    let first = inputQueue.first(until: StreamClock.system.now() + settings.sourceTimeout)
    var orientation = feed.adjustment.rotation
    switch first {
    case .frame(let rotated): orientation = rotated
    case .sample(let sample): orientation = sample.orientation.turned(by: feed.adjustment.rotation)
    case nil: break
    }
    let isTurned = orientation.swapsWidthAndHeight
    let format = VideoFormat(
      width: settings.width ?? max(16, (isTurned ? source.height : source.width) & ~1),
      height: settings.height ?? max(16, (isTurned ? source.width : source.height) & ~1),
      frameRate: frameRate,
      colorMatrix: source.pixelFormat.isYCbCr ? source.colorMatrix : .bt601)
    self.frameInterval = frameRate.frameInterval
    self.slateText = settings.slateText
    self.waitingSlateText = settings.waitingSlateText
    self.inputQueue = inputQueue
    self.renditionDecoder = RenditionDecoder(format: format, settings: settings, shared: shared)
    self.feed = feed
    self.shared = shared
    self.isPrivate = shared.effects.isPrivate
    let rule = PassThroughRule(settings)
    var opensEncoder = true
    if case .sample(let sample) = first {
      let summary = sample.summary(shared)
      opensEncoder = summary.needsEncoder || shared.isPaused || !rule.allows(summary, in: format)
    }
    self.stage = try EncoderStage(
      format: format, settings: settings, shared: shared, inputQueue: inputQueue, opensEncoder: opensEncoder)
    self.schedule = VideoSchedule(
      VideoSchedule.Configuration(
        format: format, passThrough: rule, slateDelay: settings.sourceTimeout,
        slateDelayAfterEnd: settings.slateDelayAfterEnd, pausedInterval: settings.pausedInterval,
        maximumKeyframeInterval: settings.keyframeInterval),
      source: feed.id, isSourceSilent: first == nil, at: self.clock.now())
    inputQueue.limit(to: frameRate)
    shared.renditions.connect(
      settings, format: format, report: { [weak shared] in shared?.report($0) },
      requestKeyframe: { [weak inputQueue] in inputQueue?.requestKeyframe() },
      requestFrame: { [weak inputQueue] in inputQueue?.requestFrame() })
    shared.snapshots.connect(
      SnapshotRequests.Source(
        format: format, frameInterval: frameRate.frameInterval,
        isStill: { [weak shared] in shared?.isPaused ?? false },
        ask: { [weak inputQueue] in inputQueue?.requestSnapshot() }))
  }

  deinit {
    self.renditionDecoder.rest()
  }

  /// Runs until the input queue is closed.
  ///
  /// - Parameter started: Called once, with the codec description, when the first sample is out.
  /// - Throws: When the source fails before its first frame, or the encoder fails.
  func run(started: (CodecDescription) -> Void) throws(VidiconError) {
    var isAnnounced = false
    while true {
      self.schedule.isPaused = self.shared.isPaused
      let event = self.inputQueue.next(until: self.schedule.nextDeadline)
      self.schedule.isPaused = self.shared.isPaused
      if case .closed? = event { return }
      try self.handle(event, now: self.clock.now())
      if !isAnnounced, let description = self.stage.description {
        isAnnounced = true
        started(description)
      }
    }
  }

  /// Discards earlier frames, and begins with a keyframe, where frames are private from now on.
  private func notePrivacy(now: MediaTime) {
    let isPrivate = self.shared.effects.isPrivate
    defer { self.isPrivate = isPrivate }
    guard isPrivate, !self.isPrivate else { return }
    self.restRenditionDecoder()
    self.shared.discardEarlier()
    self.handle(.keyframeRequested, now: now)
  }

  private func handle(_ event: VideoInputQueue.Event?, now: MediaTime) throws(VidiconError) {
    self.notePrivacy(now: now)
    switch event {
    case .closed: break
    case .keyframeRequested: self.handle(.keyframeRequested, now: now)
    case .frameRequested: self.handle(.frameRequested, now: now)
    case .redrawRequested: self.handle(.redrawRequested, now: now)
    case .snapshotRequested: if self.schedule.isPassing { self.decodeSnapshot(now: now) }
    case .frame(let frame): try self.handle(frame, now: now)
    case .sample(let sample, let waiting): try self.handle(sample, backlog: waiting, now: now)
    case .ended(let error):
      guard self.schedule.handle(.sourceEnded, at: now) != .fail else {
        throw error
          ?? VidiconError(
            .missingTrack, subject: "video source", cause: "it ended before its first frame",
            nextStep: "check that it has video")
      }
      self.setWaiting(false)
      try self.encodeHeldBack(now: now)
      self.shared.report(.sourceEnded(.video, error))
      self.performNotices()
    case .waits(let reason):
      self.setWaiting(true)
      self.shared.report(.sourceWaits(reason))
    case nil: try self.performTimeout(now: now)
    }
  }

  /// Records whether decoding of the source waits for its start.
  private func setWaiting(_ isWaiting: Bool) {
    guard isWaiting != self.isSourceWaiting else { return }
    self.isSourceWaiting = isWaiting
    self.shared.statistics.withLock { $0.isSourceWaiting = isWaiting }
  }

  /// Passes an event that needs no action to the schedule, and performs the notices of that.
  private func handle(_ event: VideoSchedule.Event, now: MediaTime) {
    _ = self.schedule.handle(event, at: now)
    self.performNotices()
  }

  private func handle(_ frame: SourceFrame, now: MediaTime) throws(VidiconError) {
    self.setWaiting(false)
    var frame = frame
    frame.frame.timestamp = frame.frame.timestamp.checked(at: now, reportsLoss: frame.feed.reportsLoss)
    let action = self.schedule.handle(
      .frame(
        FrameSummary(
          timestamp: frame.frame.timestamp, source: frame.feed.id, reportsLoss: frame.feed.reportsLoss)), at: now)
    self.performNotices(of: frame.feed)
    switch action {
    case .dropNewest: frame.feed.drop(frame.frame.timestamp, reason: .late)
    case .keepNewest(let timestamp):
      frame.frame.timestamp = timestamp
      self.lastFrame = frame
      self.isLastFrameCopied = false
      self.releaseSourceMemory()
    case .encodeNewest(let timestamp, let forcesKeyframe):
      frame.frame.timestamp = timestamp
      self.lastFrame = frame
      self.isLastFrameCopied = false
      self.finish(
        try self.stage.encode(frame, completes: false, forcesKeyframe: forcesKeyframe, now: now), now: now)
    default: break
    }
  }

  private func handle(_ sample: SourceSample, backlog: Int, now: MediaTime) throws(VidiconError) {
    self.setWaiting(false)
    var sample = sample
    let checked = sample.sample.decodeTime.checked(at: now, reportsLoss: sample.feed.reportsLoss)
    let shift = checked - sample.sample.decodeTime
    sample.sample.decodeTime += shift
    sample.sample.presentationTime += shift
    var summary = sample.summary(self.shared, backlog: backlog)
    summary.isDecodable = sample.sample.isKeyframe || sample.feed.id == self.feed.id && self.gopCache.isDecodable
    let action = self.schedule.handle(.sample(summary), at: now)
    self.performNotices(of: sample.feed)
    self.gopCache.append(sample.sample, of: sample.description)
    switch action {
    case .passThrough(let decodeTime, let presentationTime):
      self.lastFrame = nil
      let sourceTime = sample.sample.presentationTime
      sample.sample.decodeTime = decodeTime
      sample.sample.presentationTime = presentationTime
      let generation = self.stage.generation
      // Effects that were set since the decision: the next sample is transcoded.
      guard let permission = self.shared.effects.passThroughPermission else { break }
      self.stage.pass(sample, permission: permission, generation: generation, now: now)
      self.passedShift = presentationTime - sourceTime
      self.decodeForRenditions(sample, now: now)
      if self.shared.snapshots.passThrough() { self.decodeSnapshot(now: now) } else { self.gopCache.rest() }
    case .closeDecoder:
      self.gopCache.rest()
      self.restRenditionDecoder()
    case .transcode(let dropsFrames):
      self.restRenditionDecoder()
      for var frame in self.gopCache.decode() where sample.feed.accepts(frame.timestamp) {
        frame.orientation = sample.orientation
        guard !dropsFrames else {
          sample.feed.drop(frame.timestamp, reason: .late)
          continue
        }
        try self.handle(
          SourceFrame(frame: frame, colorMatrix: frame.format.colorMatrix, feed: sample.feed), now: self.clock.now())
      }
    default: break
    }
  }

  private func performTimeout(now: MediaTime) throws(VidiconError) {
    let action = self.schedule.handleTimeout(at: now)
    self.performNotices()
    switch action {
    case .encodeLastAgain(let timestamp, let forcesKeyframe):
      guard var frame = self.lastFrame else { return self.finish(.dropped, now: now) }
      frame.frame.timestamp = timestamp
      self.finish(
        try self.stage.encode(frame, completes: true, forcesKeyframe: forcesKeyframe, now: now), now: now)
    case .keepStill:
      guard let frame = self.gopCache.decodeLast() else { break }
      self.lastFrame = SourceFrame(frame: frame, colorMatrix: frame.format.colorMatrix, feed: self.feed)
      self.isLastFrameCopied = false
      self.schedule.keepStill(at: now)
    case .repeatDecoded(let timestamp):
      if self.startRenditionDecoder(now: now) {
        self.renditionDecoder.repeatLast(timestamp: timestamp)
      } else {
        self.schedule.endDecodedRepetition(at: now)
      }
    case .encodeSlate(let timestamp, let forcesKeyframe):
      let slate = self.isSourceWaiting ? self.waitingSlate : self.slate
      self.finish(
        try self.stage.encodeSlate(slate.at(timestamp), forcesKeyframe: forcesKeyframe, now: now), now: now)
    default: break
    }
  }

  /// Encodes what a privacy effect holds back, followed by the last frame again: no other frame may come.
  private func encodeHeldBack(now: MediaTime) throws(VidiconError) {
    guard self.shared.effects.isPrivate, var frame = self.lastFrame else { return }
    frame.frame.timestamp += self.frameInterval
    _ = try self.stage.encode(frame, completes: true, forcesKeyframe: false, now: now)
  }

  private func finish(_ result: VideoSchedule.EncodingResult, now: MediaTime) {
    self.restRenditionDecoder()
    self.schedule.finishEncoding(result, at: now)
    self.performNotices()
  }

  /// - Parameter feed: The source of the event; `nil` where the event has none.
  private func performNotices(of feed: VideoFeed? = nil) {
    for notice in self.schedule.takeNotices() {
      switch notice {
      case .sourceSwitched:
        if let feed { self.feed = feed }
        self.setWaiting(false)
        self.gopCache.reset()
        self.restRenditionDecoder()
        self.shared.report(.sourceSwitched(.video))
      case .sourceSilent: self.shared.report(.sourceSilent)
      case .slateShown: self.shared.statistics.withLock { $0.isSlateShown = true }
      case .slateHidden:
        self.shared.statistics.withLock { $0.isSlateShown = false }
        self.shared.report(.sourceBack(.video))
      case .releaseSourceMemory: self.releaseSourceMemory()
      case .requestKeyframeFromSource: self.feed.requestKeyframe()
      }
    }
  }

  /// Copies the last frame, so that the source can reuse its buffer.
  private func releaseSourceMemory() {
    guard !self.isLastFrameCopied, let lastFrame else { return }
    self.lastFrame = lastFrame.copy
    self.isLastFrameCopied = true
    self.shared.snapshots.releaseSourceMemory()
  }

  /// Decodes passed-through samples for a snapshot.
  private func decodeSnapshot(now: MediaTime) {
    if let frame = self.gopCache.decode().last { self.stage.showDecoded(frame, now: now) }
  }

  /// Has passed-through samples decoded on another thread, while a rendition is in use.
  private func decodeForRenditions(_ sample: SourceSample, now: MediaTime) {
    guard self.isDecodingForRenditions, self.shared.renditions.isInUse else {
      _ = self.startRenditionDecoder(now: now)
      return
    }
    guard case .h264(let description) = sample.description else { return }
    if !self.renditionDecoder.append(sample.sample, of: description, at: now) {
      self.handle(.groupRequested, now: now)
    }
  }

  /// Begins to decode for the renditions in use, unless that runs: with the samples since the last keyframe. Without these the source
  /// is asked for one.
  ///
  /// - Returns: Whether it runs.
  private func startRenditionDecoder(now: MediaTime) -> Bool {
    guard self.shared.renditions.isInUse else {
      self.restRenditionDecoder()
      return false
    }
    guard !self.isDecodingForRenditions else { return true }
    guard let (description, group) = self.gopCache.group else {
      self.handle(.groupRequested, now: now)
      return false
    }
    let shift = self.passedShift
    self.isDecodingForRenditions = self.renditionDecoder.start(
      with: group.map { sample in
        var sample = sample
        sample.presentationTime += shift
        sample.decodeTime += shift
        return sample
      }, of: description, at: now)
    return self.isDecodingForRenditions
  }

  private func restRenditionDecoder() {
    guard self.isDecodingForRenditions else { return }
    self.isDecodingForRenditions = false
    self.renditionDecoder.rest()
  }
}

extension SourceSample {
  fileprivate func summary(_ shared: StreamState, backlog: Int = 0) -> SampleSummary {
    SampleSummary(
      decodeTime: self.sample.decodeTime, presentationTime: self.sample.presentationTime,
      isKeyframe: self.sample.isKeyframe, description: self.description, source: self.feed.id,
      reportsLoss: self.feed.reportsLoss,
      orientation: self.orientation, adjustment: self.feed.adjustment, hasEffects: shared.hasEffects,
      bitrate: shared.videoBitrate, backlog: backlog)
  }
}
