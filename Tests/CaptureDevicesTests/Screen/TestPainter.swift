#if os(Linux)
import CXCB
import Foundation

/// An X client that draws on a display.
final class TestPainter {
  /// A window and its graphics context.
  struct Window: Hashable {
    let identifier: UInt32
    let context: UInt32
  }

  let connection: OpaquePointer
  let root: UInt32
  private let visual: UInt32
  private let depth: UInt8
  private var maximumRequestSize: Int { 200_000 }

  init(_ display: String) throws {
    let connection = xcb_connect(display, nil)
    guard xcb_connection_has_error(connection) == 0, let connection else {
      throw TestDisplay.Failure(description: "no connection to \(display)")
    }
    let screen = xcb_setup_roots_iterator(xcb_get_setup(connection)).data.pointee
    self.connection = connection
    self.root = screen.root
    self.visual = screen.root_visual
    self.depth = screen.root_depth
  }

  deinit {
    xcb_disconnect(self.connection)
  }

  /// Waits until the server has executed all requests.
  func finish() {
    free(xcb_get_input_focus_reply(self.connection, xcb_get_input_focus(self.connection), nil))
  }

  /// Shows a window that no window manager touches.
  func window(x: Int, y: Int, width: Int, height: Int, border: Int = 0, color: UInt32 = 0) -> Window {
    let window = Window(identifier: xcb_generate_id(self.connection), context: xcb_generate_id(self.connection))
    let values: [UInt32] = [color, 0xFFFFFF, 1]
    let mask = XCB_CW_BACK_PIXEL.rawValue | XCB_CW_BORDER_PIXEL.rawValue | XCB_CW_OVERRIDE_REDIRECT.rawValue
    xcb_create_window(
      self.connection, UInt8(XCB_COPY_FROM_PARENT), window.identifier, self.root, Int16(x), Int16(y), UInt16(width),
      UInt16(height), UInt16(border), UInt16(XCB_WINDOW_CLASS_INPUT_OUTPUT.rawValue), self.visual, mask, values)
    xcb_create_gc(self.connection, window.context, window.identifier, 0, nil)
    xcb_map_window(self.connection, window.identifier)
    self.finish()
    return window
  }

  /// Fills a rectangle of a window.
  func fill(_ window: Window, x: Int, y: Int, width: Int, height: Int, color: UInt32) {
    xcb_change_gc(self.connection, window.context, XCB_GC_FOREGROUND.rawValue, [color])
    xcb_poly_fill_rectangle(
      self.connection, window.identifier, window.context, 1,
      [xcb_rectangle_t(x: Int16(x), y: Int16(y), width: UInt16(width), height: UInt16(height))])
    self.finish()
  }

  /// Draws 0xRRGGBB pixels into a window with 32 bits per pixel.
  func draw(_ window: Window, width: Int, height: Int, _ color: (Int, Int) -> UInt32) {
    let rows = max(1, self.maximumRequestSize / (width * 4))
    for first in stride(from: 0, to: height, by: rows) {
      let count = min(rows, height - first)
      let pixels = (0..<(width * count)).map { color($0 % width, first + $0 / width) }
      pixels.withUnsafeBytes { bytes in
        _ = xcb_put_image(
          self.connection, UInt8(XCB_IMAGE_FORMAT_Z_PIXMAP.rawValue), window.identifier, window.context, UInt16(width),
          UInt16(count), 0, Int16(first), 0, self.depth, UInt32(bytes.count),
          bytes.baseAddress?.assumingMemoryBound(to: UInt8.self))
      }
    }
    self.finish()
  }

  /// Moves or resizes a window, or brings it to the front.
  func configure(_ window: Window, _ field: xcb_config_window_t, _ values: UInt32...) {
    var mask = UInt16(field.rawValue)
    if values.count == 2 { mask |= mask << 1 }
    xcb_configure_window(self.connection, window.identifier, mask, values)
    self.finish()
  }

  func unmap(_ window: Window) {
    xcb_unmap_window(self.connection, window.identifier)
    self.finish()
  }

  func map(_ window: Window) {
    xcb_map_window(self.connection, window.identifier)
    self.finish()
  }

  func destroy(_ window: Window) {
    xcb_destroy_window(self.connection, window.identifier)
    self.finish()
  }

  func title(_ window: Window, _ title: String) {
    xcb_change_property(
      self.connection, UInt8(XCB_PROP_MODE_REPLACE.rawValue), window.identifier, XCB_ATOM_WM_NAME.rawValue,
      XCB_ATOM_STRING.rawValue, 8, UInt32(title.utf8.count), Array(title.utf8))
    self.finish()
  }

  /// Moves the pointer to a position of the screen.
  func point(x: Int, y: Int) {
    xcb_warp_pointer(self.connection, 0, self.root, 0, 0, 0, 0, Int16(x), Int16(y))
    self.finish()
  }

  /// Sets the pointer image to a colored square with one transparent pixel in its upper left corner.
  func cursor(size: Int, hotSpot: Int, color: (red: UInt16, green: UInt16, blue: UInt16)) {
    let rowBytes = (size + 31) / 32 * 4
    func bitmap(_ isSet: (Int, Int) -> Bool) -> UInt32 {
      var bytes = [UInt8](repeating: 0, count: rowBytes * size)
      for y in 0..<size {
        for x in 0..<size where isSet(x, y) { bytes[y * rowBytes + x / 8] |= 1 << (x % 8) }
      }
      let pixmap = xcb_generate_id(self.connection)
      let context = xcb_generate_id(self.connection)
      xcb_create_pixmap(self.connection, 1, pixmap, self.root, UInt16(size), UInt16(size))
      xcb_create_gc(self.connection, context, pixmap, 0, nil)
      xcb_put_image(
        self.connection, UInt8(XCB_IMAGE_FORMAT_XY_PIXMAP.rawValue), pixmap, context, UInt16(size), UInt16(size), 0, 0,
        0, 1, UInt32(bytes.count), bytes)
      return pixmap
    }
    let cursor = xcb_generate_id(self.connection)
    xcb_create_cursor(
      self.connection, cursor, bitmap { _, _ in true }, bitmap { $0 + $1 > 0 }, color.red, color.green, color.blue, 0,
      0, 0, UInt16(hotSpot), UInt16(hotSpot))
    xcb_change_window_attributes(self.connection, self.root, XCB_CW_CURSOR.rawValue, [cursor])
    self.finish()
  }
}
#endif
