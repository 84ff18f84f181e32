internal import Libc
public import Media
internal import Streaming
internal import Threading

/// Lists recorded files, and finishes those that a crash left open.
public enum Recordings {
  /// Outcomes of the repair of a file that a crash left open.
  public enum Repair: Hashable, Sendable {
    /// The file was open, and is a progressive MP4 file now.
    case finished(FinishedRecording)
    /// The file was already a progressive MP4 file.
    case wasFinished(path: String)
    /// The file was open and empty, and has been removed.
    case removedEmpty(path: String)
    /// The repair failed; the file is unchanged.
    case failed(VidiconError)
  }

  /// Finishes a file that a crash, a power loss or a full disk left open: the result is a progressive MP4 file with
  /// everything up to the last complete fragment.
  ///
  /// Blocking work runs on its own thread. Fragments around damaged places are kept, and the damaged file too, as
  /// `NAME.damaged.mp4`.
  ///
  /// - Throws: ``VidiconError`` `.invalidData`, `.busy`, `.notFound`, `.noSpace` and others; the file is then
  ///   unchanged. Also thrown for a file of another program, and one without any fragment.
  public static func repair(_ path: String) async throws(VidiconError) -> Repair {
    let result = await WorkerThread.run(named: "repair") { () -> Result<Repair, VidiconError> in
      ThreadSignals.blockFileSize()
      do throws(VidiconError) {
        return .success(try self.repairNow(path))
      } catch {
        return .failure(error)
      }
    }
    guard let result else { throw .noThread(path) }
    return try result.get()
  }

  /// Finishes a file on the calling thread, see ``repair(_:)``.
  ///
  /// - Parameter maximumCopiedByteCount: Files with more media data are finished in place.
  package static func repairNow(
    _ path: String, maximumCopiedByteCount: Int = RecordingSettings.maximumCopiedByteCount
  ) throws(VidiconError) -> Repair {
    try UnfinishedRecording(path, isRequested: true).repair(maximumCopiedByteCount: maximumCopiedByteCount)
  }

  /// Finishes the open recordings of this program in a folder, and removes temporary files of interrupted repairs.
  /// Files of other programs, and files being recorded, are not touched.
  ///
  /// - Returns: Outcome for each file that was left open.
  public static func repairAll(in folder: String) async -> [Repair] {
    await WorkerThread.run(named: "repair") {
      ThreadSignals.blockFileSize()
      return UnfinishedRecordings.repair(in: folder, names: Folder.names(in: folder))
    } ?? [.failed(.noThread(folder))]
  }

  /// Finishes the open recordings whose names match a pattern, in all folders it can name.
  public static func repairAll(matching pattern: FilePattern) async -> [Repair] {
    await WorkerThread.run(named: "repair") {
      ThreadSignals.blockFileSize()
      return UnfinishedRecordings.repair(matching: pattern)
    } ?? [.failed(.noThread(pattern.description))]
  }

  /// Lists the files that match a pattern, oldest first, the current one included. Reads the disk.
  public static func list(matching pattern: FilePattern) -> [RecordedFile] {
    RecordedFile.list(matching: pattern)
  }
}

/// Blocks signals that would end the process where the system call can fail instead.
enum ThreadSignals {
  /// Blocks `SIGXFSZ` on the calling thread, so that writes beyond the file size limit fail with `EFBIG`.
  static func blockFileSize() {
    var signals = sigset_t()
    sigemptyset(&signals)
    sigaddset(&signals, SIGXFSZ)
    pthread_sigmask(SIG_BLOCK, &signals, nil)
  }
}
