internal import Containers
internal import Media
internal import Streaming
internal import Threading

/// Finalizes parts, repairs unfinished recordings and removes old files, one job at a time on its own thread, while
/// the next part is being written.
final class RecordingMaintenance: Sendable {
  private enum Job {
    case repair
    case finish(RecordingPart)
    case tidy
  }

  private struct State {
    var jobs: [Job] = []
    var isEnding = false
    var finished: [FinishedRecording] = []
    /// The finished parts of this session, in order.
    var ownFiles: [FileID] = []
    var hasReportedAges = false
  }

  private let settings: RecordingSettings
  private let identity: RecordingIdentity
  private let statusStore: RecordingStatusStore
  private let state = Monitor(State())
  private let clock: WallClock

  /// - Parameter clock: The time of day, for the ages of files.
  init(
    _ settings: RecordingSettings, identity: RecordingIdentity, statusStore: RecordingStatusStore, clock: WallClock
  ) {
    self.settings = settings
    self.identity = identity
    self.statusStore = statusStore
    self.clock = clock
  }

  /// Enqueues a repair of the files that earlier crashes left.
  func repair() { self.add(.repair) }

  /// Enqueues the conversion of a part to a progressive MP4 file.
  func finish(_ part: RecordingPart) { self.add(.finish(part)) }

  /// Enqueues the removal of old files.
  func tidy() { self.add(.tidy) }

  private func add(_ job: Job) {
    self.state.withLock { $0.jobs.append(job) }
  }

  /// Runs jobs until ``end()`` is called; blocks.
  func run() {
    ThreadSignals.blockFileSize()
    while let job = self.nextJob() { self.perform(job) }
  }

  /// Makes ``run()`` return after the enqueued jobs.
  func end() {
    self.state.withLock { $0.isEnding = true }
  }

  /// The parts finished so far.
  var finished: [FinishedRecording] { self.state.read { $0.finished } }

  private func nextJob() -> Job? {
    self.state.take { state -> Job?? in
      if !state.jobs.isEmpty { return state.jobs.removeFirst() }
      return state.isEnding ? .some(nil) : nil
    } ?? nil
  }

  private func perform(_ job: Job) {
    switch job {
    case .repair:
      for result in UnfinishedRecordings.repair(matching: self.settings.pattern) {
        self.statusStore.report(.leftover(result))
      }
    case .finish(let part): self.perform(finishing: part)
    case .tidy: self.removeOld(freeing: 0)
    }
  }

  private func perform(finishing part: RecordingPart) {
    guard !part.isEmpty else { return part.remove() }
    let finalizer = RecordingFinalizer(
      file: part.file, folder: part.folder, name: part.name,
      maximumCopiedByteCount: self.settings.maximumCopiedByteCount)
    do throws(VidiconError) {
      let scan: MovieScan
      switch try finalizer.scan() {
      case .success(let found): scan = found
      case .failure(let error): throw part.differs("\(error)")
      }
      try part.check(scan)
      let finished = try finalizer.run(scan)
      let file = RecordedFile(finished.path, name: "")
      let id = file?.id
      self.state.withLock { state in
        state.finished.append(finished)
        if let id { state.ownFiles.append(id) }
      }
      if let file { FinishedFiles.ofProcess.insert(file) }
      if let id { self.statusStore.reports.noteFinished(id) }
      self.statusStore.report(.partFinished(finished))
    } catch {
      self.statusStore.report(.partNotFinished(error))
    }
  }
}

// MARK: - Retention
extension RecordingMaintenance {
  /// Removes the files that exceed the retention rule, oldest first. Called on the writer's thread too.
  ///
  /// - Parameter missing: Bytes to free on the disk in addition.
  /// - Returns: Whether a file was removed.
  @discardableResult
  private func removeOld(freeing missing: Int) -> Bool {
    let rule = self.settings.retention
    guard rule.isSet else { return false }
    var plan = RetentionPlan(rule: rule, owner: self.identity)
    plan.missingByteCount = missing
    plan.now = self.clock.isSynchronized() ? self.clock.now() : nil
    if rule.age != nil, plan.now == nil, self.state.withLock({ !Self.exchange(&$0.hasReportedAges, true) }) {
      self.statusStore.report(.agesUnknown)
    }
    let own = self.state.read { $0.ownFiles }
    // Unless the recording is split, its parts belong together.
    let isSplit = self.settings.partDuration != nil || self.settings.partByteCount != nil
    plan.protected = Set(isSplit ? [] : own)
    if let last = self.statusStore.reports.lastFinished { plan.protected.insert(last) }
    plan.fileSystemTime = WallClock.system.now()
    plan.isFinishedHere = { FinishedFiles.ofProcess.contains($0) }
    var isAnyRemoved = false
    for file in plan.removals(from: RecordedFile.list(matching: self.settings.pattern)) where file.remove() {
      isAnyRemoved = true
      self.statusStore.report(.removedOld(path: file.path))
    }
    return isAnyRemoved
  }

  /// Checks that the disk has room for a part's next bytes, and removes old files when it has not.
  ///
  /// - Throws: ``VidiconError`` `.noSpace` when nothing can be removed.
  func makeRoom(for byteCount: Int, on part: RecordingPart) throws(VidiconError) {
    guard let space = DiskSpace(of: part.folder),
      case let missing = space.missing(for: byteCount, leaving: self.settings.minimumFreeByteCount), missing > 0
    else { return }
    // Some file systems report the space of removed files later; the next fragment checks again.
    if self.removeOld(freeing: missing) { return }
    let minimum = self.settings.minimumFreeByteCount.map { UInt64(clamping: $0) } ?? space.defaultMinimum
    throw VidiconError(
      .noSpace, path: part.path,
      cause: "the disk is full: \(Self.text(space.free)) are free, of which the recording leaves \(Self.text(minimum))",
      nextStep: "free space, record to another disk, or let old recordings be removed (--keep-size), or less be left "
        + "free (--keep-free)")
  }

  private static func text(_ byteCount: UInt64) -> String {
    byteCount < 10_000_000 ? "\(byteCount / 1000) kB" : "\(byteCount / 1_000_000) MB"
  }

  private static func exchange(_ value: inout Bool, _ new: Bool) -> Bool {
    defer { value = new }
    return value
  }
}
