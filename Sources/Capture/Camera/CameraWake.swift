internal import Media
internal import Synchronization

#if canImport(Darwin)
internal import Darwin
#else
internal import Glibc
#endif

/// Wakes the thread of a camera while it waits for a picture: to stop, or to give buffers back to the device.
final class CameraWake: Sendable {
  private let ends: (read: Int32, write: Int32)
  private let stopped = Mutex(false)

  init(source: String) throws(CaptureError) {
    var ends: [Int32] = [-1, -1]
    guard pipe(&ends) == 0 else {
      throw CaptureError(
        .failed, source: source, cause: systemMessage(errno), nextStep: "raise the limit of open files (ulimit -n)")
    }
    for end in ends {
      _ = fcntl(end, F_SETFD, FD_CLOEXEC)
      _ = fcntl(end, F_SETFL, O_NONBLOCK)
    }
    self.ends = (ends[0], ends[1])
  }

  deinit {
    close(self.ends.read)
    close(self.ends.write)
  }

  /// Whether the thread shall end.
  var isStopped: Bool {
    self.stopped.withLock { $0 }
  }

  /// Ends the wait, and all later ones.
  func stop() {
    self.stopped.withLock { $0 = true }
    self.wake()
  }

  /// Ends the wait.
  func wake() {
    var byte: UInt8 = 0
    _ = write(self.ends.write, &byte, 1)
  }

  /// Waits until a device has something to tell, somebody wakes, or a time has passed.
  ///
  /// - Parameters:
  ///   - descriptor: The device; nil to wait for the others only.
  ///   - limit: At most some seconds.
  /// - Returns: What `poll` says of the device; 0 for nothing.
  func wait(for descriptor: Int32?, atMost limit: MediaDuration) -> Int32 {
    if self.isStopped { return 0 }
    var descriptors = [
      pollfd(fd: self.ends.read, events: Int16(POLLIN), revents: 0),
      pollfd(fd: descriptor ?? -1, events: Int16(POLLIN), revents: 0),
    ]
    let milliseconds = Int32(clamping: max(0, limit.nanoseconds / 1_000_000))
    guard poll(&descriptors, descriptor == nil ? 1 : 2, milliseconds) > 0 else { return 0 }
    if descriptors[0].revents != 0 {
      var bytes = [UInt8](repeating: 0, count: 64)
      while read(self.ends.read, &bytes, bytes.count) == bytes.count {}
    }
    return Int32(descriptors[1].revents)
  }
}
