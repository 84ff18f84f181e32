internal import Bitstreams
internal import Containers
internal import Media
internal import NIOCore
internal import Threading

/// Muxes queued samples into fragmented MP4 files. Used by one thread.
final class RecordingWriter {
  private let settings: RecordingSettings
  private let identity: RecordingIdentity
  private let statusStore: RecordingStatusStore
  private let maintenance: RecordingMaintenance
  private let requestKeyframe: () -> Void
  private let clock: WallClock

  private var timeline: RecordingTimeline
  private var muxer: FragmentedMP4Muxer
  private var names: PartNames
  private var part: RecordingPart
  private var isStopping = false
  private var hasPaused = false
  /// The last fragments, for the bitrate.
  private var recent: [(byteCount: Int, end: MediaDuration)] = []
  private var lastTidying: Int64

  /// Margin added before rounding times down from nanoseconds to ticks: with less than a tenth of a tick, frames of a
  /// constant rate have equal durations, and their `stts` table has one entry.
  private static let tickMargin = MediaDuration.microseconds(1)
  /// Time over which the bitrate is averaged.
  private static let bitrateSpan = MediaDuration.seconds(5)
  /// Interval, in nanoseconds, at which old files are removed.
  private static let tidyingInterval: Int64 = 60_000_000_000

  /// Creates the first file.
  ///
  /// - Parameters:
  ///   - descriptions: Codec descriptions of the tracks, at least one.
  ///   - clock: The time of day, for names and ages of files.
  init(
    _ settings: RecordingSettings, identity: RecordingIdentity, descriptions: [CodecDescription],
    statusStore: RecordingStatusStore, maintenance: RecordingMaintenance,
    requestKeyframe: @escaping () -> Void, clock: WallClock
  ) throws(VidiconError) {
    self.settings = settings
    self.identity = identity
    self.statusStore = statusStore
    self.maintenance = maintenance
    self.requestKeyframe = requestKeyframe
    self.clock = clock
    self.timeline = RecordingTimeline(descriptions, limits: RecordingTimeline.Limits(settings))
    self.muxer = FragmentedMP4Muxer(descriptions)
    let now = clock.now()
    self.lastTidying = now
    self.names = PartNames(
      settings.pattern, existing: settings.existingFiles, identity: identity, startTime: now)
    self.part = try Self.makePart(&self.names, self.muxer, settings, identity, clock)
    do throws(VidiconError) {
      try maintenance.makeRoom(for: 0, on: self.part)
    } catch {
      self.part.remove()
      throw error
    }
    self.reportPart()
  }

  /// Time at which ``handle(_:now:)`` is due at the latest.
  var deadline: MediaTime? { self.timeline.deadline }

  /// Whether only ``close()`` is left to call.
  var isDone: Bool { self.isStopping && self.timeline.isPaused || self.timeline.isOver }

  /// Writes the fragments that are complete after `items`; empty when the deadline has passed.
  ///
  /// - Throws: ``VidiconError``; nothing more can be written then.
  func handle(_ items: [RecordingQueue.Item], now: MediaTime) throws(VidiconError) {
    for item in items {
      try self.handle(item, now: now)
      try self.performActions()
      if self.isDone { break }
    }
    self.timeline.handleDeadline(at: now)
    try self.performActions()
    self.updateStatus()
  }

  /// Enqueues the last part for finalization.
  func close() {
    self.maintenance.finish(self.part)
  }

  private func handle(_ item: RecordingQueue.Item, now: MediaTime) throws(VidiconError) {
    switch item {
    case .sample(let sample): self.timeline.handle(sample, now: now)
    case .pause(let time):
      self.timeline.pause(at: time, now: now)
      self.hasPaused = true
      self.statusStore.report(.paused)
    case .resume(let time):
      self.timeline.resume(at: time)
      // The first run is a start, not a resumption.
      if self.hasPaused { self.statusStore.report(.resumed) }
    case .gap:
      guard !self.timeline.isPaused else { return }
      let isEnding = self.timeline.deadline != nil
      self.timeline.interrupt()
      if !isEnding { self.timeline.resume(at: MediaTime(nanoseconds: .min)) }
      self.statusStore.report(.fellBehind)
    case .change(let description): self.timeline.change(to: description)
    case .stop(let time):
      self.isStopping = true
      self.timeline.pause(at: time, now: now)
    case .end:
      self.isStopping = true
      self.timeline.interrupt()
    }
  }

