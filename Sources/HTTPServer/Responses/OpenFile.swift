package import Authentication
internal import Libc
internal import Media
internal import NIOCore
internal import NIOPosix
internal import Synchronization

/// Opens files for responses, up to a maximum number at a time: of a client network half of it, of all clients but
/// operators three quarters.
package final class OpenFiles: Sendable {
  /// The slot of one open file; released by its file, at the latest on deinitialization: a thread may hold it a moment
  /// longer than its work.
  fileprivate final class Place: Sendable {
    private let files: OpenFiles
    private let network: IPAddress?
    private let isReleased = Atomic(false)

    init?(of files: OpenFiles, for network: IPAddress?, isOperator: Bool) {
      let isFree = files.state.withLock { state in
        let count = state.networks.values.reduce(0, +)
        guard count < (isOperator ? files.most : max(1, files.most * 3 / 4)),
          state.networks[network, default: 0] < max(1, files.most / 2)
        else { return false }
        state.networks[network, default: 0] += 1
        return true
      }
      guard isFree else { return nil }
      (self.files, self.network) = (files, network)
    }

    deinit {
      self.release()
    }

    func release() {
      guard !self.isReleased.exchange(true, ordering: .relaxed) else { return }
      self.files.state.withLock { state in
        let count = state.networks[self.network, default: 1] - 1
        state.networks[self.network] = count > 0 ? count : nil
      }
    }
  }

  private struct State {
    /// Number of open files by client network; nil stands for all clients without an IP address.
    var networks: [IPAddress?: Int] = [:]
  }

  private let state = Mutex(State())
  private let most: Int

  /// - Parameter most: Maximum number of open files.
  package init(most: Int) {
    self.most = most
  }

  /// Finds a file and opens it for reading, in one job off the event loop: a change of threads costs more than the rest.
  ///
  /// - Parameters:
  ///   - network: Network of the client.
  ///   - isOperator: Whether the client is an operator.
  ///   - find: Returns the path of the file with the given name; nil without one. May block. By default the name is the path.
  /// - Throws: ``OpenFile/Failure``.
  package func open(
    _ name: String, for network: IPAddress? = nil, isOperator: Bool = false,
    foundBy find: @escaping @Sendable (String) -> String? = { $0 }
  ) async throws(OpenFile.Failure) -> OpenFile {
    guard let place = Place(of: self, for: network, isOperator: isOperator) else { throw .tooMany }
    // Throws when the task is cancelled: no client waits for the response then.
    let file = try? await NIOThreadPool.singleton.runIfActive { find(name).flatMap { OpenFile($0, place: place) } }
    guard let file else {
      place.release()
      throw .notFound
    }
    return file
  }
}

/// A file that responses are read from; closed on deinitialization.
///
/// Its length is fixed when it is opened, also when the file grows. A file that is replaced later is read to its end
/// unchanged.
package final class OpenFile: Sendable {
  /// Reasons why a file cannot be read.
  package enum Failure: Error, Hashable {
    /// The file does not exist, or is not a regular file.
    case notFound
    /// The maximum number of files is open.
    case tooMany
    /// The disk failed, or the file was truncated.
    case unreadable
  }

  /// Length in bytes when it was opened.
  package let length: Int
  /// Last modification, in nanoseconds since 1970-01-01 00:00 UTC; the nearest number for times outside of 1677 to 2262.
  package let modificationTime: Int64
  /// The value of `ETag`; changes with the file and with each modification.
  package let etag: String
  private let descriptor: CInt
  private let place: OpenFiles.Place

  /// Opens a regular file; symbolic links are not followed.
  fileprivate init?(_ path: String, place: OpenFiles.Place) {
    let descriptor = Self.open(path)
    var status = stat()
    guard descriptor >= 0, fstat(descriptor, &status) == 0, status.st_mode & S_IFMT == S_IFREG else {
      if descriptor >= 0 { close(descriptor) }
      return nil
    }
    #if canImport(Darwin)
    let time = status.st_mtimespec
    #else
    let time = status.st_mtim
    #endif
    self.descriptor = descriptor
    self.place = place
    self.length = Int(clamping: status.st_size)
    self.modificationTime =
      MediaDuration(clampingSeconds: Int64(time.tv_sec), nanoseconds: Int64(time.tv_nsec)).nanoseconds
    self.etag =
      "\""
      + [Int64(bitPattern: UInt64(status.st_ino)), self.modificationTime, Int64(self.length)]
      .map { String(UInt64(bitPattern: $0), radix: 36) }.joined(separator: "-") + "\""
  }

  deinit {
    close(self.descriptor)
    self.place.release()
  }

  /// Reads bytes, off the event loop.
  ///
  /// - Throws: ``Failure/unreadable``, or `CancellationError`.
  func read(_ range: Range<Int>) async throws -> ByteBuffer {
    try await NIOThreadPool.singleton.runIfActive {
      var bytes = ByteBufferAllocator().buffer(capacity: range.count)
      while bytes.readableBytes < range.count {
        let offset = range.lowerBound + bytes.readableBytes
        let missing = range.count - bytes.readableBytes
        var result = 0
        bytes.writeWithUnsafeMutableBytes(minimumWritableBytes: missing) { room in
          result = pread(self.descriptor, room.baseAddress, missing, off_t(offset))
          return max(0, result)
        }
        if result < 0, errno == EINTR { continue }
        guard result > 0 else { throw Failure.unreadable }
      }
      return bytes
    }
  }

  private static func open(_ path: String) -> CInt {
    // A pipe of that name would make the thread wait.
    #if canImport(Darwin)
    Darwin.open(path, O_RDONLY | O_NONBLOCK | O_NOFOLLOW | O_CLOEXEC)
    #else
    Glibc.open(path, O_RDONLY | O_NONBLOCK | O_NOFOLLOW | O_CLOEXEC)
    #endif
  }
}
