public import Media

/// The recorder of a stream, as ``HTTPServer`` offers it: what it can be told, how it is doing, and the files it has made.
public struct HTTPServerRecorder: Sendable {
  /// What a recorder is told.
  public enum Action: String, Hashable, Sendable, CaseIterable, Decodable {
    /// Begin a recording.
    case start
    /// End it, and finish its files.
    case stop
    /// Leave out what comes from now on.
    case pause
    /// Go on.
    case resume
  }

  /// Why a recorder has not done what it was told.
  public struct Failure: Error, Hashable, Sendable {
    /// Whether it could have in another state, such as to pause a recording that runs; if not, something has failed.
    public var isWrongState: Bool
    /// What is wrong, and what to do about it, for a user to read.
    public var reason: String

    /// A failure.
    public init(isWrongState: Bool, reason: String) {
      self.isWrongState = isWrongState
      self.reason = reason
    }
  }

  /// What a recorder is doing.
  public enum State: String, Hashable, Sendable, CaseIterable, Encodable {
    /// Nothing.
    case idle
    /// It waits for the keyframe at which it begins or goes on.
    case waiting
    /// It takes what the stream gives.
    case recording
    /// It takes nothing until it is told to.
    case paused
    /// It makes plain files of what it has recorded.
    case finishing
    /// It has stopped by itself.
    case failed
  }

  /// How a recording is doing, or how the last one went.
  public struct Status: Hashable, Sendable {
    /// What the recorder is doing.
    public var state: State
    /// The ``File/name`` of the file being written, or the last one; nil before the first.
    public var file: String?
    /// The length of all parts together, pauses not counted.
    public var duration: MediaDuration
    /// Bytes written to all parts.
    public var byteCount: Int
    /// Bits a second, over the last seconds.
    public var bitrate: Int
    /// Pictures and frames of sound that the disk was too slow for.
    public var drops: Int
    /// Why it has stopped by itself, for a user to read; nil while it has not.
    public var error: String?

    /// A status.
    public init(
      state: State = .idle, file: String? = nil, duration: MediaDuration = .zero, byteCount: Int = 0, bitrate: Int = 0,
      drops: Int = 0, error: String? = nil
    ) {
      self.state = state
      self.file = file
      self.duration = duration
      self.byteCount = byteCount
      self.bitrate = bitrate
      self.drops = drops
      self.error = error
    }
  }

  /// A file that the recorder has made or is writing.
  public struct File: Hashable, Sendable {
    /// Its name in addresses; it may have slashes, none at its ends.
    public var name: String
    /// Where it is on this machine, which nobody is told.
    public var path: String
    /// Its size now.
    public var byteCount: Int
    /// When it was last written, in nanoseconds since 1970-01-01 00:00 UTC.
    public var modificationTime: Int64
    /// Whether it is whole; if not, it grows.
    public var isFinished: Bool

    /// A file.
    public init(name: String, path: String, byteCount: Int, modificationTime: Int64, isFinished: Bool) {
      self.name = name
      self.path = path
      self.byteCount = byteCount
      self.modificationTime = modificationTime
      self.isFinished = isFinished
    }
  }

  /// Does what it is told; returns when it is done, of ``Action/stop`` when the files are finished.
  public var perform: @Sendable (Action) async throws(Failure) -> Void
  /// How it is doing; called on an event loop, so it must not wait.
  public var status: @Sendable () -> Status
  /// The files that there are; may read the disk.
  public var files: @Sendable () -> [File]

  /// A recorder.
  public init(
    perform: @escaping @Sendable (Action) async throws(Failure) -> Void, status: @escaping @Sendable () -> Status,
    files: @escaping @Sendable () -> [File]
  ) {
    self.perform = perform
    self.status = status
    self.files = files
  }
}
