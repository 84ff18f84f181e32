import Media
import Testing

@testable import Streaming

@Suite("Frame converter")
struct FrameConverterTests {
  /// A frame whose left half is dark and right half is bright; the top row of blocks is brighter still.
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

  private func converter(_ width: Int, _ height: Int, _ scaling: VideoSettings.Scaling = .fit) -> FrameConverter {
    FrameConverter(format: VideoFormat(width: width, height: height), scaling: scaling)
  }

  @Test func `a frame that fits passes through without a copy`() throws {
    let frame = self.frame(width: 64, height: 48)
    let drawn = try #require(self.converter(64, 48).draw(frame, matrix: .bt601))
    #expect(drawn.buffer === frame.buffer)
  }

  @Test func `a wide frame in a tall output has black bars above and below, and unchanged pixels between them`() throws
  {
    let drawn = try #require(self.converter(64, 128).draw(self.frame(width: 128, height: 64), matrix: .bt601))
    #expect(self.luma(drawn, x: 32, y: 0) == 16)
    #expect(self.luma(drawn, x: 32, y: 47) == 16)
    #expect(self.luma(drawn, x: 4, y: 52) == 100)
    #expect(self.luma(drawn, x: 60, y: 76) == 140)
    #expect(self.luma(drawn, x: 32, y: 80) == 16)
    #expect(self.luma(drawn, x: 32, y: 127) == 16)
  }

  @Test func `a tall frame in a wide output has black bars at both sides`() throws {
    let drawn = try #require(self.converter(128, 64).draw(self.frame(width: 64, height: 128), matrix: .bt601))
    #expect(self.luma(drawn, x: 0, y: 32) == 16)
    #expect(self.luma(drawn, x: 46, y: 32) == 16)
    #expect(self.luma(drawn, x: 50, y: 4) == 100)
    #expect(self.luma(drawn, x: 82, y: 32) == 16)
  }

  @Test func `filling crops evenly and leaves no bar`() throws {
    let drawn = try #require(self.converter(64, 64, .fill).draw(self.frame(width: 128, height: 64), matrix: .bt601))
    #expect(self.luma(drawn, x: 0, y: 0) == 100)
    #expect(self.luma(drawn, x: 30, y: 0) == 100)
    #expect(self.luma(drawn, x: 34, y: 0) == 200)
    #expect(self.luma(drawn, x: 63, y: 63) == 140)
  }

  /// The four corners of an upright 64×64 output, clockwise from the top left.
  @Test(
    arguments: [
      (Orientation.up, false, [100, 200, 140, 40]),
      (.right, false, [40, 100, 200, 140]),
      (.down, false, [140, 40, 100, 200]),
      (.left, false, [200, 140, 40, 100]),
      (.up, true, [200, 100, 40, 140]),
      (.right, true, [100, 40, 140, 200]),
    ] as [(Orientation, Bool, [UInt8])])
  func `a frame is rotated clockwise, then mirrored horizontally`(
    orientation: Orientation, isMirrored: Bool, corners: [UInt8]
  ) throws {
    let frame = self.frame(width: 64, height: 64, orientation: orientation, isMirrored: isMirrored)
    let drawn = try #require(self.converter(64, 64).draw(frame, matrix: .bt601))
    let found = [(8, 8), (56, 8), (56, 56), (8, 56)].map { self.luma(drawn, x: $0.0, y: $0.1) }
    #expect(found == corners)
  }

  @Test func `a quarter turn swaps width and height before the frame is placed`() throws {
    let frame = self.frame(width: 128, height: 64, orientation: .right)
    let drawn = try #require(self.converter(64, 128).draw(frame, matrix: .bt601))
    #expect(self.luma(drawn, x: 0, y: 0) == 40)
    #expect(self.luma(drawn, x: 63, y: 127) == 200)
  }

