import CLibav
import Foundation
import Testing

@testable import Codecs

@Suite("High dynamic range")
struct ToneMapperTests {
  /// Y'CbCr of BT.709 with 8 bits in limited range, for components with 10 bits of BT.2100 and BT.2020: the rule as the standards
  /// state it, without tables.
  private static func expected(
    _ luma: Int, _ cb: Int, _ cr: Int, _ transfer: ToneMapper.Colors.Transfer
  ) -> (luma: Double, cb: Double, cr: Double) {
    let (y, b, r) = (Double(luma - 64) / 876, Double(cb - 512) / 896, Double(cr - 512) / 896)
    let (red, blue) = (y + 1.4746 * r, y + 1.8814 * b)
    let signals = [red, (y - 0.2627 * red - 0.0593 * blue) / 0.678, blue].map { min(max($0, 0), 1) }
    var light: [Double]
    switch transfer {
    case .sdr: light = signals.map { pow($0, 2.4) }
    case .pq:
      light = signals.map { signal in
        let power = pow(signal, 32 / 2523.0)
        return pow(max(power - 107 / 128.0, 0) / (2413 / 128.0 - 2392 / 128.0 * power), 8192 / 1305.0) * 10_000 / 203
      }
    case .hlg:
      let scene = signals.map { $0 <= 0.5 ? $0 * $0 / 3 : (exp(($0 - 0.55991073) / 0.17883277) + 0.28466892) / 12 }
      let luminance = 0.2627 * scene[0] + 0.678 * scene[1] + 0.0593 * scene[2]
      light = scene.map { $0 * pow(luminance, 0.2) * 1000 / 203 }
    }
    light = [[1.6605, -0.5876, -0.0728], [-0.1246, 1.1329, -0.0083], [-0.0182, -0.1006, 1.1187]].map { row in
      row[0] * light[0] + row[1] * light[1] + row[2] * light[2]
    }
    let brightest = light.max() ?? 0
    if transfer != .sdr, brightest > 0.5 {
      // From 0.5 with the slope 1 to 1 at 1000 cd/m².
      let (peak, place) = (1000 / 203.0, min(brightest, 1000 / 203.0) - 0.5)
      let slope = (peak - 0.5) / 0.5
      let compressed = 0.5 + place / (1 + (slope - 1) * place / (peak - 0.5))
      light = light.map { $0 * compressed / brightest }
    }
    let shown = light.map { pow(min(max($0, 0), 1), 1 / 2.4) }
    let y709 = 0.2126 * shown[0] + 0.7152 * shown[1] + 0.0722 * shown[2]
    return (16 + 219 * y709, 128 + 224 * (shown[2] - y709) / 1.8556, 128 + 224 * (shown[0] - y709) / 1.5748)
  }

