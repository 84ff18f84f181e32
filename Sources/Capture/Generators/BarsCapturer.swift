internal import Libc
public import Media
internal import Threading

/// A test image: color bars with the date and time of day, a white flash each second, and a ``TimecodeStrip``.
///
/// The flash covers the lower third. It begins with the frame captured on the whole second of wall-clock time (at
/// fractional rates the nearest one) and covers all frames that begin within 60 ms; the beep of a ``ToneCapturer`` begins
/// at the same instant.
public final class BarsCapturer: GeneratedVideoCapturer {
  let generator: FrameGenerator

  /// Bars of any size, in I420 and BT.601; from a width of 160 pixels on with legible time and timecode strip.
  public init(width: Int = 1280, height: Int = 720, frameRate: FrameRate = FrameRate(30)) {
    let format = VideoFormat(width: width, height: height, pixelFormat: .i420, frameRate: frameRate)
    self.generator = FrameGenerator(name: "bars", format: format) {
      let bars = Bars(format: format)
      return { buffer, index, time in
        bars.draw(frame: index, unixTime: StreamClock.system.unixTime(at: time), into: buffer)
      }
    }
  }
}

/// Draws the frames of ``BarsCapturer``; the constant parts are drawn once and copied into each frame.
struct Bars {
  /// A color in the limited range of BT.601.
  private struct Color {
    let y: UInt8
    let cb: UInt8
    let cr: UInt8

    init(y: UInt8, cb: UInt8 = 128, cr: UInt8 = 128) {
      self.y = y
      self.cb = cb
      self.cr = cr
    }

    static let black = Color(y: 16)
    static let white = Color(y: 235)
  }

  /// White, yellow, cyan, green, magenta, red, blue: the sums of red, green and blue at 75%.
  private static let bars = [
    Color(y: 180), Color(y: 162, cb: 44, cr: 142), Color(y: 131, cb: 156, cr: 44), Color(y: 112, cb: 72, cr: 58),
    Color(y: 84, cb: 184, cr: 198), Color(y: 65, cb: 100, cr: 212), Color(y: 35, cb: 212, cr: 114),
  ]

  /// -I, white, +Q, black, superblack and a step above black, each a sixth of the width.
  private static let lowerRow = [
    Color(y: 16, cb: 158, cr: 95), Color.white, Color(y: 16, cb: 174, cr: 149), Color.black, Color(y: 7),
    Color(y: 25),
  ]

  private let format: VideoFormat
  private let textScale: Int
  private var background: [[UInt8]]

  init(format: VideoFormat) {
    self.format = format
    self.textScale = max(
      BitmapFont.scale(of: Self.template, fitting: format.width * 3 / 5, by: format.height / 12),
      min(BitmapFont.scale(of: Self.template, fitting: format.width - 4, by: format.height / 12), 1))
    self.background = (0..<3).map { Array(repeating: 0, count: format.byteCount(plane: $0)) }

    let width = format.width
    let height = format.height
    let reversed = [6, -1, 4, -1, 2, -1, 0].map { $0 < 0 ? Color.black : Self.bars[$0] }
    for (row, colors) in [
      (0..<height * 2 / 3, Self.bars), (height * 2 / 3..<height * 3 / 4, reversed),
      (height * 3 / 4..<height, Self.lowerRow),
    ] {
      for (index, color) in colors.enumerated() {
        let columns = index * width / colors.count..<(index + 1) * width / colors.count
        self.fill(columns: columns, rows: row, color: color)
      }
    }
    if let cell = TimecodeStrip.cellSize(width: width, height: height) {
      // Gray, so that the strip can be read from RGB frames as well.
      self.fill(columns: 0..<TimecodeStrip.cellCount * cell, rows: 0..<cell, color: .black)
    }
    if self.textScale > 0 {
      let box = self.textBox
      self.fill(columns: box.x..<box.x + box.width, rows: box.y..<box.y + box.height, color: .black)
    }
  }

