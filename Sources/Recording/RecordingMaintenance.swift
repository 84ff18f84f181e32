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
  }

  private let settings: RecordingSettings
  private let statusStore: RecordingStatusStore
  private let state = Monitor(State())
  private let clock: @Sendable () -> Int64

  /// - Parameter clock: The time of day, in nanoseconds since 1970.
  init(_ settings: RecordingSettings, statusStore: RecordingStatusStore, clock: @escaping @Sendable () -> Int64) {
    self.settings = settings
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
    case .tidy:
      for path in RecordedFile.remove(self.settings.pattern, rule: self.settings.retention, now: self.clock()) {
        self.statusStore.report(.removedOld(path: path))
      }
    }
  }

  private func perform(finishing part: RecordingPart) {
    guard !part.isEmpty else { return part.remove() }
    let finalizer = RecordingFinalizer(file: part.file, folder: part.folder, name: part.name)
    do throws(VidiconError) {
      let scan: MovieScan
      do throws(ParsingError) {
        scan = try finalizer.scan()
      } catch {
        throw VidiconError(
          .failed, path: part.path, cause: "the recording cannot be read back (\(error))", nextStep: "check the disk")
      }
      let finished = try finalizer.run(scan)
      self.state.withLock { $0.finished.append(finished) }
      self.statusStore.report(.partFinished(finished))
    } catch {
      self.statusStore.report(.partNotFinished(error))
    }
  }
}
