import Capture
import Media
import Testing

@testable import CaptureDevices

@Suite("Choice of a camera format")
struct CameraFormatChooserTests {
  private static func mode(_ fourCC: FourCC, _ width: Int, _ height: Int, _ rates: FrameRate...) -> CameraMode {
    CameraMode(fourCC: fourCC, width: width, height: height, frameRates: .discrete(rates))
  }

  /// Modes of a USB 2 camera: lower frame rates for larger uncompressed frames.
  private static let webcam = [
    mode(.yuyv, 640, 480, 30, 15), mode(.yuyv, 1280, 720, 10, 5), mode(.yuyv, 1920, 1080, 5),
    mode(.mjpeg, 640, 480, 30, 15), mode(.mjpeg, 1280, 720, 60, 30), mode(.mjpeg, 1920, 1080, 30),
    mode(.h264, 1280, 720, 30), mode(.h264, 1920, 1080, 30),
  ]

  private func choose(
    _ width: Int, _ height: Int, _ rate: FrameRate, from modes: [CameraMode] = webcam, speed: Double? = 480,
    format: String? = nil
  ) -> String? {
    let specification = CameraSpecification(format: format)
    let chooser = CameraFormatChooser(
      width: width, height: height, frameRate: rate, accepts: specification.accepts, prefersH264: format == "h264",
      usbSpeed: speed.map(USBSpeed.init(megabitsPerSecond:)))
    return chooser.choose(from: modes).map { "\($0.fourCC) \($0.width)x\($0.height) \($0.frameRate)" }
  }

  @Test(
    arguments: [
      (640, 480, 30, "YUYV 640x480 30"),  // An equal rate is allowed, and uncompressed is preferred.
      (640, 480, 20, "YUYV 640x480 15"),  // Never above the requested rate.
      (1280, 720, 30, "MJPG 1280x720 30"),  // Only JPEG has the frame rate.
      (1280, 720, 10, "YUYV 1280x720 10"),
      (1280, 720, 100, "MJPG 1280x720 60"),
      (800, 600, 30, "MJPG 1280x720 30"),  // The smallest size that is at least the requested one.
      (320, 240, 30, "YUYV 640x480 30"),
      (3840, 2160, 30, "MJPG 1920x1080 30"),  // The largest when all are smaller.
      (1920, 1080, 5, "YUYV 1920x1080 5"),
      (1920, 1080, 3, "YUYV 1920x1080 5"),  // The lowest when all are above.
      (720, 1280, 30, "MJPG 1920x1080 30"),
    ] as [(Int, Int, FrameRate, String)]) func `a webcam is set to the best size, then rate, then format`(
      width: Int, height: Int, rate: FrameRate, choice: String
    )
  {
    #expect(self.choose(width, height, rate) == choice)
  }

  @Test(arguments: [
    ("h264", "H264 1280x720 30"), ("mjpeg", "MJPG 1280x720 30"), ("yuyv", "YUYV 1280x720 10"), ("nv12", nil),
    ("yu12", nil),
  ]) func `a requested format is chosen, or none`(format: String, choice: String?) {
    #expect(self.choose(1280, 720, 30, format: format) == choice)
  }

  @Test func `uncompressed frames that exceed the bandwidth of USB are replaced by JPEG alone`() {
    // 1280 × 720 × 2 bytes × 30 are 55 MB/s.
    let modes = [Self.mode(.yuyv, 1280, 720, 30, 15), Self.mode(.mjpeg, 1280, 720, 30)]
    #expect(self.choose(1280, 720, 30, from: modes) == "MJPG 1280x720 30")
    #expect(self.choose(1280, 720, 30, from: modes, speed: nil) == "YUYV 1280x720 30")
    #expect(self.choose(1280, 720, 30, from: modes, speed: 5000) == "YUYV 1280x720 30")
    let small = [Self.mode(.yuyv, 320, 240, 15), Self.mode(.mjpeg, 320, 240, 15)]
    #expect(self.choose(320, 240, 15, from: small) == "YUYV 320x240 15")
    #expect(self.choose(320, 240, 15, from: small, speed: 12) == "MJPG 320x240 15")
    #expect(self.choose(1280, 720, 15, from: modes) == "YUYV 1280x720 15")
    #expect(self.choose(1280, 720, 30, from: [modes[0]]) == "YUYV 1280x720 30")
  }