  /// Full red, green and blue in BT.601, limited range (ITU-R BT.601-7 §2.5.3, rounded).
  @Test(
    arguments: [
      ([255, 0, 0], [82, 90, 240]), ([0, 255, 0], [145, 54, 34]), ([0, 0, 255], [41, 240, 110]),
      ([255, 255, 255], [235, 128, 128]), ([0, 0, 0], [16, 128, 128]),
    ] as [([UInt8], [UInt8])])
  func `every RGB format gives the same luma and color differences`(rgb: [UInt8], expected: [UInt8]) throws {

    let orders: [(PixelFormat, [UInt8])] = [
      (.rgb24, rgb), (.argb, [255] + rgb), (.bgra, [rgb[2], rgb[1], rgb[0], 255]),
    ]
    for (pixelFormat, pixel) in orders {
      let buffer = PixelBuffer(format: VideoFormat(width: 32, height: 32, pixelFormat: pixelFormat))
      let bytes = buffer.unsafePlane(0)
      for index in bytes.indices { bytes[index] = pixel[index % pixel.count] }
      let drawn = try #require(
        self.converter(32, 32).draw(VideoFrame(buffer: buffer, timestamp: .zero), matrix: .bt601))
      let found = (0..<3).map { plane in drawn.withPlane(plane) { Int($0[100]) } }
      for (value, wanted) in zip(found, expected) {
        #expect(abs(value - Int(wanted)) <= 1, "\(pixelFormat): \(found)")
      }
    }
  }

  @Test(arguments: [PixelFormat.nv12, .yuyv])
  func `other pixel layouts keep the luma`(pixelFormat: PixelFormat) throws {

    let buffer = PixelBuffer(format: VideoFormat(width: 32, height: 32, pixelFormat: pixelFormat))
    for plane in 0..<pixelFormat.planeCount {
      let bytes = buffer.unsafePlane(plane)
      for index in bytes.indices {
        bytes[index] = plane == 0 && (pixelFormat == .nv12 || index.isMultiple(of: 2)) ? 90 : 128
      }
    }
    let drawn = try #require(self.converter(32, 32).draw(VideoFrame(buffer: buffer, timestamp: .zero), matrix: .bt601))
    #expect(self.luma(drawn, x: 31, y: 31) == 90)
    #expect(drawn.withPlane(1) { $0.allSatisfy { $0 == 128 } })
    #expect(drawn.withPlane(2) { $0.allSatisfy { $0 == 128 } })
  }

  @Test func `sizes with no common shape and odd sources are placed at even coordinates`() throws {
    for (width, height) in [(17, 33), (33, 17), (641, 363), (1, 1), (3, 1000)] {
      for scaling in VideoSettings.Scaling.allCases {
        let drawn = try #require(
          self.converter(320, 240, scaling).draw(self.frame(width: width, height: height), matrix: .bt601))
        #expect(drawn.format.width == 320)
      }
    }
  }

  /// A landscape frame, 32 × 16, of 4 × 2 cells whose values differ in all planes.
  private func cells(orientation: Orientation, isMirrored: Bool) -> VideoFrame {
    let buffer = PixelBuffer(format: VideoFormat(width: 32, height: 16))
    for plane in 0..<3 {
      let side = plane == 0 ? 8 : 4
      let stride = buffer.format.bytesPerRow[plane]
      for y in 0..<2 * side {
        for x in 0..<4 * side {
          buffer.unsafePlane(plane)[y * stride + x] = Self.value(ofCell: y / side * 4 + x / side, plane: plane)
        }
      }
    }
    return VideoFrame(buffer: buffer, timestamp: .zero, orientation: orientation, isMirrored: isMirrored)
  }

  private static func value(ofCell cell: Int, plane: Int) -> UInt8 {
    UInt8(30 + 20 * cell + plane)
  }

  /// The cells of the upright frame, row by row, computed by hand.
  private static let upright: [Orientation: [[Int]]] = [
    .up: [[0, 1, 2, 3], [4, 5, 6, 7]],
    .right: [[4, 0], [5, 1], [6, 2], [7, 3]],
    .down: [[7, 6, 5, 4], [3, 2, 1, 0]],
    .left: [[3, 7], [2, 6], [1, 5], [0, 4]],
  ]

  /// A portrait output, 8 × 16: a portrait frame fills it at half its size; a landscape frame is scaled to a quarter
  /// with bars (fit), or keeps its size and is cropped (fill). No pixel therefore mixes two cells.
  @Test(arguments: Orientation.allCases, VideoSettings.Scaling.allCases)
  func `a portrait output shows each cell of a landscape frame in its place`(
    orientation: Orientation, scaling: VideoSettings.Scaling
  ) throws {
    for isMirrored in [false, true] {
      let frame = self.cells(orientation: orientation, isMirrored: isMirrored)
      let drawn = try #require(self.converter(8, 16, scaling).draw(frame, matrix: .bt601))
      let rows = try #require(Self.upright[orientation]).map { isMirrored ? $0.reversed() : $0 }
      for plane in 0..<3 {
        // In luma pixels; a chroma sample covers two.
        let unit = plane == 0 ? 1 : 2
        for y in stride(from: 0, to: 16, by: unit) {
          for x in stride(from: 0, to: 8, by: unit) {
            let cell: Int? =
              switch (orientation.swapsWidthAndHeight, scaling) {
              case (true, _): rows[y / 4][x / 4]
              case (false, .fill): rows[y / 8][(x + 12) / 8]
              case (false, .fit): (6..<10).contains(y) ? rows[(y - 6) / 2][x / 2] : nil
              }
            let wanted = cell.map { Self.value(ofCell: $0, plane: plane) } ?? (plane == 0 ? 16 : 128)
            let found = drawn.withPlane(plane) { $0[y / unit * drawn.format.bytesPerRow[plane] + x / unit] }
            #expect(found == wanted, "\(orientation), mirrored \(isMirrored), \(scaling): plane \(plane), \(x), \(y)")
          }
        }
      }
    }
  }

  /// Full red, green, blue and white in BT.601 and in BT.709 (ITU-R BT.601-7 §2.5.3, BT.709-6 §3.4, rounded).
  private static let colors: [(bt601: [UInt8], bt709: [UInt8])] = [
    ([82, 90, 240], [63, 102, 240]), ([145, 54, 34], [173, 42, 26]), ([41, 240, 110], [32, 240, 118]),
    ([235, 128, 128], [235, 128, 128]),
  ]

  private func plain(_ color: [UInt8], pixelFormat: PixelFormat, width: Int, height: Int) -> VideoFrame {
    let buffer = PixelBuffer(format: VideoFormat(width: width, height: height, pixelFormat: pixelFormat))
    for plane in 0..<pixelFormat.planeCount {
      let bytes = buffer.unsafePlane(plane)
      for index in bytes.indices {
        bytes[index] =
          switch (pixelFormat, plane) {
          case (.i420, _): color[plane]
          case (.nv12, 0): color[0]
          case (.nv12, _): color[1 + index % 2]
          default: [color[0], color[1], color[0], color[2]][index % 4]
          }
      }
    }
    return VideoFrame(buffer: buffer, timestamp: .zero)
  }

  @Test(arguments: [PixelFormat.i420, .nv12, .yuyv], [(64, 48), (33, 17), (48, 64)])
  func `a frame with another matrix is converted to the output's`(pixelFormat: PixelFormat, size: (Int, Int)) throws {
    for color in Self.colors {
      for (from, matrix, to, outputMatrix) in [
        (color.bt601, ColorMatrix.bt601, color.bt709, ColorMatrix.bt709),
        (color.bt709, .bt709, color.bt601, .bt601), (color.bt709, .bt709, color.bt709, .bt709),
      ] {
        let converter = FrameConverter(
          format: VideoFormat(width: 64, height: 48, colorMatrix: outputMatrix), scaling: .fit)
        let frame = self.plain(from, pixelFormat: pixelFormat, width: size.0, height: size.1)
        let drawn = try #require(converter.draw(frame, matrix: matrix))
        for plane in 0..<3 {
          let middle = drawn.format.byteCount(plane: plane) / 2 + drawn.format.bytesPerRow[plane] / 2
          let found = drawn.withPlane(plane) { $0[middle] }
          #expect(abs(Int(found) - Int(to[plane])) <= (from == to ? 0 : 1), "\(from): plane \(plane) is \(found)")
        }
        // The input frame is not modified, since it is shared, and bars stay black.
        #expect(frame.withPlane(0) { $0[0] } == from[0])
        if size.0 * 48 != size.1 * 64 {
          #expect([self.luma(drawn, x: 0, y: 0), self.luma(drawn, x: 63, y: 47)] == [16, 16])
        }
      }
    }
  }

  @Test func `RGB is converted to BT 709 for a BT 709 output`() throws {
    let buffer = PixelBuffer(format: VideoFormat(width: 64, height: 48, pixelFormat: .rgb24))
    let bytes = buffer.unsafePlane(0)
    for index in bytes.indices { bytes[index] = index % 3 == 1 ? 255 : 0 }
    let converter = FrameConverter(format: VideoFormat(width: 64, height: 48, colorMatrix: .bt709), scaling: .fit)
    let drawn = try #require(converter.draw(VideoFrame(buffer: buffer, timestamp: .zero), matrix: .bt601))
    let found = (0..<3).map { plane in drawn.withPlane(plane) { Int($0[100]) } }
    #expect(zip(found, [173, 42, 26]).allSatisfy { abs($0 - $1) <= 2 }, "\(found)")
  }
}
