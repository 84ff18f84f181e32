import Media
import Testing

@testable import Capture

@Suite("Drawing of generated frames and audio")
struct DrawingTests {
  @Test(arguments: [
    (0, "1970-01-01", "00:00:00.000"), (-5, "1970-01-01", "00:00:00.000"),
    (1_709_210_096_987_999_999, "2024-02-29", "12:34:56.987"),
    (4_102_444_799_999_000_000, "2099-12-31", "23:59:59.999"),
  ])
  func `a wall-clock time is written as UTC date and time, truncated to milliseconds`(
    nanoseconds: Int64, date: String, time: String
  ) {
    let text = TimeOfDay(unixNanoseconds: nanoseconds)
    #expect(text.date == date)
    #expect(text.time == time)
  }

  @Test func `the flash covers the frames from half an interval before a whole second to 60 ms after it`() {
    let interval = FrameRate(25).frameInterval
    let second: Int64 = 1_000_000_000
    func isFlash(_ milliseconds: Int64) -> Bool {
      Bars.isFlash(unixTime: 5 * second + milliseconds * 1_000_000, interval: interval)
    }
    #expect([-21, -20, 0, 40, 59, 60, 500].map(isFlash) == [false, true, true, true, true, false, false])
    // Slower than a frame per second: half a second is the limit.
    #expect(Bars.isFlash(unixTime: second / 2, interval: .seconds(10)))
    #expect(Bars.isFlash(unixTime: -1, interval: interval))
  }

  @Test func `the bars have the luma and chroma of 75% colors in BT.601`() {
    let format = VideoFormat(width: 320, height: 180, pixelFormat: .i420, frameRate: FrameRate(25))
    let buffer = PixelBuffer(format: format)
    Bars(format: format).draw(frame: 3, unixTime: 500_000_000, into: buffer)
    // The center of each bar at half the height, clear of the text.
    let luma = buffer.unsafePlane(0)
    let row = 100 * format.bytesPerRow[0]
    #expect((0..<7).map { luma[row + $0 * 320 / 7 + 20] } == [180, 162, 131, 112, 84, 65, 35])
    let cr = buffer.unsafePlane(2)
    #expect(cr[50 * format.bytesPerRow[2] + 5 * 160 / 7 + 10] == 212)
  }

  @Test func `text, strip and flash are drawn over the bars`() {
    let format = VideoFormat(width: 320, height: 180, pixelFormat: .i420, frameRate: FrameRate(25))
    let bars = Bars(format: format)
    func luma(frame: Int64, unixTime: Int64) -> [UInt8] {
      let buffer = PixelBuffer(format: format)
      bars.draw(frame: frame, unixTime: unixTime, into: buffer)
      return Array(buffer.unsafePlane(0))
    }
    let first = luma(frame: 1, unixTime: 500_000_000)
    // Only the text of the frame number differs, in the upper part.
    let second = luma(frame: 2, unixTime: 500_000_000)
    let different = first.indices.filter { first[$0] != second[$0] }
    #expect(!different.isEmpty)
    #expect(different.allSatisfy { (18..<90).contains($0 / format.bytesPerRow[0]) })
    let flash = luma(frame: 1, unixTime: 2_000_000_000)
    #expect(flash[(120 * format.bytesPerRow[0])...].allSatisfy { $0 == 235 })
    let time = flash.withUnsafeBytes { TimecodeStrip.read(from: $0, width: 320, height: 180, bytesPerRow: 320) }
    #expect(time == 2_000_000)
  }

  @Test func `a plasma depends on the time alone, and moves smoothly`() {
    func pixels(at time: MediaTime, width: Int = 64, height: Int = 36) -> [UInt8] {
      var plasma = Plasma(width: width, height: height)
      var pixels = [UInt8](repeating: 0, count: width * height * 3 + 1)
      pixels.withUnsafeMutableBytes {
        plasma.draw(at: time, into: $0, bytesPerRow: width * 3)
      }
      return pixels
    }
    let first = pixels(at: .zero + .seconds(1))
    #expect(first == pixels(at: .zero + .seconds(1)))
    // The byte behind the last row is not written.
    #expect(first.last == 0)
    let next = pixels(at: .zero + .milliseconds(1_040))
    let difference = zip(first, next).map { abs(Int($0) - Int($1)) }
    #expect(difference.contains { $0 > 0 })
    #expect(difference.reduce(0, +) / difference.count < 24)
  }

  @Test func `plasma rows are drawn at the given distance, and their padding is not written`() {
    var (wide, rows) = (Plasma(width: 33, height: 4), [UInt8](repeating: 0, count: 33 * 3 * 4))
    rows.withUnsafeMutableBytes { wide.draw(at: .zero + .seconds(3), into: $0, bytesPerRow: 99) }
    var padded = [UInt8](repeating: 7, count: 128 * 4)
    padded.withUnsafeMutableBytes { wide.draw(at: .zero + .seconds(3), into: $0, bytesPerRow: 128) }
    for y in 0..<4 {
      #expect(padded[(y * 128)..<(y * 128 + 99)].elementsEqual(rows[(y * 99)..<(y * 99 + 99)]))
      #expect(padded[(y * 128 + 99)..<(y * 128 + 128)].allSatisfy { $0 == 7 })
    }
  }

  @Test(arguments: [(48_000, 2), (44_100, 1), (8_000, 1)])
  func `the beep of any range is a part of the beep of the whole second`(rate: Int, channels: Int) {
    let beep = Beep(format: AudioFormat(sampleRate: rate, channelCount: channels))
    let second = beep.samples(0..<Int64(rate))
    #expect(second.count == rate * channels)
    #expect(second[(rate / 10 * channels)...].allSatisfy { $0 == 0 })
    #expect(second.map { abs($0) }.max().map { abs($0 - 0.2512) < 0.001 } == true)
    #expect(second[0] == 0)
    // Across the end of a second, and seconds later.
    let start = Int64(rate) - 5
    #expect(beep.samples(start..<(start + 10)) == Array(second.suffix(5 * channels) + second.prefix(5 * channels)))
    #expect(beep.samples((Int64(rate) * 9)..<(Int64(rate) * 9 + 50)) == Array(second.prefix(50 * channels)))
  }
}

@Suite("Defaults of the capture protocols")
struct CaptureProtocolTests {
  private final class MinimalCapturer: VideoCapturer {
    let format = VideoFormat(width: 2, height: 2, pixelFormat: .nv12)
    let isStarted = false
    func start(consumer: any VideoConsumer) throws(VidiconError) {}
    func stop() {}
  }

  private final class MinimalConsumer: VideoConsumer {
    func consume(_ frame: VideoFrame) {}
    func captureEnded(_ error: VidiconError?) {}
  }

  @Test func `a capturer implements four members, and the others have defaults`() {
    let capturer: any VideoCapturer = MinimalCapturer()
    #expect(capturer.position == .unspecified)
    #expect(capturer.sampleOrientation == .up)
    capturer.requestKeyframe()
    capturer.didDrop(FrameDrop(timestamp: .zero, reason: .late))
    let consumer: any VideoConsumer = MinimalConsumer()
    consumer.captureSkipped(at: .zero)
    consumer.captureFormatChanged(to: capturer.format)
  }
}
