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
  private var sequence: RecordingSequence
  private var part: RecordingPart
  private var tail: PartTail
  /// State before each fragment of ``tail``.
  private var checkpoints: [Checkpoint] = []
  private var isStopping = false
  private var hasPaused = false
  /// The last fragments, for the bitrate.
  private var recent: [(byteCount: Int, end: MediaDuration)] = []
  private var lastTidying: Int64

  /// Muxer and file before a fragment was written.
  private struct Checkpoint {
    var muxer: FragmentedMP4Muxer
    var part: RecordingPart
  }

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
    self.tail = PartTail(descriptions)
    let now = clock.now()
    self.lastTidying = now
    self.sequence = RecordingSequence(of: identity, in: settings.pattern, now: now)
    self.names = PartNames(
      settings.pattern, existing: settings.existingFiles, identity: identity, startTime: now,
      firstSequenceNumber: self.sequence.upcoming)
    self.part = try Self.makePart(&self.names, &self.sequence, self.muxer, settings, identity, clock)
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
    var actions = self.timeline.takeActions()[...]
    while let action = actions.popFirst() {
      switch action {
      case .requestKeyframe: self.requestKeyframe()
      case .fragment(let fragment):
        if try self.write(fragment) { continue }
        try self.continueInNextFile(with: fragment, &actions)
      case .nextPart(let descriptions):
        let muxer = FragmentedMP4Muxer(descriptions)
        let last = self.part
        self.begin(try self.makePart(muxer, maximumLength: last.maximumLength), muxer)
        self.end(last)
      }
    }
  }

  /// Writes a fragment.
  ///
  /// - Returns: False where the file is full.
  private func write(_ fragment: PartFragment) throws(VidiconError) -> Bool {
    let checkpoint = Checkpoint(muxer: self.muxer, part: self.part)
    let (bytes, sampleCount) = Self.mux(fragment, &self.muxer)
    guard bytes.readableBytes > 0 else { return true }
    try self.maintenance.makeRoom(for: bytes.readableBytes, on: self.part)
    guard try self.part.append(bytes, sampleCount: sampleCount) else {
      self.muxer = checkpoint.muxer
      return false
    }
    var dataOffset: UInt64?
    if sampleCount == fragment.samples.count {
      dataOffset = checkpoint.part.length + UInt64(bytes.readableBytes - fragment.byteCount)
    }
    self.checkpoints.append(checkpoint)
    self.checkpoints.removeFirst(self.tail.append(fragment, dataOffset: dataOffset))
    self.count(bytes.readableBytes)
    self.tidyNowAndThen()
    return true
  }

  private static func mux(
    _ fragment: PartFragment, _ muxer: inout FragmentedMP4Muxer
  ) -> (bytes: ByteBuffer, sampleCount: Int) {
    let skipped = muxer.skippedSampleCount
    let bytes = muxer.fragment(
      fragment.samples.map(Self.kept), nextVideoDecodeTime: fragment.nextVideoTime.map { $0 + Self.tickMargin })
    return (bytes, fragment.samples.count - (muxer.skippedSampleCount - skipped))
  }

  /// Adds the rounding margin to the times of a video sample; audio is unchanged.
  private static func kept(_ sample: EncodedSample) -> EncodedSample {
    guard sample.kind == .video else { return sample }
    var sample = sample
    sample.presentationTime += Self.tickMargin
    sample.decodeTime += Self.tickMargin
    return sample
  }

  private func makePart(
    _ muxer: FragmentedMP4Muxer, maximumLength: UInt64 = .max
  ) throws(VidiconError) -> RecordingPart {
    try Self.makePart(
      &self.names, &self.sequence, muxer, self.settings, self.identity, self.clock, maximumLength: maximumLength)
  }

  /// Makes another part the current one.
  private func begin(_ next: RecordingPart, _ muxer: FragmentedMP4Muxer) {
    self.part = next
    self.muxer = muxer
    self.tail = PartTail(muxer.descriptions)
    self.checkpoints = []
    self.reportPart()
  }

  /// Enqueues a part for finalization.
  private func end(_ part: RecordingPart) {
    self.maintenance.finish(part)
    self.maintenance.tidy()
  }

  private static func makePart(
    _ names: inout PartNames, _ sequence: inout RecordingSequence, _ muxer: FragmentedMP4Muxer,
    _ settings: RecordingSettings,
    _ identity: RecordingIdentity, _ clock: WallClock, maximumLength: UInt64 = .max
  ) throws(VidiconError) -> RecordingPart {
    let now = clock.now()
    let metadata = MovieMetadata(
      creationTime: MovieMetadata.creationTime(atUnixTime: now), title: settings.title,
      encoder: RecordingFinalizer.encoder,
      orientation: settings.orientation)
    let creation = RecordingCreation(
      isClockSynchronized: clock.isSynchronized(), sequenceNumber: sequence.next(at: now))
    let head = RecordingHead.open(muxer.initializationSegment(metadata: metadata), identity, creation)
    let file = try names.makeFile(at: now)
    return try RecordingPart(file, head: head, maximumLength: maximumLength)
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

// MARK: - Full files
extension RecordingWriter {
  /// Begins another file for a fragment that does not fit into the current one.
  ///
  /// - Parameter actions: The actions after that fragment; those of its part are replaced.
  /// - Throws: ``VidiconError`` where the current file is empty, so that no file may contain the fragment.
  private func continueInNextFile(
    with fragment: PartFragment, _ actions: inout ArraySlice<RecordingTimeline.Action>
  ) throws(VidiconError) {
    guard !self.part.isEmpty else { throw self.part.tooSmall }
    var following: [PartFragment] = []
    while let action = actions.first {
      if case .nextPart = action { break }
      if case .fragment(let next) = action { following.append(next) } else { self.requestKeyframe() }
      actions.removeFirst()
    }
    self.statusStore.report(.fileFull(path: self.part.path))
    // Times of the timeline are those of a later part already.
    let isLast = actions.isEmpty
    let muxer = FragmentedMP4Muxer(self.muxer.descriptions)
    let next = try self.makePart(muxer, maximumLength: self.part.maximumLength)
    if let division = self.tail.division(before: fragment, following), self.canMove(division) {
      if isLast {
        self.timeline.restartPart(at: division.cut, containing: division.moved)
      }
      try self.begin(next, muxer, division)
      actions = (division.moved.dropFirst(division.replacedCount).map { .fragment($0) } + actions)[...]
      return
    }
    let full = self.part
    self.begin(next, muxer)
    self.end(full)
    let lost = ([fragment] + following).flatMap(\.samples)
    self.statusStore.update {
      $0.videoSamplesDropped += lost.count { $0.kind == .video }
      $0.audioSamplesDropped += lost.count { $0.kind == .audio }
    }
    guard isLast else { return }
    self.timeline.restartPartAtKeyframe(after: fragment.samples.first?.decodeTime ?? .zero)
    actions = self.timeline.takeActions()[...]
  }

  /// Whether another file has room for the written fragments that it is to contain.
  private func canMove(_ division: PartTail.Division) -> Bool {
    guard division.replacedCount > 0 else { return true }
    return self.checkpoints.first.map { self.part.canMoveFragments(since: $0.part) } ?? false
  }

  /// Begins another file with the written fragments that it contains instead of the current one, from which they are read back one by
  /// one. They are in the other file before they are removed from the current one, so that a crash loses none.
  private func begin(
    _ next: RecordingPart, _ muxer: FragmentedMP4Muxer, _ division: PartTail.Division
  ) throws(VidiconError) {
    var full = self.part
    let checkpoint = self.checkpoints.first
    self.begin(next, muxer)
    defer { self.end(full) }
    for moved in division.moved.prefix(division.replacedCount) {
      guard try self.write(moved.loaded(from: full.read)) else { throw self.part.tooSmall }
    }
    guard division.replacedCount > 0, var checkpoint else { return }
    let (bytes, sampleCount) = Self.mux(try division.kept.loaded(from: full.read), &checkpoint.muxer)
    let length = full.length
    try full.replaceFragments(since: checkpoint.part, by: bytes, sampleCount: sampleCount)
    let removedByteCount = Int(clamping: length - full.length)
    self.statusStore.update { $0.byteCount -= removedByteCount }
  }
}

extension RecordingTimeline.Limits {
  /// Creates the limits that settings define.
  fileprivate init(_ settings: RecordingSettings) {
    self.init(duration: settings.partDuration, byteCount: settings.partByteCount, total: settings.duration)
  }
}
