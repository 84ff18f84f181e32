internal import Libc
internal import Media

/// Draws the time of day into each frame, such as `2026-11-21 14:03:59`.
public final class TextClock: VideoEffect {
  private let position: OverlayPosition
  private let text: @Sendable () -> String

  /// Creates a clock in the machine's time zone.
  ///
  /// - Parameter showsDate: Whether the date is included.
  public convenience init(position: OverlayPosition = .bottomLeft, showsDate: Bool = true) {
    self.init(position: position) { Self.now(showsDate: showsDate) }
  }

  /// Creates an effect that draws the text returned by a closure for each frame.
  init(position: OverlayPosition, text: @escaping @Sendable () -> String) {
    (self.position, self.text) = (position, text)
  }

  /// Draws the time on a dark background.
  public func process(_ frame: inout EffectFrame) -> EffectVerdict {
    let (text, canvas) = (self.text(), Canvas(frame.buffer))
    // About a thirtieth of the frame's height, or less where the text would not fit.
    let preferred = max(1, canvas.height / 30 / BitmapFont.glyphHeight)
    let scale = min(preferred, BitmapFont.scale(of: text, fitting: canvas.width, by: canvas.height))
    guard scale > 0 else { return .keep }
    let (width, height) = BitmapFont.size(of: text, scale: scale)
    let margin = 3 * scale
    let frameSize = SIMD2(Float(canvas.width), Float(canvas.height))
    let size = SIMD2(Float(width), Float(height))
    let corner = self.position.corner(size: size, in: frameSize, margin: Float(3 * margin))
    let place = pointwiseMax(pointwiseMin(corner, frameSize - size), SIMD2(0, 0)).rounded(.towardZero)
    if let ground = canvas.area(from: place - Float(margin), to: place + size + Float(margin)) {
      canvas.fill(ground, FrameColor(luma: 24))
    }
    let format = frame.buffer.format
    let plane = DrawingPlane(
      frame.buffer.unsafePlane(0), width: format.width, height: format.height, bytesPerRow: format.bytesPerRow[0])
    BitmapFont.draw(text, x: Int(place.x), y: Int(place.y), scale: scale, into: plane)
    return .keep
  }

  private static func now(showsDate: Bool) -> String {
    var (seconds, parts) = (time(nil), tm())
    guard localtime_r(&seconds, &parts) != nil else { return "" }
    func digits(_ number: Int32) -> String { number < 10 ? "0\(number)" : "\(number)" }
    let clock = "\(digits(parts.tm_hour)):\(digits(parts.tm_min)):\(digits(parts.tm_sec))"
    guard showsDate else { return clock }
    return "\(1900 + parts.tm_year)-\(digits(parts.tm_mon + 1))-\(digits(parts.tm_mday)) \(clock)"
  }
}