  @Test func `H.264 is chosen when nothing else is large enough`() {
    let modes = [Self.mode(.yuyv, 640, 480, 30), Self.mode(.h264, 1920, 1080, 30)]
    #expect(self.choose(1280, 720, 30, from: modes) == "H264 1920x1080 30")
    #expect(self.choose(640, 480, 30, from: modes) == "YUYV 640x480 30")
    #expect(self.choose(4000, 3000, 30, from: modes) == "YUYV 640x480 30")
  }

  @Test func `formats without conversion are preferred, and fewer bytes`() {
    let modes = ["UYVY", "BGR3", "RGB3", "YUYV", "NV12"].map { Self.mode(FourCC($0), 640, 480, 30) }
    #expect(self.choose(640, 480, 30, from: modes) == "NV12 640x480 30")
    #expect(self.choose(640, 480, 30, from: Array(modes.dropLast())) == "YUYV 640x480 30")
    #expect(self.choose(640, 480, 30, from: Array(modes.prefix(2))) == "UYVY 640x480 30")
  }

  @Test func `unknown formats are not chosen`() {
    #expect(self.choose(640, 480, 30, from: [Self.mode(FourCC("pBAA"), 640, 480, 30)]) == nil)
    #expect(self.choose(640, 480, 30, from: []) == nil)
  }

  @Test func `rates may be a range or unreported`() {
    let range = CameraMode(fourCC: .yuyv, width: 640, height: 480, frameRates: .range(5...60))
    #expect(self.choose(640, 480, 25, from: [range]) == "YUYV 640x480 25")
    #expect(self.choose(640, 480, 100, from: [range]) == "YUYV 640x480 60")
    #expect(self.choose(640, 480, 1, from: [range]) == "YUYV 640x480 5")
    #expect(self.choose(640, 480, 25, from: [Self.mode(.yuyv, 640, 480)]) == "YUYV 640x480 25")
  }

  @Test(arguments: [
    ((640, 480), (640, 480)), ((641, 481), (656, 488)), ((1, 1), (32, 32)), ((99_999, 99_999), (1920, 1080)),
    ((1919, 1079), (1920, 1080)),
  ]) func `a size is rounded up to a step of the range`(wanted: (Int, Int), size: (Int, Int)) {
    let range = CameraSizeRange(widths: 32...1920, widthStep: 16, heights: 32...1080, heightStep: 8)
    #expect(range.size(notBelow: wanted) == size)
  }

  @Test func `a range lists the requested size, the common ones and the maximum`() {
    let range = CameraSizeRange(widths: 320...1930, widthStep: 0, heights: 240...1090, heightStep: 0)
    let sizes = range.candidates(near: (800, 600)).map { "\($0)x\($1)" }
    #expect(sizes == ["800x600", "320x240", "640x480", "1280x720", "1920x1080", "1930x1090"])
  }

  @Test(
    arguments: [
      (1, 30, FrameRate(30)), (1001, 30_000, FrameRate(30_000, over: 1001)), (0, 30, nil), (1, 0, nil), (1, 1001, nil),
      (333_333, 10_000_000, FrameRate(10_000_000, over: 333_333)), (.max, .max, nil), (2, 1, FrameRate(1, over: 2)),
    ] as [(UInt32, UInt32, FrameRate?)])
  func `a plausible interval is converted to a rate`(numerator: UInt32, denominator: UInt32, rate: FrameRate?) {
    #expect(FrameRate(interval: numerator, over: denominator) == rate)
  }
}
