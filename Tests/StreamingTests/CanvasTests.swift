import Media
import Testing

@testable import Streaming

@Suite("Canvas")
struct CanvasTests {
  /// A frame whose left half is dark and right half is bright, the top row of blocks brighter still.
  private func frame(
    width: Int, height: Int, pixelFormat: PixelFormat = .i420, orientation: Orientation = .up, isMirrored: Bool = false
  ) -> VideoFrame {
    let buffer = PixelBuffer(format: VideoFormat(width: width, height: height, pixelFormat: pixelFormat))
    let dark = [UInt8(40), 140]
    for plane in 0..<pixelFormat.planeCount {
      let bytes = buffer.unsafePlane(plane)
      let stride = buffer.format.bytesPerRow[plane]
      for row in 0..<pixelFormat.rowCount(plane: plane, height: height) {
        for column in 0..<stride {
          let isRight = column * 2 >= stride
          bytes[row * stride + column] = plane > 0 ? 128 : dark[isRight ? 1 : 0] + (row * 2 < height ? 60 : 0)
        }
      }
    }
    return VideoFrame(buffer: buffer, timestamp: .zero, orientation: orientation, isMirrored: isMirrored)
  }

  private func luma(_ frame: VideoFrame, x: Int, y: Int) -> UInt8 {
    frame.withPlane(0) { $0[y * frame.format.bytesPerRow[0] + x] }
  }

  private func canvas(_ width: Int, _ height: Int, _ scaling: VideoSettings.Scaling = .fit) -> Canvas {
    Canvas(format: VideoFormat(width: width, height: height), scaling: scaling)
  }

  @Test func `a picture that fits passes through without a copy`() throws {
    let frame = self.frame(width: 64, height: 48)
    let drawn = try #require(self.canvas(64, 48).draw(frame, matrix: .bt601))
    #expect(drawn.buffer === frame.buffer)
  }

  @Test func `a wide picture on a tall canvas has black bars above and below, and its own pixels between`() throws {
    let drawn = try #require(self.canvas(64, 128).draw(self.frame(width: 128, height: 64), matrix: .bt601))
    #expect(self.luma(drawn, x: 32, y: 0) == 16)
    #expect(self.luma(drawn, x: 32, y: 47) == 16)
    #expect(self.luma(drawn, x: 4, y: 52) == 100)
    #expect(self.luma(drawn, x: 60, y: 76) == 140)
    #expect(self.luma(drawn, x: 32, y: 80) == 16)
    #expect(self.luma(drawn, x: 32, y: 127) == 16)
  }

  @Test func `a tall picture on a wide canvas has black bars at both sides`() throws {
    let drawn = try #require(self.canvas(128, 64).draw(self.frame(width: 64, height: 128), matrix: .bt601))
    #expect(self.luma(drawn, x: 0, y: 32) == 16)
    #expect(self.luma(drawn, x: 46, y: 32) == 16)
    #expect(self.luma(drawn, x: 50, y: 4) == 100)
    #expect(self.luma(drawn, x: 82, y: 32) == 16)
  }

  @Test func `filling crops evenly and leaves no bar`() throws {
    let drawn = try #require(self.canvas(64, 64, .fill).draw(self.frame(width: 128, height: 64), matrix: .bt601))
    #expect(self.luma(drawn, x: 0, y: 0) == 100)
    #expect(self.luma(drawn, x: 30, y: 0) == 100)
    #expect(self.luma(drawn, x: 34, y: 0) == 200)
    #expect(self.luma(drawn, x: 63, y: 63) == 140)
  }