  /// The first pixel of a frame of one color, mapped.
  private static func mapped(
    _ luma: Int, _ cb: Int, _ cr: Int, _ transfer: ToneMapper.Colors.Transfer, by mapper: ToneMapper = ToneMapper()
  ) throws -> (luma: Double, cb: Double, cr: Double) {
    let frame = try Self.frame(16, 2) { plane, _, _ in [luma, cb, cr][plane] }
    defer { Self.free(frame) }
    frame.pointee.color_trc =
      switch transfer {
      case .hlg: AVCOL_TRC_ARIB_STD_B67
      case .pq: AVCOL_TRC_SMPTE2084
      case .sdr: AVCOL_TRC_BT2020_10
      }
    mapper.process(frame)
    let data = frame.pointee.data
    return (
      Double(try #require(data.0)[0]), Double(try #require(data.1)[0]), Double(try #require(data.2)[0])
    )
  }

  /// Luma, 0 to 255, of a gray of a share of the signal.
  private static func gray(_ share: Double, _ transfer: ToneMapper.Colors.Transfer) throws -> Double {
    let mapped = try Self.mapped(64 + Int((876 * share).rounded()), 512, 512, transfer)
    #expect(mapped.cb == 128 && mapped.cr == 128)
    return (mapped.luma - 16) / 219 * 255
  }

  @Test func `reference white of HLG and PQ is nearly white, their peak is, and black is black`() throws {
    // ITU-R BT.2408 table 1: 75% and 58%.
    for (share, transfer) in [(0.75, ToneMapper.Colors.Transfer.hlg), (0.58, .pq)] {
      #expect(abs(try Self.gray(share, transfer) - 228) < 2)
    }
    for (share, transfer) in [(1, ToneMapper.Colors.Transfer.hlg), (0.752, .pq), (1, .pq)] {
      #expect(try Self.gray(share, transfer) > 254)
    }
    #expect(try Self.gray(0, .hlg) == 0)
    #expect(try Self.gray(0, .pq) == 0)
    // The gray card, 18% of the light: 38% and 38% (table 1), 26 cd/m².
    let (hlg, pq) = (try Self.gray(0.38, .hlg), try Self.gray(0.38, .pq))
    #expect(abs(hlg - pq) < 4 && (100.0...115).contains(hlg), "\(hlg) \(pq)")
  }

  @Test(arguments: [ToneMapper.Colors.Transfer.hlg, .pq]) func `brighter is never darker`(
    transfer: ToneMapper.Colors.Transfer
  ) throws {
    let lumas = try (0...100).map { try Self.gray(Double($0) / 100, transfer) }
    #expect(zip(lumas, lumas.dropFirst()).allSatisfy { $0 <= $1 })
  }

  @Test func `wide gamut of standard range keeps grays, and colors of BT.709 within it`() throws {
    for share in [0, 0.25, 0.5, 1] { #expect(abs(try Self.gray(share, .sdr) - share * 255) < 1.5) }
    // Red of BT.709 in BT.2020: 0.6274, 0.0691, 0.0164 of the light.
    func signal(_ light: Double) -> Double { pow(light, 1 / 2.4) }
    let (r, g, b) = (signal(0.6274), signal(0.0691), signal(0.0164))
    let y = 0.2627 * r + 0.6780 * g + 0.0593 * b
    let mapped = try Self.mapped(
      64 + Int(876 * y), 512 + Int(896 * (b - y) / 1.8814), 512 + Int(896 * (r - y) / 1.4746), .sdr)
    // BT.709 red: 63, 102, 240.
    #expect(abs(mapped.luma - 63) < 2 && abs(mapped.cb - 102) < 2 && abs(mapped.cr - 240) < 2)
  }

  @Test(arguments: [ToneMapper.Colors.Transfer.hlg, .pq, .sdr])
  func `every color is that of the rule, brighter than any display, and beyond the gamut`(
    transfer: ToneMapper.Colors.Transfer
  ) throws {
    // One mapper, since each computes tables for its first frame.
    let mapper = ToneMapper()
    for luma in stride(from: 0, through: 1023, by: 93) {
      for cb in stride(from: 64, through: 960, by: 128) {
        for cr in stride(from: 64, through: 960, by: 128) {
          let (mapped, expected) = (
            try Self.mapped(luma, cb, cr, transfer, by: mapper), Self.expected(luma, cb, cr, transfer)
          )
          let worst = max(
            abs(mapped.luma - expected.luma), abs(mapped.cb - expected.cb), abs(mapped.cr - expected.cr))
          #expect(worst < 1.5, "\(luma) \(cb) \(cr)")
        }
      }
    }
  }

  /// A frame with 10 bits whose samples are given by column and row.
  private static func frame(
    _ width: Int, _ height: Int, _ format: AVPixelFormat = AV_PIX_FMT_YUV420P10LE, code: (Int, Int, Int) -> Int
  ) throws -> UnsafeMutablePointer<AVFrame> {
    let frame = try #require(av_frame_alloc())
    (frame.pointee.width, frame.pointee.height) = (Int32(width), Int32(height))
    frame.pointee.format = format.rawValue
    frame.pointee.color_trc = AVCOL_TRC_ARIB_STD_B67
    frame.pointee.color_primaries = AVCOL_PRI_BT2020
    frame.pointee.colorspace = AVCOL_SPC_BT2020_NCL
    try #require(av_frame_get_buffer(frame, 0) == 0)
    let (data, lines) = (frame.pointee.data, frame.pointee.linesize)
    let planes =
      [(data.0, lines.0, width, height)]
      + [(data.1, lines.1), (data.2, lines.2)].map { ($0.0, $0.1, (width + 1) / 2, (height + 1) / 2) }
    for (plane, (bytes, stride, columns, rows)) in planes.enumerated() {
      for y in 0..<rows {
        let row = try #require(bytes) + y * Int(stride)
        row.withMemoryRebound(to: UInt16.self, capacity: columns) { row in
          for x in 0..<columns { row[x] = UInt16(code(plane, x, y)) }
        }
      }
    }
    return frame
  }

  private static func free(_ frame: UnsafeMutablePointer<AVFrame>) {
    var freed: UnsafeMutablePointer<AVFrame>? = frame
    av_frame_free(&freed)
  }

  @Test(arguments: [(64, 48), (63, 47), (2, 1), (1, 2)])
  func `each pixel of a frame has the color of the rule, and the frame says so`(width: Int, height: Int) throws {
    let mapper = ToneMapper()
    let code: (Int, Int, Int) -> Int = { plane, x, y in
      plane == 0 ? 64 + (x / 2 * 31 + y / 2 * 57) % 877 : 400 + (x * 13 + y * 29 + plane * 50) % 224
    }
    let frame = try Self.frame(width, height, code: code)
    defer { Self.free(frame) }
    mapper.process(frame)
    #expect(frame.pointee.format == AV_PIX_FMT_YUV420P.rawValue && frame.pointee.color_trc == AVCOL_TRC_BT709)
    #expect(frame.pointee.colorspace == AVCOL_SPC_BT709 && frame.pointee.color_primaries == AVCOL_PRI_BT709)
    let (data, lines) = (frame.pointee.data, frame.pointee.linesize)
    var worst = 0.0
    for y in 0..<height {
      for x in 0..<width {
        let expected = Self.expected(code(0, x, y), code(1, x / 2, y / 2), code(2, x / 2, y / 2), .hlg)
        let luma = Double(try #require(data.0)[y * Int(lines.0) + x])
        let cb = Double(try #require(data.1)[y / 2 * Int(lines.1) + x / 2])
        let cr = Double(try #require(data.2)[y / 2 * Int(lines.2) + x / 2])
        worst = max(worst, abs(luma - expected.luma), abs(cb - expected.cb), abs(cr - expected.cr))
      }
    }
    #expect(worst < 1.5)
  }

  @Test func `other formats are converted first, and frames of standard range stay`() throws {
    let mapper = ToneMapper()
    let frame = try Self.frame(64, 48, AV_PIX_FMT_YUV422P10LE) { plane, _, _ in plane == 0 ? 721 : 512 }
    defer { Self.free(frame) }
    mapper.process(frame)
    #expect(frame.pointee.format == AV_PIX_FMT_YUV420P.rawValue)
    #expect(abs(Int(try #require(frame.pointee.data.0)[0]) - 212) < 3)
    let standard = try Self.frame(64, 48) { _, _, _ in 512 }
    defer { Self.free(standard) }
    standard.pointee.color_trc = AVCOL_TRC_BT709
    standard.pointee.color_primaries = AVCOL_PRI_BT709
    standard.pointee.colorspace = AVCOL_SPC_BT709
    mapper.process(standard)
    #expect(standard.pointee.format == AV_PIX_FMT_YUV420P10LE.rawValue)
  }
}
