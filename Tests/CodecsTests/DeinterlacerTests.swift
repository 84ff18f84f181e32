import CLibav
import Testing

@testable import Codecs

@Suite("Deinterlacing")
struct DeinterlacerTests {
  /// An interlaced frame in I420 whose luma is given by a function of column and row.
  private static func frame(
    _ width: Int, _ height: Int, isInterlaced: Bool = true, topFirst: Bool = true, _ luma: (Int, Int) -> UInt8
  ) throws -> UnsafeMutablePointer<AVFrame> {
    let frame = try #require(av_frame_alloc())
    (frame.pointee.width, frame.pointee.height) = (Int32(width), Int32(height))
    frame.pointee.format = AV_PIX_FMT_YUV420P.rawValue
    try #require(av_frame_get_buffer(frame, 0) == 0)
    frame.pointee.interlaced_frame = isInterlaced ? 1 : 0
    frame.pointee.top_field_first = topFirst ? 1 : 0
    for y in 0..<height {
      for x in 0..<width { frame.pointee.data.0?[y * Int(frame.pointee.linesize.0) + x] = luma(x, y) }
    }
    for y in 0..<(height + 1) / 2 {
      for x in 0..<(width + 1) / 2 {
        frame.pointee.data.1?[y * Int(frame.pointee.linesize.1) + x] = 128
        frame.pointee.data.2?[y * Int(frame.pointee.linesize.2) + x] = 128
      }
    }
    return frame
  }

  private static func luma(_ frame: UnsafeMutablePointer<AVFrame>, _ x: Int, _ y: Int) -> Int {
    Int(frame.pointee.data.0?[y * Int(frame.pointee.linesize.0) + x] ?? 0)
  }

  private static func free(_ frame: UnsafeMutablePointer<AVFrame>) {
    var freed: UnsafeMutablePointer<AVFrame>? = frame
    av_frame_free(&freed)
  }

  /// A box at another place in each field.
  private static func box(at left: Int, _ step: Int, bottomLater: Bool = true) -> (Int, Int) -> UInt8 {
    { x, y in
      let place = left + (y % 2 == (bottomLater ? 1 : 0) ? step : 0)
      return (16..<48).contains(y) && (place..<place + 20).contains(x) ? 235 : 16
    }
  }

  @Test(arguments: [true, false]) func `a box that moves has the edges of the first field, without combs`(
    topFirst: Bool
  ) throws {
    let deinterlacer = Deinterlacer()
    for number in 0..<4 {
      let left = 10 + 24 * number
      let frame = try Self.frame(160, 64, topFirst: topFirst, Self.box(at: left, 12, bottomLater: topFirst))
      defer { Self.free(frame) }
      deinterlacer.process(frame)
      #expect(frame.pointee.interlaced_frame == 0 && frame.pointee.width == 160)
      // Rows within the box, away from its upper and lower edge.
      for y in 20..<44 {
        let bright = (0..<160).filter { Self.luma(frame, $0, y) > 128 }
        #expect(bright.count == 20 && bright.first == left, "frame \\(number), row \\(y): \\(bright)")
      }
    }
  }

  @Test func `what does not move keeps all of its lines`() throws {
    let deinterlacer = Deinterlacer()
    func detail(_ x: Int, _ y: Int) -> UInt8 { UInt8(truncatingIfNeeded: x &* 7 &+ y &* 91) }
    for number in 0..<3 {
      let frame = try Self.frame(64, 32, detail)
      defer { Self.free(frame) }
      deinterlacer.process(frame)
      guard number > 0 else { continue }
      for y in 0..<32 {
        for x in 0..<64 where Self.luma(frame, x, y) != Int(detail(x, y)) { Issue.record("\\(number): \\(x), \\(y)") }
      }
    }
  }

