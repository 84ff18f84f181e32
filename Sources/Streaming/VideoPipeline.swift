internal import Bitstreams
internal import Capture
internal import Codecs
internal import Media
internal import NIOCore
internal import Synchronization
internal import Threading

/// The way of the pictures from the inputQueue into the encoder: what is shown when. It lives on one thread.
///
/// A source that compresses itself is passed through where nothing is to be done to its pictures, and where they have the
/// canvas' size and are shown in the order in which they are decoded (no B-pictures, which neither RTSP's clients nor
/// WebRTC's take); else its pictures are decoded. It is passed through again from its next keyframe on.
///
/// When the source gives nothing for a while, or has ended, viewers see a slate at the stream's frame rate. When
/// encoding is paused, or the source is slower than a keyframe request may wait, the last picture is encoded once more.
final class VideoPipeline {
  private let inputQueue: VideoInputQueue
  private let shared: StreamState
  private let settings: VideoSettings
  private let frameRate: FrameRate
  private let stage: EncoderStage
  /// What the present source gives, where it compresses itself.
  private let compressed = GOPCache()
  private var isPassing = false
  /// Of pictures that are shown in another order than they are decoded in.
  private var reordered: CodecDescription?
  /// When a source that is passed through may be asked for a keyframe again.
  private var nextKeyframeRequest = MediaTime.zero
  /// Until when pictures are decoded for those who look at single ones.
  private var previewEnd: MediaTime?
  private let clock = StreamClock.system

  /// Where the last picture came from.
  private var feed: VideoFeed
  /// The last picture from the source; while encoding is paused, the one that stands still. It is in the memory of its
  /// source only while that one gives pictures that are shown: a device whose memory is kept cannot be opened again.
  private var lastPicture: SourcePicture?
  /// Whether that is a copy.
  private var isLastPictureCopied = false
  /// Whether it is to be shown anew even if no other one comes.
  private var isRedrawDue = false
  /// Before this the last picture is not tried again, since an effect has taken it out.
  private var nextRepetition = MediaTime.zero
  /// Until when a picture that stands still is encoded at the full frame rate.
  private var steadyEnd = MediaTime.zero
  /// How long after its capture the last frame arrived.
  private var captureDelay = MediaDuration.zero
  /// When the last frame arrived, or the pipeline started.
  private var lastArrival: MediaTime
  private lazy var slate = Slate.picture(format: self.stage.format)
  /// When the next slate is to be encoded; nil while the source gives pictures.
  private var nextSlate: MediaTime?

  /// Opens the encoder for a started source, once its first frame tells how it is turned.
  init(
    source: VideoFormat,
    feed: VideoFeed,
    inputQueue: VideoInputQueue,
    settings: VideoSettings,
    shared: StreamState,
    announce: @escaping (CodecDescription) -> Void,
    tell: @escaping (PictureMetadata) -> Void,
    emit: @escaping (EncodedSample) -> Void
  ) throws(VidiconError) {
    let frameRate = min(settings.frameRate ?? source.frameRate, source.frameRate)
    let first = inputQueue.first(until: StreamClock.system.now() + settings.sourceTimeout)
    var orientation = feed.adjustment.rotation
    switch first {
    case .picture(let turned): orientation = turned
    case .sample(let sample): orientation = sample.orientation.turned(by: feed.adjustment.rotation)
    case nil: break
    }
    let isTurned = orientation.swapsWidthAndHeight
    let format = VideoFormat(
      width: settings.width ?? max(16, (isTurned ? source.height : source.width) & ~1),
      height: settings.height ?? max(16, (isTurned ? source.width : source.height) & ~1),
      frameRate: frameRate,
      colorMatrix: source.pixelFormat.isYCbCr ? source.colorMatrix : .bt601)
    self.inputQueue = inputQueue
    self.feed = feed
    self.shared = shared
    self.settings = settings
    self.frameRate = frameRate
    var opensEncoder = true
    if case .sample(let sample) = first {
      opensEncoder =
        Self.isReordered(sample) || !Self.fits(sample, format: format, settings: settings, shared: shared)
    }
    self.stage = try EncoderStage(
      format: format, settings: settings, shared: shared, opensEncoder: opensEncoder, announce: announce, tell: tell,
      emit: emit)
    // Without a frame until now the slate is due.
    self.lastArrival = self.clock.now() - (first == nil ? settings.sourceTimeout : .zero)
    inputQueue.limit(to: frameRate)
    shared.pictures.connect(
      format: format, frameInterval: frameRate.frameInterval,
      ask: { [weak inputQueue] in inputQueue?.requestPicture(after: $0) })
  }

