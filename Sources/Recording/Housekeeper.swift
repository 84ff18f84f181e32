internal import Containers
internal import Media
internal import Streaming
internal import Threading

/// Finishes parts, mends what crashes have left, and removes old files: one after the other on a thread of its own, since
/// each may take as long as the disk does, while the next part is being written.
final class Housekeeper: Sendable {
  private enum Job {
    case repair
    case finish(PartFile)
    case tidy
  }

  private struct State {
    var jobs: [Job] = []
    var isEnding = false
    var finished: [FinishedRecording] = []
  }

  private let settings: RecordingSettings
  private let board: RecordingStatusStore
  private let state = Monitor(State())
  private let clock: @Sendable () -> Int64

  /// - Parameter clock: The time of day in nanoseconds since 1970.
  init(_ settings: RecordingSettings, board: RecordingStatusStore, clock: @escaping @Sendable () -> Int64) {
    self.settings = settings
    self.board = board
    self.clock = clock
  }

  /// Looks for what earlier crashes have left.
  func repair() { self.add(.repair) }

  /// Makes a plain file of a part.
  func finish(_ part: PartFile) { self.add(.finish(part)) }

  /// Removes old files.
  func tidy() { self.add(.tidy) }

  private func add(_ job: Job) {
    self.state.withLock { $0.jobs.append(job) }
  }

  /// Does the jobs until ``end()``; blocks.
  func run() {
    ThreadSignals.blockFileSize()
    while let job = self.nextJob() { self.perform(job) }
  }

  /// Ends ``run()`` when all jobs are done.
  func end() {
    self.state.withLock { $0.isEnding = true }
  }

  /// The parts that are plain files now.
  var finished: [FinishedRecording] { self.state.withLock { $0.finished } }

  private func nextJob() -> Job? {
    self.state.take { state -> Job?? in
      if !state.jobs.isEmpty { return state.jobs.removeFirst() }
      return state.isEnding ? .some(nil) : nil
    } ?? nil
  }

  private func perform(_ job: Job) {
    switch job {
    case .repair:
      for result in Leftovers.repair(matching: self.settings.pattern) { self.board.report(.leftover(result)) }
    case .finish(let part): self.perform(finishing: part)
    case .tidy:
      for path in RecordedFile.remove(self.settings.pattern, rule: self.settings.retention, now: self.clock()) {
        self.board.report(.removedOld(path: path))
      }
    }
  }

  private func perform(finishing part: PartFile) {
    guard !part.isEmpty else { return part.remove() }
    let rewrite = PlainRewrite(file: part.file, folder: part.folder, name: part.name)
    do throws(VidiconError) {
      let scan: MovieScan
      do throws(ParsingError) {
        scan = try rewrite.scan()
      } catch {
        throw VidiconError(
          .failed, path: part.path, cause: "the recording cannot be read back (\(error))", nextStep: "check the disk")
      }
      let finished = try rewrite.run(scan)
      self.state.withLock { $0.finished.append(finished) }
      self.board.report(.partFinished(finished))
    } catch {
      self.board.report(.partNotFinished(error))
    }
  }
}