  /// Draws one frame.
  ///
  /// - Parameters:
  ///   - index: The frame number in the text.
  ///   - unixTime: Capture time in nanoseconds since 1970-01-01 00:00 UTC.
  ///   - buffer: Memory of the initializer's format.
  func draw(frame index: Int64, unixTime: Int64, into buffer: PixelBuffer) {
    for plane in 0..<3 {
      buffer.unsafePlane(plane).copyBytes(from: self.background[plane])
    }
    let luma = self.plane(0, buffer.unsafePlane(0))
    if Self.isFlash(unixTime: unixTime, interval: self.format.frameRate.frameInterval) {
      for plane in 0..<3 {
        let target = self.plane(plane, buffer.unsafePlane(plane))
        let top = target.height * 2 / 3
        target.fill(x: 0, y: top, width: target.width, height: target.height - top, value: plane == 0 ? 235 : 128)
      }
    }
    let box = self.textBox
    let clock = TimeOfDay(unixNanoseconds: unixTime)
    let line = (BitmapFont.glyphHeight + 2) * self.textScale
    let left = box.x + 2 * self.textScale
    let top = box.y + 2 * self.textScale
    BitmapFont.draw("\(clock.date) \(clock.time) UTC", x: left, y: top, scale: self.textScale, into: luma)
    BitmapFont.draw("FRAME \(index)", x: left, y: top + line, scale: self.textScale, into: luma)
    TimecodeStrip.draw(
      microseconds: UInt64(clamping: unixTime / 1_000), into: buffer.unsafePlane(0), width: self.format.width,
      height: self.format.height, bytesPerRow: self.format.bytesPerRow[0])
  }

  /// Whether a frame shows the flash: from half an interval before a whole second until 60 ms after it.
  static func isFlash(unixTime: Int64, interval: MediaDuration) -> Bool {
    let early = min(interval.nanoseconds, 1_000_000_000) / 2
    var phase = (unixTime + early) % 1_000_000_000
    if phase < 0 { phase += 1_000_000_000 }
    return phase < early + 60_000_000
  }

  /// A text with the length of the first line.
  private static let template = "0000-00-00 00:00:00.000 UTC"

  /// The rectangle of the text, with a margin of two dots of the font.
  private var textBox: (x: Int, y: Int, width: Int, height: Int) {
    let size = BitmapFont.size(of: Self.template, scale: self.textScale)
    let width = size.width + 4 * self.textScale
    return (
      (self.format.width - width) / 4 * 2, self.format.height / 10 * 2, width, 2 * size.height + 6 * self.textScale
    )
  }

  private mutating func fill(columns: Range<Int>, rows: Range<Int>, color: Color) {
    for (index, value) in [color.y, color.cb, color.cr].enumerated() {
      let half = index > 0
      let left = half ? columns.lowerBound / 2 : columns.lowerBound
      let right = half ? (columns.upperBound + 1) / 2 : columns.upperBound
      let top = half ? rows.lowerBound / 2 : rows.lowerBound
      let bottom = half ? (rows.upperBound + 1) / 2 : rows.upperBound
      let format = self.format
      self.background[index].withUnsafeMutableBytes {
        Self.plane(index, $0, format: format)
          .fill(x: left, y: top, width: right - left, height: bottom - top, value: value)
      }
    }
  }

  private func plane(_ index: Int, _ bytes: UnsafeMutableRawBufferPointer) -> DrawingPlane {
    Self.plane(index, bytes, format: self.format)
  }

  private static func plane(
    _ index: Int, _ bytes: UnsafeMutableRawBufferPointer, format: VideoFormat
  ) -> DrawingPlane {
    DrawingPlane(
      bytes,
      width: format.pixelFormat.minimumBytesPerRow(plane: index, width: format.width),
      height: format.pixelFormat.rowCount(plane: index, height: format.height),
      bytesPerRow: format.bytesPerRow[index])
  }
}

/// A wall-clock time as text: date and time of day in UTC.
struct TimeOfDay {
  /// Date, such as "2026-11-21".
  let date: String
  /// Time of day, such as "14:05:09.033"; truncated to milliseconds.
  let time: String

  /// - Parameter unixNanoseconds: Nanoseconds since 1970-01-01 00:00 UTC.
  init(unixNanoseconds: Int64) {
    let milliseconds = max(unixNanoseconds, 0) / 1_000_000
    var seconds = time_t(milliseconds / 1_000)
    var parts = tm()
    gmtime_r(&seconds, &parts)
    self.date =
      "\(Self.digits(parts.tm_year + 1900, 4))-\(Self.digits(parts.tm_mon + 1, 2))-\(Self.digits(parts.tm_mday, 2))"
    self.time =
      "\(Self.digits(parts.tm_hour, 2)):\(Self.digits(parts.tm_min, 2)):\(Self.digits(parts.tm_sec, 2))"
      + ".\(Self.digits(Int32(milliseconds % 1_000), 3))"
  }

  private static func digits(_ value: Int32, _ count: Int) -> String {
    let digits = String(value)
    return String(repeating: "0", count: max(count - digits.utf8.count, 0)) + digits
  }
}
