import CLibav
import Testing

@testable import Codecs

@Suite("Weaving of fields, ITU-T H.265 §D.3.3")
struct FieldWeaverTests {
  /// A frame in I420 of 16 × 16 as the owner of its memory.
  private final class Frame {
    let pointer: UnsafeMutablePointer<AVFrame>

    init() throws { self.pointer = try #require(av_frame_alloc()) }

    deinit {
      var frame: UnsafeMutablePointer<AVFrame>? = self.pointer
      av_frame_free(&frame)
    }

    /// Values of luma, and of both colors, in the first column.
    var columns: [[UInt8]] {
      let (frame, height) = (self.pointer.pointee, Int(self.pointer.pointee.height))
      return [(frame.data.0, frame.linesize.0, height), (frame.data.1, frame.linesize.1, height / 2)].map {
        data, stride, rows in
        (0..<rows).map { data?[$0 * Int(stride)] ?? 0 }
      }
    }
  }

  /// A field that is given to a weaver: `T` or `B` for its parity, `t` and `b` for keyframes, and the number of its place in time.
  private static func field(_ name: Character, at place: Int, width: Int32 = 16, isField: Bool = true) throws -> Frame {
    let frame = try Frame()
    let pointer = frame.pointer
    (pointer.pointee.width, pointer.pointee.height) = (width, 8)
    pointer.pointee.format = AV_PIX_FMT_YUV420P.rawValue
    try #require(av_frame_get_buffer(pointer, 0) == 0)
    pointer.pointee.interlaced_frame = isField ? 1 : 0
    pointer.pointee.top_field_first = "Tt".contains(name) ? 1 : 0
    pointer.pointee.key_frame = name.isLowercase ? 1 : 0
    pointer.pointee.best_effort_timestamp = Int64(place) * 20_000_000
    for (data, stride, rows) in [
      (pointer.pointee.data.0, pointer.pointee.linesize.0, 8), (pointer.pointee.data.1, pointer.pointee.linesize.1, 4),
      (pointer.pointee.data.2, pointer.pointee.linesize.2, 4),
    ] {
      for index in 0..<rows * Int(stride) { data?[index] = UInt8(place) }
    }
    return frame
  }

  /// Frames that come of fields: the places of the upper and the lower field of each, `-` for lost ones.
  private static func woven(_ fields: String) throws -> [String] {
    let weaver = FieldWeaver()
    var result: [String] = []
    for (place, name) in fields.enumerated() where name != "-" {
      let frame = try Self.field(name, at: place)
      guard weaver.process(frame.pointer, rate: AVRational(num: 50, den: 1)) else { continue }
      #expect(frame.pointer.pointee.height == 16)
      let (luma, chroma) = (frame.columns[0], frame.columns[1])
      #expect(luma == (0..<16).map { luma[$0 % 2] } && chroma == (0..<8).map { luma[$0 % 2] })
      #expect((frame.pointer.pointee.interlaced_frame != 0) == (luma[0] != luma[1]))
      if luma[0] != luma[1] { #expect((frame.pointer.pointee.top_field_first != 0) == (luma[0] < luma[1])) }
      #expect(frame.pointer.pointee.best_effort_timestamp == Int64(min(luma[0], luma[1])) * 20_000_000)
      result.append("\(luma[0])/\(luma[1])")
    }
    return result
  }

  @Test func `two fields are a frame at the time of the first one, whichever is above`() throws {
    #expect(try Self.woven("tBTBTB") == ["0/1", "2/3", "4/5"])
    #expect(try Self.woven("bTBTBT") == ["1/0", "3/2", "5/4"])
    // Each field may be a keyframe.
    #expect(try Self.woven("tbtbtb") == ["0/1", "2/3", "4/5"])
  }

  @Test func `fields of different frames are no frame where one or two are lost`() throws {
    #expect(try Self.woven("tBT-TBTB") == ["0/1", "2/2", "4/5", "6/7"])
    #expect(try Self.woven("tB-BTBTB") == ["0/1", "3/3", "4/5", "6/7"])
    #expect(try Self.woven("tBT--BTB") == ["0/1", "2/2", "6/7"])
    #expect(try Self.woven("tB--TB") == ["0/1", "4/5"])
    #expect(try Self.woven("tbt-tb-btb") == ["0/1", "2/2", "4/5", "7/7", "8/9"])
    // As while frames that no other refers to are not decoded.
    #expect(try Self.woven("t-T-T-T") == ["0/0", "2/2", "4/4"])
  }

  @Test func `keyframes show which field is the first of a frame where decoding began with a second one`() throws {
    #expect(try Self.woven("BTBtBTBtBTB").suffix(2) == ["7/8", "9/10"])
    // A single keyframe among second fields changes nothing.
    #expect(try Self.woven("tBTbTBtBTb") == ["0/1", "2/3", "4/5", "6/7", "8/9"])
  }

  @Test func `whole frames stay as they are, and another size begins again`() throws {
    let weaver = FieldWeaver()
    let rate = AVRational(num: 0, den: 1)
    let whole = try Self.field("t", at: 0, isField: false)
    #expect(weaver.process(whole.pointer, rate: rate) && whole.pointer.pointee.height == 8 && !weaver.isFieldCoded)
    let first = try Self.field("t", at: 1)
    #expect(!weaver.process(first.pointer, rate: rate))
    let wider = try Self.field("B", at: 2, width: 32)
    #expect(weaver.process(wider.pointer, rate: rate) && wider.pointer.pointee.width == 16)
    #expect(wider.columns[0].allSatisfy { $0 == 1 } && weaver.isFieldCoded)
    weaver.reset()
    let last = try Self.field("B", at: 3)
    #expect(!weaver.process(last.pointer, rate: rate))
    // Whole frames again.
    let next = try Self.field("t", at: 4, isField: false)
    #expect(weaver.process(next.pointer, rate: rate) && !weaver.isFieldCoded)
    withExtendedLifetime([whole, first, wider, last, next]) {}
  }
}