  /// What the four corners of an upright 64×64 canvas show, clockwise from the top left.
  @Test(
    arguments: [
      (Orientation.up, false, [100, 200, 140, 40]),
      (.right, false, [40, 100, 200, 140]),
      (.down, false, [140, 40, 100, 200]),
      (.left, false, [200, 140, 40, 100]),
      (.up, true, [200, 100, 40, 140]),
      (.right, true, [100, 40, 140, 200]),
    ] as [(Orientation, Bool, [UInt8])])
  func `orientation turns clockwise, then mirroring exchanges left and right`(
    orientation: Orientation, isMirrored: Bool, corners: [UInt8]
  ) throws {
    let frame = self.frame(width: 64, height: 64, orientation: orientation, isMirrored: isMirrored)
    let drawn = try #require(self.canvas(64, 64).draw(frame, matrix: .bt601))
    let found = [(8, 8), (56, 8), (56, 56), (8, 56)].map { self.luma(drawn, x: $0.0, y: $0.1) }
    #expect(found == corners)
  }

  @Test func `turning by a quarter exchanges width and height before the picture is placed`() throws {
    let frame = self.frame(width: 128, height: 64, orientation: .right)
    let drawn = try #require(self.canvas(64, 128).draw(frame, matrix: .bt601))
    #expect(self.luma(drawn, x: 0, y: 0) == 40)
    #expect(self.luma(drawn, x: 63, y: 127) == 200)
  }

  /// Red, green and blue of full strength in BT.601, limited range (ITU-R BT.601-7 §2.5.3, rounded).
  @Test(
    arguments: [
      ([255, 0, 0], [82, 90, 240]), ([0, 255, 0], [145, 54, 34]), ([0, 0, 255], [41, 240, 110]),
      ([255, 255, 255], [235, 128, 128]), ([0, 0, 0], [16, 128, 128]),
    ] as [([UInt8], [UInt8])])
  func `every RGB format gives the same luma and colour differences`(rgb: [UInt8], expected: [UInt8]) throws {
    let orders: [(PixelFormat, [UInt8])] = [
      (.rgb24, rgb), (.argb, [255] + rgb), (.bgra, [rgb[2], rgb[1], rgb[0], 255]),
    ]
    for (pixelFormat, pixel) in orders {
      let buffer = PixelBuffer(format: VideoFormat(width: 32, height: 32, pixelFormat: pixelFormat))
      let bytes = buffer.unsafePlane(0)
      for index in bytes.indices { bytes[index] = pixel[index % pixel.count] }
      let drawn = try #require(self.canvas(32, 32).draw(VideoFrame(buffer: buffer, timestamp: .zero), matrix: .bt601))
      let found = (0..<3).map { plane in drawn.withPlane(plane) { Int($0[100]) } }
      for (value, wanted) in zip(found, expected) {
        #expect(abs(value - Int(wanted)) <= 1, "\(pixelFormat): \(found)")
      }
    }
  }

  @Test(arguments: [PixelFormat.nv12, .yuyv])
  func `other arrangements of luma keep it`(pixelFormat: PixelFormat) throws {
    let buffer = PixelBuffer(format: VideoFormat(width: 32, height: 32, pixelFormat: pixelFormat))
    for plane in 0..<pixelFormat.planeCount {
      let bytes = buffer.unsafePlane(plane)
      for index in bytes.indices {
        bytes[index] = plane == 0 && (pixelFormat == .nv12 || index.isMultiple(of: 2)) ? 90 : 128
      }
    }
    let drawn = try #require(self.canvas(32, 32).draw(VideoFrame(buffer: buffer, timestamp: .zero), matrix: .bt601))
    #expect(self.luma(drawn, x: 31, y: 31) == 90)
    #expect(drawn.withPlane(1) { $0.allSatisfy { $0 == 128 } })
    #expect(drawn.withPlane(2) { $0.allSatisfy { $0 == 128 } })
  }

  @Test func `sizes with no common shape and odd sources are placed at even coordinates`() throws {
    for (width, height) in [(17, 33), (33, 17), (641, 363), (1, 1), (3, 1000)] {
      for scaling in VideoSettings.Scaling.allCases {
        let drawn = try #require(
          self.canvas(320, 240, scaling).draw(self.frame(width: width, height: height), matrix: .bt601))
        #expect(drawn.format.width == 320)
      }
    }
  }
}
