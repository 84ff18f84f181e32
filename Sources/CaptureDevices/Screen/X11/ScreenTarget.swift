#if os(Linux)
internal import CXCB
internal import Capture
internal import Media

/// The drawable, region and pixel layout that a specification resolves to on an X server.
struct ScreenTarget {
  /// Position of the captured pixels.
  struct Area: Hashable {
    /// The screen's root window, or the pixmap of a redirected window.
    var drawable: UInt32
    /// First column in the drawable.
    var x: Int
    /// First row in the drawable.
    var y: Int
    /// Layout of the pixels.
    var pixels: ScreenPixels
  }

  /// Reasons why a specification cannot be resolved.
  enum Problem: Error {
    /// The X server failed.
    case server(X11Failure)
    /// The target cannot be captured for now.
    case hidden(VidiconError)
    /// The target does not exist and cannot come back.
    case gone(VidiconError)
  }

  /// The root window, or the window that is captured.
  let window: UInt32
  /// Size and border width of the window, to detect resizing.
  let outline: (width: Int, height: Int, border: Int)
  /// The captured part of the window.
  let region: ScreenSpecification.Region
  /// Position of its pixels.
  let area: Area
  /// Format of the frames.
  let format: VideoFormat

  /// Resolves a specification.
  ///
  /// A window must have been redirected by ``redirect(_:_:source:)``; the caller frees its pixmap, ``Area/drawable``.
  init(_ specification: ScreenSpecification, frameRate: FrameRate, connection: X11Connection) throws(Problem) {
    let source = specification.description
    let window = specification.window ?? connection.screen.root
    let (attributes, geometry) = try Self.query(window, connection, source)
    guard attributes._class == UInt16(XCB_WINDOW_CLASS_INPUT_OUTPUT.rawValue) else {
      throw .gone(Self.error(.invalidData, source, "the window accepts input and shows nothing"))
    }
    guard attributes.map_state == UInt8(XCB_MAP_STATE_VIEWABLE.rawValue) else {
      throw .hidden(Self.hidden(source))
    }
    let (width, height) = (Int(geometry.width), Int(geometry.height))
    let whole = ScreenSpecification.Region(x: 0, y: 0, width: width, height: height)
    guard let region = (specification.region ?? whole).intersection(whole) else {
      throw .hidden(
        VidiconError(
          .notFound, subject: source,
          cause: "the region lies outside of the screen's or window's \(width)×\(height) pixels",
          nextStep: "choose one with region=X,Y,W,H inside"))
    }
    let pixels: ScreenPixels
    do throws(VidiconError) {
      pixels = try connection.pixels(ofVisual: attributes.visual, depth: geometry.depth, source: source)
    } catch {
      throw .gone(error)
    }
    let border = specification.window == nil ? 0 : Int(geometry.border_width)
    self.window = window
    self.outline = (width, height, Int(geometry.border_width))
    self.region = region
    self.format = VideoFormat(
      width: region.width, height: region.height, pixelFormat: .bgra, frameRate: frameRate)
    self.area = Area(
      drawable: specification.window == nil ? window : try Self.pixmap(of: window, connection, source),
      x: region.x + border, y: region.y + border, pixels: pixels)
  }

  /// Makes the server render a window to an off-screen pixmap, which is complete whatever covers the window.
  static func redirect(_ window: UInt32, _ connection: X11Connection, source: String) throws(Problem) {
    guard connection.extensions.hasComposite else {
      throw .gone(
        VidiconError(
          .failed, subject: source,
          cause: "the X server lacks the Composite extension, which capturing a window needs",
          nextStep: "capture the part of the screen where the window is, with region=X,Y,W,H"))
    }
    guard window != connection.screen.root else {
      throw .gone(
        VidiconError(
          .invalidData, subject: source, cause: "the window is the whole screen", nextStep: "leave out window="))
    }
    do throws(X11Failure) {
      try connection.check(
        xcb_composite_redirect_window_checked(
          connection.pointer, window, UInt8(XCB_COMPOSITE_REDIRECT_AUTOMATIC.rawValue)))
    } catch {
      guard case .refused = error else { throw .server(error) }
      throw .gone(Self.error(.notFound, source, "there is no such window, or it is not visible"))
    }
  }

  private static func query(
    _ window: UInt32, _ connection: X11Connection, _ source: String
  ) throws(Problem) -> (xcb_get_window_attributes_reply_t, xcb_get_geometry_reply_t) {
    do throws(X11Failure) {
      let attributes = try connection.reply(
        xcb_get_window_attributes(connection.pointer, window).sequence, xcb_get_window_attributes_reply_t.self)
      let geometry = try connection.reply(
        xcb_get_geometry(connection.pointer, window).sequence, xcb_get_geometry_reply_t.self)
      return (attributes.content, geometry.content)
    } catch {
      guard case .refused = error else { throw .server(error) }
      throw .gone(Self.error(.notFound, source, "there is no such window"))
    }
  }

  /// Names the pixmap of a redirected window.
  private static func pixmap(
    of window: UInt32, _ connection: X11Connection, _ source: String
  ) throws(Problem) -> UInt32 {
    let pixmap = connection.makeIdentifier()
    do throws(X11Failure) {
      try connection.check(xcb_composite_name_window_pixmap_checked(connection.pointer, window, pixmap))
      return pixmap
    } catch {
      guard case .refused = error else { throw .server(error) }
      throw .hidden(Self.hidden(source))
    }
  }

  private static func hidden(_ source: String) -> VidiconError {
    VidiconError(
      .notFound, subject: source, cause: "the window is not on the screen (minimized, or on another desktop)",
      nextStep: "restore it, or switch to its desktop")
  }

  private static func error(_ code: VidiconError.Code, _ source: String, _ cause: String) -> VidiconError {
    VidiconError(code, subject: source, cause: cause, nextStep: "find its number with: vidicon devices, or xwininfo")
  }
}

extension ScreenSpecification.Region {
  /// The common part of two rectangles; nil when they do not overlap.
  func intersection(_ other: Self) -> Self? {
    let (left, top) = (max(self.x, other.x), max(self.y, other.y))
    let right = min(self.x + self.width, other.x + other.width)
    let bottom = min(self.y + self.height, other.y + other.height)
    guard left < right, top < bottom else { return nil }
    return Self(x: left, y: top, width: right - left, height: bottom - top)
  }
}
#endif
