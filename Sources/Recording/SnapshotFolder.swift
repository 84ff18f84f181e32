internal import Effects
internal import Libc
public import Media
package import NIOCore
public import Streaming
internal import Threading

/// Folder for snapshots of streams, as viewers see them: JPEG files named by stream and time, such as
/// `live_2026-11-21_14-03-59.jpg`.
///
/// Each file appears as a whole or not at all, and none is ever overwritten.
public struct SnapshotFolder: Hashable, Sendable {
  /// Path of the folder; it must exist.
  public var path: String

  /// Creates a snapshot folder of an existing path.
  public init(_ path: String) {
    self.path = path
  }

  /// Minimum time between two snapshots of smiles: one snapshot shows several people who laugh together.
  private static let interval = MediaDuration.seconds(1)

  /// Saves a snapshot whenever a smile begins, as reported by a `FaceTracker` among the stream's effects; until the
  /// stream ends or the task is cancelled.
  ///
  /// - Parameter report: Called with the path of each file, or the error that prevented it.
  public func saveSmiles(
    of stream: LiveStream, report: @Sendable (Result<String, VidiconError>) -> Void
  ) async {
    var last: MediaTime?
    for await event in stream.faceEvents where event.kind == .smile {
      if let last, event.time - last < Self.interval { continue }
      last = event.time
      do throws(VidiconError) {
        report(.success(try await self.saveSnapshot(of: stream)))
      } catch {
        report(.failure(error))
      }
    }
  }

  /// Saves the video frame that viewers see now.
  ///
  /// - Returns: The file's path.
  /// - Throws: ``VidiconError``: ``VidiconError/Code/wrongState`` when the stream shows no frame,
  ///   ``VidiconError/Code/busy`` when snapshots of too many widths are requested, ``VidiconError/Code/notFound`` without the
  ///   folder, ``VidiconError/Code/notPermitted`` where it cannot be written, ``VidiconError/Code/noSpace`` on a full disk,
  ///   ``VidiconError/Code/failed`` when encoding, the disk or the start of a thread fails.
  public func saveSnapshot(of stream: LiveStream) async throws(VidiconError) -> String {
    let jpeg = try await stream.snapshots.snapshot()
    let time = StreamClock.system.unixTime(at: StreamClock.system.now())
    let name = stream.name
    let result = await WorkerThread.run(named: "snapshot") { () -> Result<String, VidiconError> in
      ThreadSignals.blockFileSize()
      do throws(VidiconError) {
        return .success(try self.write(jpeg, of: name, atUnixTime: time))
      } catch {
        return .failure(error)
      }
    }
    guard let result else { throw .noThread(name) }
    return try result.get()
  }

  /// Writes a temporary file, and gives it its final name when it is complete.
  package func write(
    _ jpeg: ByteBuffer, of stream: String, atUnixTime time: Int64
  ) throws(VidiconError) -> String {
    let stream = stream.replacing("/", with: "-").replacing("%", with: "%%")
    let pattern = try FilePattern("\(stream)_%F_%H-%M-%S.jpg")
    let name = pattern.name(atUnixTime: time).path
    let folder = try FileDescriptor(self.path, O_RDONLY | O_DIRECTORY)
    let temporary = ".\(name).\(getpid())-\(UInt32.random(in: 0...(.max)))"
    let file = try FileDescriptor(temporary, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW, in: folder)
    defer { unlinkat(folder.number, temporary, 0) }
    try file.write(jpeg, at: 0)
    try file.synchronizeData()
    var number = 1
    while true {
      if number == 1 + PartNames.triedNames { number = PartNames.freeNumber(of: name, from: number, in: self.path) }
      let candidate = number == 1 ? name : FilePattern.numbered(name, number)
      switch ExclusiveName.give(candidate, to: temporary, in: folder.number) {
      case .linked, .renamed: return "\(self.path)/\(candidate)"
      case .taken: number += 1
      case .failed(let error): throw VidiconError(errno: error, path: "\(self.path)/\(candidate)", isNewName: true)
      }
    }
  }
}
