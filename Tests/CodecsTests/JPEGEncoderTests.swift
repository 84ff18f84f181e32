import Media
import NIOCore
import Testing

@testable import Codecs

@Suite("JPEG encoder, ITU-T T.81 and T.871")
struct JPEGEncoderTests {
  private static let colors: [[Double]] = [
    [255, 255, 255], [255, 255, 0], [0, 255, 255], [0, 255, 0], [255, 0, 255], [255, 0, 0], [0, 0, 255], [0, 0, 0],
    [128, 128, 128], [200, 100, 50],
  ]

  /// Vertical bars of different colors, in limited range.
  private func bars(width: Int = 640, height: Int = 360, matrix: ColorMatrix) -> VideoFrame {
    // ITU-R BT.601-7 §2.5.1 and BT.709-6 §3.2.
    let (red, blue) = matrix == .bt601 ? (0.299, 0.114) : (0.2126, 0.0722)
    let buffer = PixelBuffer(format: VideoFormat(width: width, height: height, colorMatrix: matrix))
    for plane in 0..<3 {
      let planeWidth = plane == 0 ? width : (width + 1) / 2
      let bytes = buffer.unsafePlane(plane)
      let row = (0..<planeWidth).map { x -> UInt8 in
        let color = Self.colors[x * Self.colors.count / planeWidth].map { $0 / 255 }
        let luma = red * color[0] + (1 - red - blue) * color[1] + blue * color[2]
        let value =
          switch plane {
          case 0: 16 + 219 * luma
          case 1: 128 + 224 * (color[2] - luma) / (2 * (1 - blue))
          default: 128 + 224 * (color[0] - luma) / (2 * (1 - red))
          }
        return UInt8(value.rounded())
      }
      for start in stride(from: 0, to: bytes.count, by: planeWidth) {
        UnsafeMutableRawBufferPointer(rebasing: bytes[start..<start + planeWidth]).copyBytes(from: row)
      }
    }
    return VideoFrame(buffer: buffer, timestamp: .zero)
  }

  @Test(arguments: [ColorMatrix.bt601, .bt709], [640, 480, 320])
  func `colors match the frame, for every matrix and requested size`(
    matrix: ColorMatrix, width: Int
  ) throws {
    let frame = self.bars(matrix: matrix)
    let encoder = try JPEGEncoder(format: frame.format, width: width, quality: 95)
    let decoded = try DecodedJPEG(encoder.encode(ReleasedFrame(notPrivate: frame)))
    #expect(decoded.width == width && decoded.height == (width * 360 + 320) / 640 / 2 * 2)
    for (index, color) in Self.colors.enumerated() {
      let found = decoded.pixel(x: (index * 2 + 1) * width / (Self.colors.count * 2), y: decoded.height / 2)
      for (value, wanted) in zip(found, color) {
        #expect(abs(value - Int(wanted)) <= 4, "\(color): \(found)")
      }
    }
  }

  @Test func `an image of another shape shows the whole frame between black bars`() throws {
    let frame = self.bars(matrix: .bt709)
    for (width, height) in [(320, 320), (640, 200)] {
      let decoded = try DecodedJPEG(
        JPEGEncoder(format: frame.format, width: width, height: height, quality: 95).encode(
          ReleasedFrame(notPrivate: frame)))
      #expect(decoded.width == width && decoded.height == height)
      let area = frame.format.fittedSize(in: VideoFormat(width: width, height: height))
      #expect(area.width == (width == 320 ? 320 : 356) && area.height == (width == 320 ? 180 : 200))
      let (left, top) = ((width - area.width) / 2, (height - area.height) / 2)
      for (index, color) in Self.colors.enumerated() {
        let x = left + (index * 2 + 1) * area.width / (Self.colors.count * 2)
        for (value, wanted) in zip(decoded.pixel(x: x, y: height / 2), color) {
          #expect(abs(value - Int(wanted)) <= 4, "\(color): \(decoded.pixel(x: x, y: height / 2))")
        }
      }
      for (x, y) in [(0, 0), (width - 1, height - 1), (max(0, left - 8), max(0, top - 8))] {
        #expect(decoded.pixel(x: x, y: y).allSatisfy { $0 <= 4 }, "\(x) \(y)")
      }
    }
  }

  @Test func `a file is JFIF without comments or trailing bytes`() throws {
    let frame = self.bars(matrix: .bt601)
    let file = Array(try JPEGEncoder(format: frame.format).encode(ReleasedFrame(notPrivate: frame)).readableBytesView)
    // T.81 §B.2.1: SOI … EOI; T.871 §10.1: APP0 with the identifier follows immediately.
    #expect(file.prefix(4) == [0xFF, 0xD8, 0xFF, 0xE0])
    #expect(file[6..<11] == [0x4A, 0x46, 0x49, 0x46, 0x00])
    #expect(file.suffix(2) == [0xFF, 0xD9])
    // No comment (COM, 0xFFFE) with the library's name.
    #expect(!zip(file, file.dropFirst()).contains { $0 == 0xFF && $1 == 0xFE })
  }

  @Test func `the same frame gives identical files, and different frames differ`() throws {
    let frame = self.bars(matrix: .bt601)
    let encoder = try JPEGEncoder(format: frame.format)
    let first = try encoder.encode(ReleasedFrame(notPrivate: frame))
    #expect(try encoder.encode(ReleasedFrame(notPrivate: frame)) == first)
    #expect(try encoder.encode(ReleasedFrame(notPrivate: self.bars(width: 640, height: 360, matrix: .bt709))) != first)
    #expect(try encoder.encode(ReleasedFrame(notPrivate: frame)) == first)
  }

  @Test func `higher quality takes more bytes`() throws {
    let frame = self.bars(matrix: .bt601)
    let luma = frame.buffer.unsafePlane(0)
    for index in luma.indices { luma[index] &+= UInt8(truncatingIfNeeded: index * index >> 5) & 0x1F }
    let sizes = try [1, 25, 50, 80, 95].map { quality in
      try JPEGEncoder(format: frame.format, quality: quality).encode(ReleasedFrame(notPrivate: frame)).readableBytes
    }
    #expect(sizes == sizes.sorted() && Set(sizes).count == sizes.count)
    #expect([-1, 0, 1, 50, 80, 100, .max].map(JPEGEncoder.quantizer) == [31, 31, 31, 10, 4, 1, 1])
  }

  @Test(
    arguments: [
      (1280, 720, nil, 1280, 720), (1280, 720, 640, 640, 360), (1280, 720, 333, 332, 186), (1280, 720, 5000, 1280, 720),
      (1280, 720, 0, 16, 10), (1280, 720, .min, 16, 10), (1280, 720, .max, 1280, 720), (8192, 4320, nil, 4096, 2160),
      (8192, 16, 16, 16, 2), (16, 8192, nil, 16, 8192), (641, 363, nil, 640, 362), (641, 363, 100, 100, 56),
    ] as [(Int, Int, Int?, Int, Int)])
  func `sizes are even, keep the aspect ratio, stay within bounds and are never enlarged`(
    width: Int, height: Int, wanted: Int?, expectedWidth: Int, expectedHeight: Int
  ) throws {
    let frame = self.bars(width: width, height: height, matrix: .bt601)
    let size = JPEGEncoder.size(of: frame.format, width: wanted)
    #expect(size.width == expectedWidth && size.height == expectedHeight)
    let decoded = try DecodedJPEG(
      JPEGEncoder(format: frame.format, width: wanted).encode(ReleasedFrame(notPrivate: frame)))
    #expect(decoded.width == expectedWidth && decoded.height == expectedHeight)
  }
}
