import CCapture
import CLibav
import Foundation
import Media
import Testing

@testable import Codecs

@Suite("Conversion between color matrices")
struct ColorConversionTests {
  @Test func `the same matrix and range is the identity`() {
    for matrix in [ColorMatrix.bt601, .bt709] {
      let same = vidicon_color_conversion(from: matrix, to: matrix, isFullRange: false)
      #expect(same.luma_from_luma == 16_384 && same.cb_from_cb == 16_384 && same.cr_from_cr == 16_384)
      #expect(same.luma_from_cb == 0 && same.luma_from_cr == 0 && same.cb_from_cr == 0 && same.cr_from_cb == 0)
      #expect(same.luma_offset == 16)
    }
  }

  @Test func `full range stretches luma by 255 to 219, and differences by 255 to 224`() {
    let full = vidicon_color_conversion(from: .bt601, to: .bt601, isFullRange: true)
    #expect(full.luma_from_luma == 19_077 && full.cb_from_cb == 18_651 && full.cr_from_cr == 18_651)
    #expect(full.luma_offset == 0 && full.luma_from_cb == 0 && full.cb_from_cr == 0)
  }

  /// Luma and color differences of a color, red, green and blue from 0 to 1, in limited range.
  private static func encode(_ color: [Double], _ matrix: ColorMatrix) -> [Double] {
    let (red, blue) = matrix == .bt601 ? (0.299, 0.114) : (0.2126, 0.0722)
    let luma = red * color[0] + (1 - red - blue) * color[1] + blue * color[2]
    return [
      16 + 219 * luma, 128 + 112 * (color[2] - luma) / (1 - blue), 128 + 112 * (color[0] - luma) / (1 - red),
    ]
  }

  @Test(arguments: [(ColorMatrix.bt709, ColorMatrix.bt601), (.bt601, .bt709)])
  func `a color of one matrix is the same color in the other`(from: ColorMatrix, to: ColorMatrix) {
    var conversion = vidicon_color_conversion(from: from, to: to, isFullRange: false)
    let colors: [[Double]] = [
      [0, 0, 0], [1, 1, 1], [0.5, 0.5, 0.5], [1, 0, 0], [0, 1, 0], [0, 0, 1], [0.8, 0.4, 0.2], [0.1, 0.6, 0.9],
    ]
    for color in colors {
      let source = Self.encode(color, from).map { UInt8($0.rounded()) }
      let expected = Self.encode(color, to)
      var (luma, cb, cr) = ([UInt8](repeating: source[0], count: 4), [source[1]], [source[2]])
      let (sourceLuma, sourceCb, sourceCr) = (luma, cb, cr)
      vidicon_convert_color_rows(&luma, 2, &cb, &cr, sourceLuma, 2, sourceCb, sourceCr, &conversion, 1)
      for (value, wanted) in zip(luma + cb + cr, [Double](repeating: expected[0], count: 4) + expected.dropFirst()) {
        #expect(abs(Double(value) - wanted) <= 1.6, "\(color): \(luma) \(cb) \(cr), not \(expected)")
      }
    }
  }
}

@Suite("Conversion of frames of other libraries")
struct SwscaleConverterTests {
  private static func convert(
    _ planes: [[UInt8]], bytesPerRow: [Int32], width: Int32, height: Int32, pixelFormat: AVPixelFormat,
    isFullRange: Bool = false, matrix: ColorMatrix? = nil, to format: VideoFormat
  ) -> VideoFrame? {
    let padded = (planes + [[], [], [], []]).map { $0 + [UInt8](repeating: 0, count: 64) }
    let rows = bytesPerRow + [0, 0, 0]
    return padded[0].withUnsafeBufferPointer { first in
      padded[1].withUnsafeBufferPointer { second in
        padded[2].withUnsafeBufferPointer { third in
          SwscaleConverter(format: format).convert(
            .init(
              planes: (first.baseAddress, second.baseAddress, third.baseAddress, nil),
              bytesPerRow: (rows[0], rows[1], rows[2], 0), width: width, height: height, pixelFormat: pixelFormat,
              isFullRange: isFullRange, matrix: matrix), at: .zero + .seconds(1))
        }
      }
    }
  }

