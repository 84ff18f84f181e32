internal import Effects
public import Media
internal import NIOCore
public import Streaming
internal import Threading

#if canImport(Darwin)
internal import Darwin
#else
internal import Glibc
#endif

/// A folder in which video frames of streams are kept, as their viewers see them: JPEG files, each named by stream and time,
/// such as `live_2026-11-21_14-03-59.jpg`.
///
/// A file is there as a whole or not at all, and none is ever overwritten.
public struct SnapshotFolder: Hashable, Sendable {
  /// Where it is; it must exist.
  public var path: String

  /// A folder.
  public init(_ path: String) {
    self.path = path
  }

  /// The least time between two video frames that are kept for smiles: when several people laugh, one shows them all.
  private static let interval = MediaDuration.seconds(1)

  /// Keeps a video frame whenever somebody begins to smile, which a `FaceTracker` among the stream's effects finds out; until the
  /// stream ends or the task is cancelled.
  ///
  /// - Parameter report: Told of each file, or why it could not be written.
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

  /// Keeps the video frame that viewers see now.
  ///
  /// - Returns: The file's path.
  public func saveSnapshot(of stream: LiveStream) async throws(VidiconError) -> String {
    let picture = try await stream.snapshots.snapshot()
    let time = StreamClock.system.unixTime(at: StreamClock.system.now())
    let name = stream.name
    let result = await WorkerThread.run(named: "snapshot") { () -> Result<String, VidiconError> in
      do throws(VidiconError) {
        return .success(try self.write(picture, of: name, atUnixTime: time))
      } catch {
        return .failure(error)
      }
    }
    guard let result else { throw .noThread(name) }
    return try result.get()
  }

  /// Writes a file under a name that goes with nothing yet, and gives it its own when it is whole.
  private func write(
    _ picture: ByteBuffer, of stream: String, atUnixTime time: Int64
  ) throws(VidiconError) -> String {
    let stream = stream.replacing("/", with: "-").replacing("%", with: "%%")
    let pattern = try FilePattern("\(stream)_%F_%H-%M-%S.jpg")
    let name = pattern.name(atUnixTime: time).path
    let folder = try FileDescriptor(self.path, O_RDONLY | O_DIRECTORY)
    let temporary = ".\(name).\(getpid())-\(UInt32.random(in: 0...(.max)))"
    let file = try FileDescriptor(temporary, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW, in: folder)
    defer { unlinkat(folder.number, temporary, 0) }
    try file.write(picture, at: 0)
    try file.synchronizeData()
    for number in 1...Self.maximumNumber {
      let candidate = number == 1 ? name : FilePattern.numbered(name, number)
      // Fails where there is such a file.
      if linkat(folder.number, temporary, folder.number, candidate, 0) == 0 { return "\(self.path)/\(candidate)" }
      guard errno == EEXIST else { throw VidiconError(errno: errno, path: "\(self.path)/\(candidate)") }
    }
    throw VidiconError(
      .alreadyExists, path: "\(self.path)/\(name)", cause: "there are \(Self.maximumNumber) files of this name",
      nextStep: "give another folder")
  }

  private static let maximumNumber = 999
}