  /// Samples of three components of an interlaced frame after deinterlacing, with others in each frame before.
  private static func deinterlaced(_ format: String) throws -> [UInt8] {
    let deinterlacer = Deinterlacer()
    let description = try #require(av_pix_fmt_desc_get(av_get_pix_fmt(format))).pointee
    let places = [description.comp.0, description.comp.1, description.comp.2]
    let shift = (Int(description.log2_chroma_w), Int(description.log2_chroma_h))
    var samples: [UInt8] = []
    for number in 0..<3 {
      let frame = try #require(av_frame_alloc())
      defer { Self.free(frame) }
      (frame.pointee.width, frame.pointee.height) = (33, 18)
      frame.pointee.format = av_get_pix_fmt(format).rawValue
      try #require(av_frame_get_buffer(frame, 0) == 0)
      (frame.pointee.interlaced_frame, frame.pointee.top_field_first) = (1, 1)
      func forEach(_ body: (UnsafeMutablePointer<UInt8>, Int) -> Void) throws {
        let (data, lines) = (frame.pointee.data, frame.pointee.linesize)
        for (index, place) in places.enumerated() {
          let start = try #require([data.0, data.1, data.2][Int(place.plane)]) + Int(place.offset)
          let stride = Int([lines.0, lines.1, lines.2][Int(place.plane)])
          let (across, down) = index == 0 ? (0, 0) : shift
          for y in 0..<(17 >> down) + 1 {
            for x in 0..<(32 >> across) + 1 {
              body(start + y * stride + x * Int(place.step), x * x * 7 + y * y * 13 + index * 97 + number * y * 31)
            }
          }
        }
      }
      try forEach { $0.pointee = UInt8(truncatingIfNeeded: $1) }
      deinterlacer.process(frame)
      #expect(frame.pointee.interlaced_frame == 0)
      try forEach { sample, _ in samples.append(sample.pointee) }
    }
    return samples
  }

  @Test(arguments: [("yuyv422", "yuv422p"), ("uyvy422", "yuv422p"), ("nv12", "yuv420p"), ("rgb24", "gbrp")])
  func `interleaved components become what those in planes become`(packed: String, planar: String) throws {
    let (packed, planar) = (try Self.deinterlaced(packed), try Self.deinterlaced(planar))
    #expect(packed == planar)
  }

  @Test func `samples of ten bits stay below their maximum beside edges`() throws {
    let deinterlacer = Deinterlacer()
    for _ in 0..<2 {
      let frame = try #require(av_frame_alloc())
      defer { Self.free(frame) }
      (frame.pointee.width, frame.pointee.height) = (16, 32)
      frame.pointee.format = AV_PIX_FMT_YUV420P10LE.rawValue
      try #require(av_frame_get_buffer(frame, 0) == 0)
      (frame.pointee.interlaced_frame, frame.pointee.top_field_first) = (1, 1)
      let (data, stride) = (try #require(frame.pointee.data.0), Int(frame.pointee.linesize.0))
      func sample(_ x: Int, _ y: Int) -> UnsafeMutablePointer<UInt16> {
        UnsafeMutableRawPointer(data + y * stride).assumingMemoryBound(to: UInt16.self) + x
      }
      for y in 0..<32 { for x in 0..<16 { sample(x, y).pointee = (12..<16).contains(y) ? 1019 : 64 } }
      deinterlacer.process(frame)
      let output = try #require(frame.pointee.data.0)
      let rows = Int(frame.pointee.linesize.0)
      for y in 0..<32 {
        let value = UnsafeMutableRawPointer(output + y * rows).assumingMemoryBound(to: UInt16.self).pointee
        #expect(value <= 1023, "row \(y): \(value)")
      }
    }
  }

  @Test func `progressive frames are not touched, and odd sizes and changes of size are handled`() throws {
    let deinterlacer = Deinterlacer()
    let progressive = try Self.frame(64, 32, isInterlaced: false) { x, y in UInt8(y % 2 == 0 ? 16 : 235) }
    defer { Self.free(progressive) }
    let memory = progressive.pointee.data.0
    deinterlacer.process(progressive)
    #expect(progressive.pointee.data.0 == memory && Self.luma(progressive, 3, 1) == 235)
    for (width, height) in [(1, 1), (3, 2), (5, 3), (64, 31), (63, 32), (64, 31)] {
      let frame = try Self.frame(width, height) { _, _ in 77 }
      defer { Self.free(frame) }
      deinterlacer.process(frame)
      #expect(frame.pointee.interlaced_frame == 0)
      let isFlat = (0..<height).allSatisfy { y in (0..<width).allSatisfy { Self.luma(frame, $0, y) == 77 } }
      #expect(isFlat && Int(frame.pointee.width) == width && Int(frame.pointee.height) == height)
    }
  }
}