  private func performActions() throws(VidiconError) {
    for action in self.timeline.takeActions() {
      switch action {
      case .requestKeyframe: self.requestKeyframe()
      case .fragment(let samples, let nextVideoTime):
        let skipped = self.muxer.skippedSampleCount
        let fragment = self.muxer.fragment(
          samples.map(Self.kept), nextVideoDecodeTime: nextVideoTime.map { $0 + Self.tickMargin })
        guard fragment.readableBytes > 0 else { continue }
        try self.maintenance.makeRoom(for: fragment.readableBytes, on: self.part)
        try self.part.append(
          fragment, sampleCount: samples.count - (self.muxer.skippedSampleCount - skipped))
        self.count(fragment.readableBytes)
        self.tidyNowAndThen()
      case .nextPart(let descriptions):
        self.muxer = FragmentedMP4Muxer(descriptions)
        try self.startPart()
      }
    }
  }

  /// Adds the rounding margin to the times of a video sample; audio is unchanged.
  private static func kept(_ sample: EncodedSample) -> EncodedSample {
    guard sample.kind == .video else { return sample }
    var sample = sample
    sample.presentationTime += Self.tickMargin
    sample.decodeTime += Self.tickMargin
    return sample
  }

  private func startPart() throws(VidiconError) {
    let next = try Self.makePart(&self.names, self.muxer, self.settings, self.identity, self.clock)
    self.maintenance.finish(self.part)
    self.part = next
    self.reportPart()
    self.maintenance.tidy()
  }

  private static func makePart(
    _ names: inout PartNames, _ muxer: FragmentedMP4Muxer, _ settings: RecordingSettings,
    _ identity: RecordingIdentity, _ clock: WallClock
  ) throws(VidiconError) -> RecordingPart {
    let now = clock.now()
    let metadata = MovieMetadata(
      creationTime: MovieMetadata.creationTime(atUnixTime: now), title: settings.title,
      encoder: RecordingFinalizer.encoder,
      orientation: settings.orientation)
    let head = RecordingHead.open(
      muxer.initializationSegment(metadata: metadata), identity, isClockSynchronized: clock.isSynchronized())
    let file = try names.makeFile(at: now)
    return try RecordingPart(file, head: head)
  }

  private func reportPart() {
    self.statusStore.update {
      $0.path = self.part.path
      $0.partCount += 1
    }
    self.statusStore.report(.partStarted(path: self.part.path))
  }

  private func count(_ byteCount: Int) {
    let end = self.timeline.totalDuration
    self.recent.append((byteCount, end))
    self.recent.removeAll { end - $0.end > Self.bitrateSpan }
    let span = end - self.recent[0].end
    let counted = self.recent.dropFirst().reduce(0) { $0 + $1.byteCount }
    self.statusStore.update {
      $0.byteCount += byteCount
      if span > .zero { $0.bitrate = Int(Double(counted * 8) / span.seconds) }
    }
  }

  private func updateStatus() {
    let duration = self.timeline.totalDuration
    let state: RecordingStatus.State =
      self.timeline.isPaused ? .paused : self.timeline.isRunning ? .recording : .waiting
    self.statusStore.update {
      $0.duration = duration
      $0.state = state
    }
  }

  private func tidyNowAndThen() {
    let now = self.clock.now()
    // The clock may have been set back.
    guard !(0..<Self.tidyingInterval).contains(now - self.lastTidying) else { return }
    self.lastTidying = now
    self.maintenance.tidy()
  }
}

extension RecordingTimeline.Limits {
  /// Creates the limits that settings define.
  fileprivate init(_ settings: RecordingSettings) {
    self.init(duration: settings.partDuration, byteCount: settings.partByteCount, total: settings.duration)
  }
}
