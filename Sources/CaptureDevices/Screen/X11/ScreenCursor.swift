#if os(Linux)
internal import CXCB
internal import CYUV
internal import Capture
internal import Media

/// The image of the mouse pointer.
struct ScreenCursor {
  /// Width in pixels.
  let width: Int
  /// Height in pixels.
  let height: Int
  /// Column and row of the pixel that is at the pointer's position.
  let hotSpot: (x: Int, y: Int)
  /// BGRA with premultiplied alpha.
  private let pixels: [UInt32]

  /// Fetches the current pointer image; nil when it is hidden.
  init?(of connection: X11Connection) throws(X11Failure) {
    let reply: X11Reply<xcb_xfixes_get_cursor_image_reply_t>
    do throws(X11Failure) {
      reply = try connection.reply(
        xcb_xfixes_get_cursor_image(connection.pointer).sequence, xcb_xfixes_get_cursor_image_reply_t.self)
    } catch {
      // A server whose cursor was never set reports an error.
      guard case .refused = error else { throw error }
      return nil
    }
    let count = Int(xcb_xfixes_get_cursor_image_cursor_image_length(reply.pointer))
    self.width = Int(reply.content.width)
    self.height = Int(reply.content.height)
    self.hotSpot = (Int(reply.content.xhot), Int(reply.content.yhot))
    guard count > 0, count == self.width * self.height else { return nil }
    self.pixels = Array(
      UnsafeBufferPointer(start: xcb_xfixes_get_cursor_image_cursor_image(reply.pointer), count: count))
  }

  /// The part of a frame that the pointer covers at a position; nil when it is outside.
  func area(at position: (x: Int, y: Int), in format: VideoFormat) -> ScreenSpecification.Region? {
    ScreenSpecification.Region(
      x: position.x - self.hotSpot.x, y: position.y - self.hotSpot.y, width: self.width, height: self.height
    ).intersection(.init(x: 0, y: 0, width: format.width, height: format.height))
  }

  /// Blends the pointer over a BGRA frame.
  func draw(at position: (x: Int, y: Int), into buffer: PixelBuffer) {
    guard let area = self.area(at: position, in: buffer.format), let start = buffer.unsafePlane(0).baseAddress else {
      return
    }
    let bytesPerRow = buffer.format.bytesPerRow[0]
    let target = (start + area.y * bytesPerRow + area.x * 4).assumingMemoryBound(to: UInt8.self)
    let skipped = (area.y - position.y + self.hotSpot.y) * self.width + area.x - position.x + self.hotSpot.x
    self.pixels.withUnsafeBytes { pixels in
      guard let source = pixels.baseAddress else { return }
      ARGBBlend(
        (source + skipped * 4).assumingMemoryBound(to: UInt8.self), Int32(self.width * 4), target, Int32(bytesPerRow),
        target, Int32(bytesPerRow), Int32(area.width), Int32(area.height))
    }
  }
}
#endif
