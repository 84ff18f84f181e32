import Media
import Synchronization
import Testing

@Suite("Frame formats and memory layouts")
struct VideoFormatTests {
  /// Minimum bytes per row at width 5, and rows at height 3.
  private static let planes: [(format: PixelFormat, plane: Int, bytes: Int, rows: Int)] = [
    (.nv12, 0, 5, 3), (.nv12, 1, 6, 2),
    (.i420, 0, 5, 3), (.i420, 1, 3, 2), (.i420, 2, 3, 2),
    (.bgra, 0, 20, 3), (.argb, 0, 20, 3), (.rgb24, 0, 15, 3), (.yuyv, 0, 12, 3),
  ]

  @Test func `odd sizes round chroma up`() {
    for (format, plane, bytes, rows) in Self.planes {
      #expect(format.minimumBytesPerRow(plane: plane, width: 5) == bytes)
      #expect(format.rowCount(plane: plane, height: 3) == rows)
    }
  }

  @Test func `planes and color space follow from the format`() {
    #expect(PixelFormat.allCases.map(\.planeCount) == [2, 3, 1, 1, 1, 1])
    #expect(PixelFormat.allCases.filter(\.isYCbCr) == [.nv12, .i420, .yuyv])
  }

  @Test func `rows have no padding by default, and byte counts include padding`() {
    let tight = VideoFormat(width: 5, height: 3)
    #expect(tight.bytesPerRow == [5, 3, 3])
    #expect((0..<3).map { tight.byteCount(plane: $0) } == [15, 6, 6])
    let padded = VideoFormat(width: 5, height: 3, bytesPerRow: [8, 4, 4])
    #expect((0..<3).map { padded.byteCount(plane: $0) } == [24, 8, 8])
  }

  @Test func `the layout ignores frame rate and color matrix, not padding`() {
    let format = VideoFormat(width: 64, height: 36, frameRate: 30)
    #expect(format.hasSameLayout(as: VideoFormat(width: 64, height: 36, frameRate: 60, colorMatrix: .bt709)))
    #expect(!format.hasSameLayout(as: VideoFormat(width: 64, height: 36, bytesPerRow: [64, 32, 33])))
    #expect(!format.hasSameLayout(as: VideoFormat(width: 64, height: 36, pixelFormat: .nv12)))
    #expect(!format.hasSameLayout(as: VideoFormat(width: 36, height: 64)))
  }

  @Test func `a quarter rotation swaps width and height`() {
    #expect(Orientation.allCases.filter(\.swapsWidthAndHeight) == [.right, .left])
    #expect(Orientation.allCases.map(\.rawValue) == [0, 90, 180, 270])
  }

  @Test func `color matrices have the numbers of ITU-T H 273`() {
    #expect(ColorMatrix(rawValue: 1) == .bt709)
    #expect(ColorMatrix(rawValue: 6) == .bt601)
    #expect(ColorMatrix(rawValue: 2) == nil)
  }
}

@Suite("Frame memory")
struct PixelBufferTests {
  @Test func `planes are aligned, disjoint and of the format's size`() {
    let buffer = PixelBuffer(format: VideoFormat(width: 5, height: 3))
    let planes = (0..<3).map { buffer.unsafePlane($0) }
    #expect(planes.map(\.count) == [15, 6, 6])
    for (index, plane) in planes.enumerated() {
      #expect(Int(bitPattern: plane.baseAddress) % 64 == 0)
      plane.initializeMemory(as: UInt8.self, repeating: UInt8(index + 1))
    }
    let frame = VideoFrame(buffer: buffer, timestamp: .zero)
    for index in 0..<3 {
      #expect(frame.withPlane(index) { Set($0) } == [UInt8(index + 1)])
    }
  }

  @Test func `borrowed memory is released once, with the last frame that references it`() throws {
    let releases = Releases()
    let memory = UnsafeMutableRawBufferPointer.allocate(byteCount: 24, alignment: 16)
    defer { memory.deallocate() }
    memory.initializeMemory(as: UInt8.self, repeating: 7)
    let base = try #require(memory.baseAddress)
    let format = VideoFormat(width: 2, height: 3, pixelFormat: .bgra)
    var frames = [
      VideoFrame(
        buffer: PixelBuffer(borrowing: [base], format: format) { releases.count.add(1, ordering: .relaxed) },
        timestamp: .zero + .seconds(1))
    ]
    frames.append(frames[0])
    #expect(frames[1].withPlane(0) { Array($0) } == [UInt8](repeating: 7, count: 24))
    #expect(frames[1].buffer === frames[0].buffer)
    #expect(frames[1].format == format)
    frames.removeFirst()
    #expect(releases.count.load(ordering: .relaxed) == 0)
    frames.removeFirst()
    #expect(releases.count.load(ordering: .relaxed) == 1)
  }

  @Test func `an index without a plane is empty`() {
    let buffer = PixelBuffer(format: VideoFormat(width: 2, height: 2, pixelFormat: .nv12))
    #expect(buffer.unsafePlane(1).count == 2)
    #expect(buffer.unsafePlane(2).baseAddress == nil)
  }
}

private final class Releases: Sendable {
  let count = Atomic(0)
}