  /// Runs until the inputQueue is closed.
  ///
  /// - Parameter started: Called once, with the description, when the first sample is out.
  /// - Throws: When the source fails before its first picture, or the encoder fails.
  func run(started: (CodecDescription) -> Void) throws(VidiconError) {
    var isAnnounced = false
    while true {
      switch self.inputQueue.next(until: self.deadline) {
      case .closed: return
      case .keyframeRequested:
        self.stage.requestKeyframe()
        self.steadyEnd = self.clock.now() + Self.timeToJoin
        if self.isPassing { self.askForKeyframe(now: self.clock.now()) }
      case .pictureRequested(let number): self.handlePictureRequest(after: number, now: self.clock.now())
      case .redrawRequested: self.isRedrawDue = true
      case .picture(let picture): try self.handle(picture)
      case .sample(let sample, let waiting): try self.handle(sample, waiting: waiting)
      case .ended(let error): try self.handleEnd(error)
      case nil: try self.handleDeadline(now: self.clock.now())
      }
      if !isAnnounced, let description = self.stage.description {
        isAnnounced = true
        started(description)
      }
    }
  }

  /// When something is to be done if no frame comes before.
  private var deadline: MediaTime {
    var deadline = self.nextSlate ?? (self.lastArrival + self.settings.sourceTimeout)
    if let repetition = self.repetitionTime { deadline = min(deadline, repetition) }
    if let picture = self.stage.pictures.deadline { deadline = min(deadline, picture) }
    return deadline
  }

  /// How long a picture that stands still, as a screen's often does, is encoded at the full frame rate for a new viewer:
  /// players learn from the first pictures what they got, and ffmpeg, for one, waits for some twenty of them. Half a second
  /// may pass until the keyframe that it begins with.
  private static let timeToJoin = MediaDuration.milliseconds(1500)

  /// When the last picture is encoded again: to meet a keyframe request that the source is too slow for, to show it turned
  /// or mirrored, for a new viewer, and now and then while encoding is paused, since players take a connection without
  /// data for a broken one. Else nil.
  private var repetitionTime: MediaTime? {
    self.wantedRepetition.map { max($0, self.nextRepetition) }
  }

  private var wantedRepetition: MediaTime? {
    guard let lastEncoding = self.stage.lastEncoding, self.lastPicture != nil, self.nextSlate == nil else { return nil }
    // A frame that comes meets the request, unless encoding is paused.
    let overdue = self.lastArrival + max(self.frameInterval * 3 / 2, Self.longestHiccup)
    let due = self.stage.requests.dueTime
    if self.shared.isPaused {
      // Effects that were changed show at once: they may be there for privacy.
      let still = lastEncoding + (self.isRedrawDue ? self.frameInterval : self.settings.pausedInterval)
      return due.map { min($0, still) } ?? still
    }
    if self.isRedrawDue { return overdue }
    let next = max(overdue, lastEncoding + self.frameInterval)
    return next < self.steadyEnd ? next : due.map { max($0, overdue) }
  }

  /// So late a frame may be that comes all the same: a picture that was repeated in its place would push it out.
  private static let longestHiccup = MediaDuration.milliseconds(130)

  private var frameInterval: MediaDuration { self.frameRate.frameInterval }

