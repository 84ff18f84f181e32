public import Media
internal import Streaming
internal import Threading

#if canImport(Darwin)
internal import Darwin
#else
internal import Glibc
#endif

/// The files that recordings have left: lists them, and finishes those that a crash has left open.
public enum Recordings {
  /// Outcome of a file.
  public enum Repair: Hashable, Sendable {
    /// It was open, and is a progressive MP4 file now.
    case finished(FinishedRecording)
    /// It was a progressive MP4 file, and still is.
    case wasFinished(path: String)
    /// It was open, nothing had been recorded in it yet, and it is removed.
    case removedEmpty(path: String)
    /// It is as it was.
    case failed(VidiconError)
  }

  /// Finishes a file that was left open by a crash, a power loss or a full disk: it becomes a progressive MP4 file with all
  /// that was recorded up to its last whole fragment.
  ///
  /// The blocking work is done on a thread of its own. Fragmented files of others are taken, too, as far as they have one
  /// run of samples for each track and fragment.
  ///
  /// - Throws: ``VidiconError`` when it cannot be finished: `.invalidData`, `.busy`, `.notFound`, `.noSpace`, and others;
  ///   the file is then as it was. An empty recording is no file to repair either.
  public static func repair(_ path: String) async throws(VidiconError) -> Repair {
    let result = await WorkerThread.run(named: "repair") { () -> Result<Repair, VidiconError> in
      ThreadSignals.blockFileSize()
      do throws(VidiconError) {
        return .success(try UnfinishedRecording(path).repair())
      } catch {
        return .failure(error)
      }
    }
    guard let result else { throw .noThread(path) }
    return try result.get()
  }

  /// Finishes what this program has left in a folder, and removes what an interrupted repair has left there. Files of
  /// others, and those that are being recorded, are not touched.
  ///
  /// - Returns: Outcome of each file that was left open.
  public static func repairAll(in folder: String) async -> [Repair] {
    await WorkerThread.run(named: "repair") {
      ThreadSignals.blockFileSize()
      return UnfinishedRecordings.repair(in: folder, names: Folder.names(in: folder))
    } ?? [.failed(.noThread(folder))]
  }

  /// The same for the files whose names a pattern makes, wherever these are.
  public static func repairAll(matching pattern: FilePattern) async -> [Repair] {
    await WorkerThread.run(named: "repair") {
      ThreadSignals.blockFileSize()
      return UnfinishedRecordings.repair(matching: pattern)
    } ?? [.failed(.noThread(pattern.description))]
  }

  /// The files that are there of a pattern, oldest first, the one that is being recorded included. Reads the disk.
  public static func list(matching pattern: FilePattern) -> [RecordedFile] {
    RecordedFile.list(matching: pattern)
  }
}

/// Signals that would end the process where a call can fail instead.
enum ThreadSignals {
  /// Lets writes fail that go beyond the limit of a file's size, on the calling thread.
  static func blockFileSize() {
    var signals = sigset_t()
    sigemptyset(&signals)
    sigaddset(&signals, SIGXFSZ)
    pthread_sigmask(SIG_BLOCK, &signals, nil)
  }
}
