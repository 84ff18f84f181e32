import Capture
import Media
import Synchronization
import TestSupport
import Testing

@Suite("Generator capturer", .timeLimit(.minutes(5)))
struct GeneratorCapturerTests {
  /// Rows of 18 bytes of pixels and 2 of padding.
  private static let padded = VideoFormat(
    width: 6, height: 4, pixelFormat: .rgb24, bytesPerRow: [20], frameRate: FrameRate(100))

  @Test func `the closure fills the rows of each frame and receives its index and time`() throws {
    let times = Mutex<[MediaTime]>([])
    let capturer = GeneratorCapturer(Self.padded) { frame, time in
      times.withLock { $0.append(time) }
      for y in 0..<frame.height {
        frame.withRow(y) { row in
          for x in row.indices { row[x] = UInt8(truncatingIfNeeded: Int(frame.index) * 64 + y * 18 + x) }
        }
      }
    }
    let collector = FrameCollector(keep: 3)
    #expect(capturer.format == Self.padded)
    try capturer.start(consumer: collector)
    let frames = collector.frames(3)
    #expect(capturer.isStarted)
    capturer.stop()
    #expect(!capturer.isStarted)
    try #require(frames.count == 3)
    // Skipped frames leave gaps in the indices.
    let interval = Self.padded.frameRate.frameInterval.nanoseconds
    let first = frames[0].timestamp
    for frame in frames {
      let index = ((frame.timestamp - first).nanoseconds + interval / 2) / interval
      #expect(pixels(frame) == (0..<72).map { UInt8(truncatingIfNeeded: Int(index) * 64 + $0) })
    }
    #expect(times.withLock { $0.prefix(3) }.elementsEqual(frames.map(\.timestamp)))
  }

  @Test func `every plane can be written by row and as a whole`() throws {
    let format = VideoFormat(width: 5, height: 3, pixelFormat: .nv12, frameRate: FrameRate(100))
    let capturer = GeneratorCapturer(format) { frame, _ in
      frame.withPlane { luma in for index in luma.indices { luma[index] = 9 } }
      for y in 0..<2 {
        frame.withRow(y, plane: 1) { row in for index in row.indices { row[index] = UInt8(10 * y + index) } }
      }
    }
    let collector = FrameCollector(keep: 1)
    try capturer.start(consumer: collector)
    let frame = try #require(collector.frames(1).first)
    capturer.stop()
    #expect(pixels(frame) == Array(repeating: 9, count: 15))
    #expect(pixels(frame, plane: 1) == [0, 1, 2, 3, 4, 5, 10, 11, 12, 13, 14, 15])
  }

  @Test func `no frame is drawn into memory that a consumer holds`() throws {
    let capturer = GeneratorCapturer(Self.padded) { frame, _ in
      frame.withPlane { $0.update(repeating: UInt8(truncatingIfNeeded: frame.index)) }
    }
    let collector = FrameCollector(keep: 2)
    try capturer.start(consumer: collector)
    let held = collector.frames(20)
    capturer.stop()
    let addresses = held.map { $0.withPlane(0) { UInt(bitPattern: $0.baseAddress) } }
    #expect(Set(addresses).count == 2)
    #expect(pixels(try #require(held.first)) == Array(repeating: 0, count: 72))
  }

  @Test func `the state is kept from frame to frame and created again at each start`() throws {
    let capturer = GeneratorCapturer(Self.padded, state: { UInt8(7) }) { state, frame, _ in
      frame.withPlane { plane in plane[0] = state }
      state += 1
    }
    for _ in 0..<2 {
      let collector = FrameCollector(keep: 3)
      try capturer.start(consumer: collector)
      let frames = collector.frames(3)
      capturer.stop()
      #expect(frames.map { pixels($0)[0] } == [7, 8, 9])
    }
  }
}