  private func handle(_ picture: SourcePicture) throws(VidiconError) {
    let now = self.clock.now()
    self.isPassing = false
    var picture = picture
    picture.frame.timestamp = picture.frame.timestamp.checked(at: now)
    self.captureDelay = now - picture.frame.timestamp
    let isCut = picture.feed !== self.feed
    if let lastTime = self.stage.lastTime {
      let earliest = lastTime + SourceTimes.leastInterval
      if isCut {
        // Of a source with a longer way than the earlier one's. Its first picture may be the only one for a while.
        picture.frame.timestamp = max(picture.frame.timestamp, earliest)
      } else if picture.frame.timestamp <= lastTime {
        return picture.feed.drop(picture.frame.timestamp, reason: .late)
      }
    }
    let isPaused = self.shared.isPaused
    if !isPaused || self.lastPicture == nil { self.keep(picture) }
    self.takeOver(picture.feed)
    // What an effect takes out has not come: without any other the slate is due.
    if !isPaused {
      guard try self.show(picture, now: now) else { return }
    }
    self.lastArrival = now
    self.showSlate(from: nil)
    if isPaused { self.giveMemoryBack() }
  }

  private func keep(_ picture: SourcePicture?) {
    self.lastPicture = picture
    self.isLastPictureCopied = false
  }

  /// Gives the source the memory of its last picture back; the picture stays.
  private func giveMemoryBack() {
    guard !self.isLastPictureCopied, let picture = self.lastPicture else { return }
    self.lastPicture = picture.copy
    self.isLastPictureCopied = true
    self.stage.giveMemoryBack()
  }

  /// The source may be another one from here on.
  private func takeOver(_ feed: VideoFeed) {
    guard feed !== self.feed else { return }
    self.feed = feed
    if self.lastPicture?.feed !== feed { self.giveMemoryBack() }
    self.compressed.reset()
    self.shared.report(.sourceSwitched(.video))
  }

  /// The source has ended: before its first picture that is a failure, later the slate takes over.
  private func handleEnd(_ error: VidiconError?) throws(VidiconError) {
    guard self.stage.lastTime != nil else {
      throw error
        ?? VidiconError(
          .missingTrack, subject: "video source", cause: "it ended before its first picture",
          nextStep: "check that it has pictures")
    }
    self.shared.report(.sourceEnded(.video, error))
    self.showSlate(from: self.clock.now() + Self.timeToStop)
  }

  /// How long the slate waits after the end of the source: an owner who stops the stream then ends it with its last
  /// picture.
  private static let timeToStop = MediaDuration.milliseconds(250)

  private func handleDeadline(now: MediaTime) throws(VidiconError) {
    self.stage.handlePictureDeadline(now: now)
    if let repetitionTime, now >= repetitionTime, var picture = self.lastPicture {
      // As far behind the present as frames are when they come, so that the next one is not before it.
      picture.frame.timestamp = max(now - self.captureDelay, (self.stage.lastTime ?? .zero) + SourceTimes.leastInterval)
      let isShown = try self.show(picture, now: now)
      if !isShown { self.nextRepetition = now + self.frameInterval }
    } else if let nextSlate, now >= nextSlate {
      self.showSlate(from: max(nextSlate + self.frameInterval, now))
      self.isPassing = false
      guard
        self.stage.lastTime.map({ $0 < now }) ?? true,
        !self.shared.isPaused || self.stage.requests.forcesKeyframe(at: now)
      else {
        return
      }
      var picture = self.slate
      picture.timestamp = now
      try self.stage.encodeSlate(picture, now: now)
    } else if self.nextSlate == nil, now >= self.lastArrival + self.settings.sourceTimeout {
      self.shared.report(.sourceSilent)
      self.showSlate(from: now)
    }
  }

  /// - Returns: Whether viewers get it.
  private func show(_ picture: SourcePicture, now: MediaTime) throws(VidiconError) -> Bool {
    self.isRedrawDue = false
    return try self.stage.encode(picture, now: now)
  }

  private func showSlate(from time: MediaTime?) {
    if (self.nextSlate == nil) != (time == nil) {
      self.shared.statistics.withLock { $0.isSlateShown = time != nil }
      if time == nil { self.shared.report(.sourceBack(.video)) } else { self.giveMemoryBack() }
    }
    self.nextSlate = time
  }
}

// MARK: Sources that compress themselves

extension VideoPipeline {
  /// How long pictures go on being decoded after somebody looked at a single one.
  private static let previewTime = MediaDuration.seconds(10)

