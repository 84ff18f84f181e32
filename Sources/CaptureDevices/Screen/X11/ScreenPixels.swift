#if os(Linux)
internal import CXCB
internal import CYUV
internal import Media

/// How an X server's pixels lie in memory, and how they become BGRA.
enum ScreenPixels: Hashable {
  /// Blue, green, red, unused: depth 24 or 32 of almost every server; taken as it is.
  case bgra
  /// Unused, red, green, blue: the same of a machine with the most significant byte first.
  case argb
  /// 5, 6 and 5 bits in two bytes: depth 16.
  case rgb565
  /// 10 bits each in four bytes: depth 30.
  case rgb30

  /// What a visual has; nil when that cannot be read.
  ///
  /// - Parameters:
  ///   - bitsPerPixel: How far pixels lie from each other.
  ///   - isLeastFirst: Whether the server's byte order is that of most machines.
  init?(red: UInt32, green: UInt32, blue: UInt32, bitsPerPixel: UInt8, isLeastFirst: Bool) {
    switch (bitsPerPixel, red, green, blue) {
    case (32, 0xFF0000, 0xFF00, 0xFF): self = isLeastFirst ? .bgra : .argb
    case (16, 0xF800, 0x7E0, 0x1F) where isLeastFirst: self = .rgb565
    case (32, 0x3FF0_0000, 0xFFC00, 0x3FF) where isLeastFirst: self = .rgb30
    default: return nil
    }
  }

  /// Bytes from a row to the next: X fills them up to 32 bits.
  func bytesPerRow(width: Int) -> Int {
    self == .rgb565 ? (width * 2 + 3) / 4 * 4 : width * 4
  }

  /// Converts some rows of a picture to BGRA.
  func convert(_ rows: Range<Int>, of source: UnsafeMutableRawPointer, to buffer: PixelBuffer) {
    let (width, target) = (buffer.format.width, buffer.unsafePlane(0))
    let (from, to) = (self.bytesPerRow(width: width), buffer.format.bytesPerRow[0])
    let input = (source + rows.lowerBound * from).assumingMemoryBound(to: UInt8.self)
    guard let start = target.baseAddress else { return }
    let output = (start + rows.lowerBound * to).assumingMemoryBound(to: UInt8.self)
    // libyuv's names are those of a little-endian word.
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
  /// How pixels of a visual lie in memory.
  ///
  /// - Throws: ``VidiconError`` with ``VidiconError/Code/invalidData`` when they cannot be read.
  func pixels(ofVisual visual: UInt32, depth: UInt8, source: String) throws(VidiconError) -> ScreenPixels {
    let setup = xcb_get_setup(self.pointer)
    var bits: UInt8?
    var formats = xcb_setup_pixmap_formats_iterator(setup)
    while formats.rem > 0 {
      if formats.data.pointee.depth == depth { bits = formats.data.pointee.bits_per_pixel }
      xcb_format_next(&formats)
    }
    let isLeastFirst = setup?.pointee.image_byte_order == UInt8(XCB_IMAGE_ORDER_LSB_FIRST.rawValue)
    guard let bits, let type = self.visual(visual),
      let pixels = ScreenPixels(
        red: type.red_mask, green: type.green_mask, blue: type.blue_mask, bitsPerPixel: bits,
        isLeastFirst: isLeastFirst)
    else {
      throw VidiconError(
        .invalidData, subject: source,
        cause: "its pixels have a depth of \(depth), not 16, 24, 30 or 32 bits of colour",
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
