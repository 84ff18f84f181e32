import Synchronization
import Testing

@testable import Media

@Suite("Video frame pool")
struct VideoFramePoolTests {
  @Test func `memory is reused instead of allocated`() throws {
    let pool = VideoFramePool(format: VideoFormat(width: 64, height: 48, pixelFormat: .nv12), capacity: 2)
    var addresses: Set<UnsafeRawPointer> = []
    for index in 0..<10 {
      let frame = try #require(pool.frame(at: MediaTime(nanoseconds: Int64(index))) { _ in })
      frame.withPlane(0) { _ = addresses.insert($0.baseAddress!) }
    }
    #expect(addresses.count == 1)
  }

  @Test func `an exhausted pool returns nil until a frame is released`() {
    let pool = VideoFramePool(format: VideoFormat(width: 16, height: 16), capacity: 2)
    var held = [pool.frame(at: .zero) { _ in }, pool.frame(at: .zero) { _ in }]
    #expect(held.allSatisfy { $0 != nil })
    #expect(pool.frame(at: .zero) { _ in } == nil)
    held.removeLast()
    #expect(pool.frame(at: .zero) { _ in } != nil)
  }

  @Test(arguments: PixelFormat.allCases)
  func `the planes of an odd size are large enough, aligned and disjoint`(pixelFormat: PixelFormat) throws {

    let format = VideoFormat(width: 63, height: 47, pixelFormat: pixelFormat)
    let pool = VideoFramePool(format: format)
    let frame = try #require(
      pool.frame(at: .zero) { buffer in
        for plane in 0..<pixelFormat.planeCount {
          for index in buffer.unsafePlane(plane).indices { buffer.unsafePlane(plane)[index] = UInt8(plane + 1) }
        }
      })
    for plane in 0..<pixelFormat.planeCount {
      frame.withPlane(plane) { bytes in
        #expect(bytes.count == format.byteCount(plane: plane))
        #expect(bytes.allSatisfy { $0 == UInt8(plane + 1) })
        #expect(UInt(bitPattern: bytes.baseAddress).isMultiple(of: 64))
      }
    }
  }

  @Test func `borrowed memory is released once, with the last reference`() {
    let released = Mutex(0)
    let memory = UnsafeMutableRawPointer.allocate(byteCount: 16 * 16 * 4, alignment: 64)
    defer { memory.deallocate() }
    let format = VideoFormat(width: 16, height: 16, pixelFormat: .bgra)
    do {
      let frame = VideoFrame(
        buffer: PixelBuffer(borrowing: [memory], format: format) { released.withLock { $0 += 1 } }, timestamp: .zero)
      var copy: VideoFrame? = frame
      copy?.isMirrored = true
      #expect(copy?.format == format)
      copy = nil
      #expect(released.withLock { $0 } == 0)
      _ = frame
    }
    #expect(released.withLock { $0 } == 1)
  }

  @Test func `buffers that only a burst needed are freed, those in use never`() {
    let pool = VideoFramePool(format: VideoFormat(width: 16, height: 16))
    func frame() -> VideoFrame? { pool.frame(at: .zero) { _ in } }
    var burst = (0..<6).compactMap { _ in frame() }
    #expect(burst.count == 6 && pool.bufferCount == 6)
    let held = burst.removeLast()
    burst = []
    // Two at a time are needed.
    for _ in 0..<VideoFramePool.trimInterval {
      let pair = (frame(), frame())
      #expect(pair.0 != nil && pair.1 != nil)
    }
    #expect(pool.bufferCount == 3)
    #expect(held.withPlane(0) { $0.count } == 256)
    // Steady use frees nothing more, and allocates nothing.
    for _ in 0..<VideoFramePool.trimInterval {
      let pair = (frame(), frame())
      #expect(pair.0 != nil && pair.1 != nil)
    }
    #expect(pool.bufferCount == 3)
    // The next burst has all of the capacity.
    let next = (0..<8).compactMap { _ in frame() }
    #expect(next.count == 7 && pool.bufferCount == 8)
  }

  @Test func `buffers that only the start needed are freed after two intervals of it, later ones after a long one`() {
    let pool = VideoFramePool(format: VideoFormat(width: 16, height: 16))
    func frame() -> VideoFrame? { pool.frame(at: .zero) { _ in } }
    func useOneAtATime(_ count: Int) { for _ in 0..<count { #expect(frame() != nil) } }
    var burst = (0..<6).compactMap { _ in frame() }
    #expect(burst.count == 6)
    burst = []
    // The first interval has the burst.
    useOneAtATime(2 * VideoFramePool.startTrimInterval - 6 - 1)
    #expect(pool.bufferCount == 6)
    useOneAtATime(1)
    #expect(pool.bufferCount == 1)
    useOneAtATime(VideoFramePool.trimInterval - 2 * VideoFramePool.startTrimInterval)
    burst = (0..<3).compactMap { _ in frame() }
    burst = []
    // So has the first long one.
    useOneAtATime(2 * VideoFramePool.trimInterval - 3 - 1)
    #expect(pool.bufferCount == 3)
    useOneAtATime(1)
    #expect(pool.bufferCount == 1)
  }
}