  /// Whether a compressed picture can go out as it is.
  private static func fits(
    _ picture: SourceSample, format: VideoFormat, settings: VideoSettings, shared: StreamState
  ) -> Bool {
    guard case .h264(let description) = picture.description else { return false }
    let adjustment = picture.feed.adjustment
    return description.width == format.width && description.height == format.height
      && (settings.frameRate.map { $0 >= description.frameRate } ?? true)
      && settings.encoder == VideoSettings().encoder && shared.videoBitrate == VideoSettings.defaultBitrate
      && picture.orientation == .up && adjustment.rotation == .up && !adjustment.isMirrored && !shared.isPaused
      && !shared.hasEffects
  }

  /// Whether pictures are shown in another order than they are decoded in, as far as this one tells.
  private static func isReordered(_ picture: SourceSample) -> Bool {
    if picture.sample.presentationTime - picture.sample.decodeTime >= .milliseconds(1) { return true }
    guard picture.sample.isKeyframe, case .h264(let description) = picture.description,
      let set = try? H264SequenceParameterSet(parsing: description.sequenceParameterSet)
    else { return false }
    return set.usability?.reorderFrames ?? 0 > 0
  }

  private func handle(_ picture: SourceSample, waiting: Int) throws(VidiconError) {
    let now = self.clock.now()
    var picture = picture
    let shift = picture.sample.decodeTime.checked(at: now) - picture.sample.decodeTime
    picture.sample.decodeTime += shift
    picture.sample.presentationTime += shift
    self.takeOver(picture.feed)
    self.compressed.append(picture.sample, of: picture.description)

    if self.reordered != picture.description, Self.isReordered(picture) { self.reordered = picture.description }
    let fits =
      self.reordered != picture.description
      && Self.fits(picture, format: self.stage.format, settings: self.settings, shared: self.shared)
    if fits, self.isPassing || picture.sample.isKeyframe {
      self.isPassing = true
      self.isRedrawDue = false
      self.keep(nil)
      self.lastArrival = now
      self.captureDelay = now - picture.sample.decodeTime
      self.showSlate(from: nil)
      self.stage.pass(picture, now: now)
      self.askForKeyframe(now: now)
      return self.preview(now: now)
    }
    self.isPassing = false
    if self.shared.isPaused, self.lastPicture != nil {
      self.lastArrival = now
      self.showSlate(from: nil)
      self.giveMemoryBack()
      return self.compressed.rest()
    }
    for var frame in self.compressed.decode() where picture.feed.accepts(frame.timestamp) {
      frame.orientation = picture.orientation
      guard waiting < 2 else {
        // The encoder is too slow for all of them; what waits is decoded, since other pictures need it.
        picture.feed.drop(frame.timestamp, reason: .late)
        continue
      }
      try self.handle(SourcePicture(frame: frame, colorMatrix: frame.format.colorMatrix, feed: picture.feed))
    }
  }

  /// Asks a source that is passed through for the keyframe that somebody waits for: not while the last one is young, and
  /// not again before the source can have made one.
  private func askForKeyframe(now: MediaTime) {
    guard let due = self.stage.requests.dueTime, now >= due, now >= self.nextKeyframeRequest else { return }
    self.nextKeyframeRequest = now + KeyframeRequests.interval
    self.feed.requestKeyframe()
  }

  private func handlePictureRequest(after number: Int, now: MediaTime) {
    if self.isPassing {
      let isFirst = self.previewEnd == nil
      self.previewEnd = now + Self.previewTime
      if isFirst { self.preview(now: now) }
    }
    self.stage.requestPicture(after: number, now: now)
  }

  /// Decodes what is passed through while somebody looks at single pictures.
  private func preview(now: MediaTime) {
    guard let previewEnd else { return self.compressed.rest() }
    if self.shared.pictures.isPictureWanted {
      self.previewEnd = now + Self.previewTime
    } else if now >= previewEnd {
      self.previewEnd = nil
      return self.compressed.rest()
    }
    if let frame = self.compressed.decode().last { self.stage.showDecoded(frame, now: now) }
  }
}
