#if os(Linux)
internal import CXCB
internal import CYUV
internal import Media

/// The layout of an X server's pixels, and its conversion to BGRA.
enum ScreenPixels: Hashable {
  /// Blue, green, red, unused: depth 24 or 32 of almost every server; captured without conversion.
  case bgra
  /// Unused, red, green, blue: the same of a big-endian server.
  case argb
  /// 5, 6 and 5 bits in 2 bytes: depth 16.
  case rgb565
  /// 10 bits each in 4 bytes: depth 30.
  case rgb30

  /// The layout of a visual with these color masks; nil when it is not supported.
  ///
  /// - Parameters:
  ///   - bitsPerPixel: Distance between pixels, in bits.
  ///   - isLittleEndian: Whether the server's image byte order is little-endian.
  init?(red: UInt32, green: UInt32, blue: UInt32, bitsPerPixel: UInt8, isLittleEndian: Bool) {
    switch (bitsPerPixel, red, green, blue) {
    case (32, 0xFF0000, 0xFF00, 0xFF): self = isLittleEndian ? .bgra : .argb
    case (16, 0xF800, 0x7E0, 0x1F) where isLittleEndian: self = .rgb565
    case (32, 0x3FF0_0000, 0xFFC00, 0x3FF) where isLittleEndian: self = .rgb30
    default: return nil
    }
  }

  /// Distance between rows in bytes: X pads them to 32 bits.
  func bytesPerRow(width: Int) -> Int {
    self == .rgb565 ? (width * 2 + 3) / 4 * 4 : width * 4
  }

  /// Converts rows of an image to BGRA.
  func convert(_ rows: Range<Int>, of source: UnsafeMutableRawPointer, to buffer: PixelBuffer) {
    let (width, target) = (buffer.format.width, buffer.unsafePlane(0))
    let (from, to) = (self.bytesPerRow(width: width), buffer.format.bytesPerRow[0])
    let input = (source + rows.lowerBound * from).assumingMemoryBound(to: UInt8.self)
    guard let start = target.baseAddress else { return }
    let output = (start + rows.lowerBound * to).assumingMemoryBound(to: UInt8.self)
    // libyuv names formats as little-endian words.
    let convert =
      switch self {
      case .bgra: ARGBCopy
      case .argb: BGRAToARGB
      case .rgb565: RGB565ToARGB
      case .rgb30: AR30ToARGB
      }
    _ = convert(input, Int32(from), output, Int32(to), Int32(width), Int32(rows.count))
  }
}

extension X11Connection {
  /// The layout of a visual's pixels.
  ///
  /// - Throws: ``VidiconError`` with ``VidiconError/Code/invalidData`` when it is not supported.
  func pixels(ofVisual visual: UInt32, depth: UInt8, source: String) throws(VidiconError) -> ScreenPixels {
    let setup = xcb_get_setup(self.pointer)
    var bits: UInt8?
    var formats = xcb_setup_pixmap_formats_iterator(setup)
    while formats.rem > 0 {
      if formats.data.pointee.depth == depth { bits = formats.data.pointee.bits_per_pixel }
      xcb_format_next(&formats)
    }
    let isLittleEndian = setup?.pointee.image_byte_order == UInt8(XCB_IMAGE_ORDER_LSB_FIRST.rawValue)
    guard let bits, let type = self.visual(visual),
      let pixels = ScreenPixels(
        red: type.red_mask, green: type.green_mask, blue: type.blue_mask, bitsPerPixel: bits,
        isLittleEndian: isLittleEndian)
    else {
      throw VidiconError(
        .invalidData, subject: source,
        cause: "its color depth of \(depth) bits is not supported; 16, 24, 30 and 32 are",
        nextStep: "start the X server with a depth of 24")
    }
    return pixels
  }

  private func visual(_ identifier: UInt32) -> xcb_visualtype_t? {
    var screens = xcb_setup_roots_iterator(xcb_get_setup(self.pointer))
    while screens.rem > 0 {
      var depths = xcb_screen_allowed_depths_iterator(screens.data)
      while depths.rem > 0 {
        var visuals = xcb_depth_visuals_iterator(depths.data)
        while visuals.rem > 0 {
          if visuals.data.pointee.visual_id == identifier { return visuals.data.pointee }
          xcb_visualtype_next(&visuals)
        }
        xcb_depth_next(&depths)
      }
      xcb_screen_next(&screens)
    }
    return nil
  }
}
#endif