  @Test(
    arguments: [
      (ColorMatrix.bt601, [255, 0, 0], [81, 90, 240]), (.bt601, [0, 0, 255], [41, 240, 110]),
      (.bt709, [255, 0, 0], [63, 102, 240]), (.bt709, [0, 255, 0], [173, 42, 26]),
      (.bt601, [255, 255, 255], [235, 128, 128]),
      (.bt709, [0, 0, 0], [16, 128, 128]),
    ] as [(ColorMatrix, [UInt8], [Int])])
  func `red, green and blue become luma and differences of the matrix`(
    matrix: ColorMatrix, color: [UInt8], expected: [Int]
  ) throws {
    let bytes = (0..<16 * 16).flatMap { _ in color }
    let frame = try #require(
      Self.convert(
        [bytes], bytesPerRow: [48], width: 16, height: 16, pixelFormat: AV_PIX_FMT_RGB24,
        to: VideoFormat(width: 16, height: 16, colorMatrix: matrix)))
    #expect(frame.timestamp == .zero + .seconds(1))
    for (plane, value) in expected.enumerated() {
      #expect(abs(Int(frame.withPlane(plane) { $0[10] }) - value) <= 2, "plane \(plane)")
    }
  }

  @Test(
    arguments: [
      (AV_PIX_FMT_YUVJ420P, false, 0, 16), (AV_PIX_FMT_YUVJ420P, false, 255, 235), (AV_PIX_FMT_YUV420P, true, 255, 235),
      (AV_PIX_FMT_YUV420P, false, 235, 235), (AV_PIX_FMT_YUV420P, false, 16, 16),
    ] as [(AVPixelFormat, Bool, UInt8, Int)])
  func `full range is brought into limited range`(
    pixelFormat: AVPixelFormat, isFullRange: Bool, luma: UInt8, expected: Int
  ) throws {
    let chroma = [UInt8](repeating: 128, count: 64)
    let frame = try #require(
      Self.convert(
        [[UInt8](repeating: luma, count: 256), chroma, chroma], bytesPerRow: [16, 8, 8], width: 16, height: 16,
        pixelFormat: pixelFormat, isFullRange: isFullRange, to: VideoFormat(width: 16, height: 16)))
    #expect(frame.withPlane(0) { $0.prefix(256).allSatisfy { abs(Int($0) - expected) <= 1 } })
    #expect(frame.withPlane(1) { abs(Int($0[20]) - 128) <= 1 })
  }

  /// Green, in each matrix, as ``red, green and blue become luma and differences of the matrix`` has it.
  @Test(
    arguments: [
      (.bt709, .bt601, [173, 42, 26], [145, 54, 34]), (.bt601, .bt709, [145, 54, 34], [173, 42, 26]),
      (nil, .bt601, [173, 42, 26], [173, 42, 26]),
    ] as [(ColorMatrix?, ColorMatrix, [UInt8], [Int])], [16, 32])
  func `a color of another matrix stays the same color, in each size`(
    color: (ColorMatrix?, ColorMatrix, [UInt8], [Int]), width: Int
  ) throws {
    let (from, to, values, expected) = color
    let planes = zip([256, 64, 64], values).map { [UInt8](repeating: $1, count: $0) }
    let frame = try #require(
      Self.convert(
        planes, bytesPerRow: [16, 8, 8], width: 16, height: 16, pixelFormat: AV_PIX_FMT_YUV420P, matrix: from,
        to: VideoFormat(width: width, height: 16, colorMatrix: to)))
    for (plane, value) in expected.enumerated() {
      #expect(abs(Int(frame.withPlane(plane) { $0[3] }) - value) <= 3, "plane \(plane)")
    }
  }

  @Test func `another size is scaled`() throws {
    // The left half is dark, the right half bright.
    let luma = (0..<32 * 32).map { UInt8($0 % 32 < 16 ? 30 : 220) }
    let chroma = [UInt8](repeating: 128, count: 256)
    let frame = try #require(
      Self.convert(
        [luma, chroma, chroma], bytesPerRow: [32, 16, 16], width: 32, height: 32, pixelFormat: AV_PIX_FMT_YUV420P,
        to: VideoFormat(width: 64, height: 16)))
    let row = frame.withPlane(0) { Array($0.prefix(64)) }
    #expect(
      row.prefix(28).allSatisfy { abs(Int($0) - 30) <= 2 } && row.suffix(28).allSatisfy { abs(Int($0) - 220) <= 2 })
  }

  @Test func `a format that libswscale does not read yields no frame`() {
    #expect(
      Self.convert(
        [[UInt8](repeating: 0, count: 256)], bytesPerRow: [16], width: 16, height: 16, pixelFormat: AV_PIX_FMT_VAAPI,
        to: VideoFormat(width: 16, height: 16)) == nil)
  }

  @Test func `each pixel format has one format of FFmpeg, and formats with an unused byte are supported too`() {
    for format in PixelFormat.allCases { #expect(PixelFormat(libav: format.libav) == format) }
    #expect(PixelFormat(libav: AV_PIX_FMT_BGR0) == .bgra && PixelFormat(libav: AV_PIX_FMT_0RGB) == .argb)
    #expect(PixelFormat(libav: AV_PIX_FMT_YUVJ420P) == nil && PixelFormat(libav: AV_PIX_FMT_GRAY8) == nil)
  }

  @Test(
    arguments: [
      (AVCOL_SPC_BT709, 480, .bt709), (AVCOL_SPC_SMPTE170M, 1080, .bt601), (AVCOL_SPC_BT470BG, 720, .bt601),
      (AVCOL_SPC_BT2020_NCL, 480, .bt709), (AVCOL_SPC_UNSPECIFIED, 719, .bt601), (AVCOL_SPC_UNSPECIFIED, 720, .bt709),
    ] as [(AVColorSpace, Int32, ColorMatrix)])
  func `a stream without a matrix has that of its size`(space: AVColorSpace, height: Int32, matrix: ColorMatrix) {
    #expect(DecodedFrameConverter.colorMatrix(space, height: height) == matrix)
  }
}

