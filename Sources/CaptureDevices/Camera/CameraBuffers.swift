internal import CV4L2
internal import Libc
internal import Media
internal import Synchronization
internal import Threading

// Safe because `memories` is constant, and only the device writes to them, while it owns the buffer.
/// The buffers that a device captures into, mapped until the last frame that references one is released.
final class CameraBuffers: @unchecked Sendable {
  /// One mapped memory of a buffer.
  struct Memory {
    let start: UnsafeMutableRawPointer
    let length: Int
    /// Size of the address range that is unmapped with it, the page behind the memory included.
    let reservedLength: Int
  }

  /// The memories of each buffer.
  let memories: [[Memory]]
  /// Wakes the camera's thread, until ``disconnect()``, and the buffers released since ``takeReleased()``.
  private let released: Mutex<(wake: WakePipe?, indices: [UInt32])>

  /// Requests buffers from the driver and maps them.
  ///
  /// - Parameter count: Requested number of buffers; the driver may allocate another number.
  init(_ device: V4L2Device, count: UInt32, wake: WakePipe) throws(V4L2Failure) {
    var count = count
    let isMultiPlanar = device.identity.isMultiPlanar
    try device.check(vidicon_v4l2_request_buffers(device.descriptor, isMultiPlanar, &count), .buffers)
    guard count > 0 else { throw V4L2Failure(call: .buffers, number: ENOMEM) }
    var memories: [[Memory]] = []
    do throws(V4L2Failure) {
      for index in 0..<min(count, 32) {
        memories.append([])
        var buffer = vidicon_v4l2_buffer()
        try device.check(
          vidicon_v4l2_query_buffer(device.descriptor, isMultiPlanar, index, &buffer), .buffers)
        guard buffer.plane_count > 0 else { throw V4L2Failure(call: .buffers, number: EINVAL) }
        for plane in 0..<Int(buffer.plane_count) {
          let (length, offset) = buffer.mapping(plane)
          memories[Int(index)].append(try Self.map(device.descriptor, length: length, offset: offset))
        }
      }
    } catch {
      Self.unmap(memories)
      throw error
    }
    self.memories = memories
    self.released = Mutex((wake, []))
  }

  deinit {
    Self.unmap(self.memories)
  }

  /// Marks a buffer as no longer referenced by a frame, and wakes the camera's thread. Called on any thread.
  func release(_ index: UInt32) {
    let wake = self.released.withLock { released in
      if released.wake != nil { released.indices.append(index) }
      return released.wake
    }
    wake?.wake()
  }

  /// Removes and returns the buffers released since the last call.
  func takeReleased() -> [UInt32] {
    self.released.withLock { released in
      defer { released.indices.removeAll(keepingCapacity: true) }
      return released.indices
    }
  }

  /// Ignores buffers released from now on; called before the driver frees them.
  func disconnect() {
    self.released.withLock { $0 = (nil, []) }
  }

  /// Maps a memory, and a page of zeros behind it: libswscale and libyuv process rows in vectors, and read up to one of them
  /// past the last row, which may end with the last page of the memory.
  private static func map(_ descriptor: Int32, length: Int, offset: Int) throws(V4L2Failure) -> Memory {
    guard length > 0 else { throw V4L2Failure(call: .map, number: EINVAL) }
    let page = sysconf(Int32(_SC_PAGESIZE))
    let reservedLength = (length + page - 1) / page * page + page
    let reserved = mmap(nil, reservedLength, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0)
    guard let reserved, reserved != MAP_FAILED else { throw V4L2Failure(call: .map, number: errno) }
    let start = mmap(
      reserved, length, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, descriptor, off_t(offset))
    guard let start, start != MAP_FAILED else {
      let number = errno
      munmap(reserved, reservedLength)
      throw V4L2Failure(call: .map, number: number)
    }
    return Memory(start: start, length: length, reservedLength: reservedLength)
  }

  private static func unmap(_ memories: [[Memory]]) {
    for memory in memories.joined() { munmap(memory.start, memory.reservedLength) }
  }
}

extension vidicon_v4l2_buffer {
  /// Length and `mmap` offset of one of the buffer's memories, in bytes.
  fileprivate func mapping(_ plane: Int) -> (length: Int, offset: Int) {
    self.withPlane(plane) { (Int($0.length), Int($0.map_offset)) }
  }

  /// The range of captured bytes in a memory, clamped to its length.
  func data(_ plane: Int, length: Int) -> Range<Int> {
    self.withPlane(plane) { plane in
      let end = min(Int(plane.bytes_used), length)
      return min(Int(plane.data_offset), end)..<end
    }
  }

  private func withPlane<Result>(_ index: Int, _ body: (Plane) -> Result) -> Result {
    // No trap: callers pass indices below `plane_count`, which is at most the array's length.
    withUnsafeBytes(of: self.planes) { body($0.assumingMemoryBound(to: Plane.self)[index]) }
  }

  private typealias Plane = vidicon_v4l2_plane
}
