#if os(Linux)
internal import CCapture
internal import CXCB
internal import Libc

// Safe because it only owns the mapping; its user synchronizes access to the bytes.
/// Memory for a frame that an X server on the same machine can write to.
final class ScreenMemory: @unchecked Sendable {
  /// The first byte.
  let start: UnsafeMutableRawPointer
  /// The server's identifier of the shared memory segment; nil when it is not shared.
  let segment: UInt32?
  private let size: Int

  /// Number of bytes that SIMD code may access beyond the end.
  private static let margin = 64

  /// Allocates memory and shares it where the server supports that.
  ///
  /// - Returns: Nil when memory is exhausted.
  init?(size: Int, sharedWith connection: X11Connection) throws(X11Failure) {
    self.size = size + Self.margin
    let isShared = connection.extensions.hasSharedMemory
    let file = isShared ? vidicon_memory_file(self.size) : -1
    let flags = file >= 0 ? MAP_SHARED : MAP_PRIVATE | MAP_ANONYMOUS
    guard let start = mmap(nil, self.size, PROT_READ | PROT_WRITE, flags, file, 0), start != MAP_FAILED else {
      if file >= 0 { close(file) }
      return nil
    }
    self.start = start
    guard file >= 0 else {
      self.segment = nil
      return
    }
    let segment = connection.makeIdentifier()
    do throws(X11Failure) {
      // libxcb closes the descriptor after sending it.
      try connection.check(xcb_shm_attach_fd_checked(connection.pointer, segment, file, 0))
      self.segment = segment
    } catch {
      guard case .refused = error else {
        munmap(start, self.size)
        throw error
      }
      // A proxy between the server and this process does not forward descriptors.
      self.segment = nil
    }
  }

  deinit {
    munmap(self.start, self.size)
  }
}
#endif