@Suite("Errors of FFmpeg's libraries, for users")
struct LibavErrorTests {
  @Test(
    arguments: [
      (-ENOENT, .notFound, "there is no such file", "check the path"),
      (-EACCES, .notPermitted, "it may not be read", "change its permissions"),
      (-EPERM, .notPermitted, "it may not be read", "change its permissions"),
      (-EISDIR, .invalidData, "it is a directory", "name one file in it"),
      (vidicon_averror_invaliddata, .invalidData, "it is not a media file, or it is damaged", "ffprobe a.mp4"),
      (vidicon_averror_protocol_not_found, .invalidSpecification, "its protocol is not known", "ffmpeg -protocols"),
      (vidicon_averror_exit, .failed, "nothing came from it for 10 seconds", "check that it can be reached"),
      (-EIO, .failed, "Input/output error", "ffprobe a.mp4"),
    ] as [(Int32, VidiconError.Code, String, String)])
  func `a status has a cause and a next step`(status: Int32, code: VidiconError.Code, cause: String, nextStep: String) {
    let error = VidiconError(libav: status, source: "a.mp4")
    #expect(error.code == code && error.subject == "a.mp4" && error.cause == cause)
    #expect(error.nextStep.contains(nextStep))
  }

  @Test func `an error number without a text is shown as a number`() {
    #expect(libavMessage(-ENOENT) == "No such file or directory")
    #expect(libavMessage(-0x7000_0000).contains("\(-0x7000_0000)"))
  }
}
