import Codecs
import Media
import Testing

@testable import MediaInput

@Suite("YUV4MPEG2 header")
struct Y4MHeaderTests {
  @Test func `a header written by ffmpeg 5.1 is parsed`() throws {
    let header = try parse("YUV4MPEG2 W1280 H720 F30000:1001 Ip A1:1 C420jpeg XYSCSS=420JPEG XCOLORRANGE=LIMITED")
    #expect(header.width == 1280)
    #expect(header.height == 720)
    #expect(header.frameRate == FrameRate(30_000, over: 1001))
    #expect(header.sampling == .yuv420)
    #expect(!header.isFullRange)
    #expect(header.frameByteCount == 1280 * 720 * 3 / 2)
  }

  @Test(arguments: [
    ("", 33 * 17 + 2 * 17 * 9), ("C420", 33 * 17 + 2 * 17 * 9), ("C420mpeg2", 33 * 17 + 2 * 17 * 9),
    ("C420paldv", 33 * 17 + 2 * 17 * 9), ("C422", 33 * 17 + 2 * 17 * 17), ("C444", 3 * 33 * 17),
    ("C411", 33 * 17 + 2 * 9 * 17), ("Cmono", 33 * 17),
  ])
  func `each chroma sampling has its number of bytes at odd sizes`(parameter: String, count: Int) throws {

    #expect(try parse("YUV4MPEG2 W33 H17 F25:1 \(parameter)").frameByteCount == count)
  }

  @Test func `parameters come in any order, and unknown ones are ignored`() throws {
    let header = try parse("YUV4MPEG2 XCOLORRANGE=FULL F2:1 Zzz  It H16 A0:0 XFOO=1 W8192 Cmono")
    #expect(header.width == 8_192 && header.height == 16 && header.isFullRange && header.frameRate == FrameRate(2))
  }

  @Test(arguments: [
    // Written by ffmpeg 5.1 for DVB.
    ("A64:45", SIMD2<Int32>(64, 45)), ("", .zero), ("A0:0", .zero), ("A1:0", .zero), ("A-1:-1", .zero), ("A1", .zero),
    ("A1:1:1", .zero), ("A99999999999:1", .zero),
  ])
  func `the shape of the pixels is the one that the header states`(parameter: String, pixel: SIMD2<Int32>) throws {
    #expect(try parse("YUV4MPEG2 W720 H576 F25:1 \(parameter)").pixel == pixel)
  }

  @Test(
    arguments: [
      ("It", "FRAME", .topFirst), ("Ib", "FRAME Iti", .bottomFirst), ("Ip", "FRAME Iti", nil),
      ("I?", "FRAME", nil), ("", "FRAME Iti", nil), ("Im", "FRAME", nil), ("Im", "FRAME I", nil),
      ("Im", "FRAME It", nil),
      ("Im", "FRAME XA Iti", .topFirst), ("Im", "FRAME ITip", .topFirst), ("Im", "FRAME Ibi?", .bottomFirst),
      ("Im", "FRAME IBi", .bottomFirst), ("Im", "FRAME I1p", nil), ("Im", "FRAME Itp", nil), ("Im", "FRAME I2i", nil),
    ] as [(String, String, FieldOrder?)])
  func `the order of the fields is that of the header, or of a frame's line`(
    parameter: String, line: String, fields: FieldOrder?
  ) throws {
    let header = try parse("YUV4MPEG2 W720 H576 F25:1 \(parameter)")
    #expect(header.fields(ofFrame: Array((line + "\n").utf8)) == fields)
  }

  @Test(arguments: [
    ("", "YUV4MPEG2"), ("YUV4MPEG W1 H1", "YUV4MPEG2"), ("YUV4MPEG22 W16 H16 F1:1", "YUV4MPEG2"),
    ("YUV4MPEG2 H16 F1:1", "width is missing"), ("YUV4MPEG2 W15 H16 F1:1", "W15"),
    ("YUV4MPEG2 W8193 H16 F1:1", "W8193"), ("YUV4MPEG2 W16 H-16 F1:1", "H-16"),
    ("YUV4MPEG2 W16 H F1:1", "height is H,"),
    ("YUV4MPEG2 W16 H99999999999999999999 F1:1", "H99999999999999999999"), ("YUV4MPEG2 W16 H0x20 F1:1", "H0x20"),
    ("YUV4MPEG2 W16 H16", "frame rate is missing"), ("YUV4MPEG2 W16 H16 F0:0", "F0:0"),
    ("YUV4MPEG2 W16 H16 F30", "F30"), ("YUV4MPEG2 W16 H16 F30:0", "F30:0"), ("YUV4MPEG2 W16 H16 F-30:-1", "F-30:-1"),
    ("YUV4MPEG2 W16 H16 F241:1", "F241:1"), ("YUV4MPEG2 W16 H16 F1:2", "F1:2"),
    ("YUV4MPEG2 W16 H16 F2147483648:2147483648", "F2147483648"), ("YUV4MPEG2 W16 H16 F30:1:1", "F30:1:1"),
    ("YUV4MPEG2 W16 H16 F30:1 C420p10", "C420p10"), ("YUV4MPEG2 W16 H16 F30:1 C444alpha", "C444alpha"),
    ("YUV4MPEG2 W16 H16 F30:1 C", "C,"),
  ])
  func `an unsupported header is refused with a next step`(line: String, cause: String) {

    let error = #expect(throws: VidiconError.self) { try parse(line) }
    #expect(error?.code == .invalidData)
    #expect(error?.cause.contains(cause) == true, "\(error?.cause ?? "")")
    #expect(error?.nextStep.contains("yuv4mpegpipe") == true)
  }

  @Test func `bytes that are not text do not trap`() {
    for byte in 0...255 as ClosedRange<UInt8> {
      let line = Array("YUV4MPEG2 W16 H16 F30:1 ".utf8) + [byte, byte, 0x20, byte]
      _ = try? Y4MHeader(parsing: line, source: "test")
      #expect(throws: VidiconError.self) { try Y4MHeader(parsing: [byte] + line, source: "test") }
    }
  }

  private func parse(_ line: String) throws -> Y4MHeader {
    try Y4MHeader(parsing: Array(line.utf8), source: "test")
  }
}
