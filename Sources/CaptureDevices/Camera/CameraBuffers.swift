internal import CV4L2
internal import Media
internal import Synchronization
internal import Threading

#if canImport(Darwin)
internal import Darwin
#else
internal import Glibc
#endif

// Safe because the memories are fixed from the start, and what is in them is written by the device only, while it has
// the buffer.
/// The memories that a device writes pictures into, mapped for as long as somebody looks at one.
final class CameraBuffers: @unchecked Sendable {
  /// One memory of a buffer.
  struct Memory {
    let start: UnsafeMutableRawPointer
    let length: Int
  }

  /// Of each buffer, its memories.
  let memories: [[Memory]]
  /// The way to the camera's thread, until the device is let go, and the buffers that came back since it last looked.
  private let returned: Mutex<(wake: WakePipe?, indices: [UInt32])>

  /// Asks the device for buffers, and maps them.
  ///
  /// - Parameter count: How many; the device may give another number.
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
          let (length, offset) = buffer.place(plane)
          memories[Int(index)].append(try Self.map(device.descriptor, length: length, offset: offset))
        }
      }
    } catch {
      Self.unmap(memories)
      throw error
    }
    self.memories = memories
    self.returned = Mutex((wake, []))
  }

  deinit {
    Self.unmap(self.memories)
  }

  /// Takes a buffer back that nobody looks at any more; from any thread.
  func giveBack(_ index: UInt32) {
    let wake = self.returned.withLock { returned in
      if returned.wake != nil { returned.indices.append(index) }
      return returned.wake
    }
    wake?.wake()
  }

  /// The buffers that came back.
  func takeReturned() -> [UInt32] {
    self.returned.withLock { returned in
      defer { returned.indices.removeAll(keepingCapacity: true) }
      return returned.indices
    }
  }

  /// From now on no buffer comes back.
  func disconnect() {
    self.returned.withLock { $0 = (nil, []) }
  }

  private static func map(_ descriptor: Int32, length: Int, offset: Int) throws(V4L2Failure) -> Memory {
    guard length > 0 else { throw V4L2Failure(call: .map, number: EINVAL) }
    let start = mmap(nil, length, PROT_READ | PROT_WRITE, MAP_SHARED, descriptor, off_t(offset))
    guard let start, start != MAP_FAILED else { throw V4L2Failure(call: .map, number: errno) }
    return Memory(start: start, length: length)
  }

  private static func unmap(_ memories: [[Memory]]) {
    for memory in memories.joined() { munmap(memory.start, memory.length) }
  }
}

extension vidicon_v4l2_buffer {
  /// The length of one of its memories, and where to map it.
  fileprivate func place(_ plane: Int) -> (length: Int, offset: Int) {
    self.withPlane(plane) { (Int($0.length), Int($0.map_offset)) }
  }

  /// Where a memory's data is: at most what lies within its length.
  func data(_ plane: Int, length: Int) -> Range<Int> {
    self.withPlane(plane) { plane in
      let end = min(Int(plane.bytes_used), length)
      return min(Int(plane.data_offset), end)..<end
    }
  }

  private func withPlane<Result>(_ index: Int, _ body: (Plane) -> Result) -> Result {
    // No trap: the callers count up to `plane_count`, which is at most the array's length.
    withUnsafeBytes(of: self.planes) { body($0.assumingMemoryBound(to: Plane.self)[index]) }
  }

  private typealias Plane = vidicon_v4l2_plane
}
