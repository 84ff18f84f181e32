#if os(Linux)
internal import CXCB
internal import Media

/// What a specification means on an X server at the moment.
struct ScreenTarget {
  /// Where the pixels are.
  struct Area: Hashable {
    /// The screen's root window, or a window's picture.
    var drawable: UInt32
    /// The first column and row there.
    var x: Int
    var y: Int
    /// How they lie in memory.
    var pixels: ScreenPixels
  }

  /// Why there is nothing to capture.
  enum Problem: Error {
    /// The X server does not answer as it should.
    case server(X11Failure)
    /// There is nothing for now.
    case hidden(VidiconError)
    /// There is nothing, and never will be.
    case gone(VidiconError)
  }

  /// The root window, or the window that is captured.
  let window: UInt32
  /// The size of the window, border included, by which a change is seen.
  let outline: (width: Int, height: Int, border: Int)
  /// The part of the window that is captured.
  let region: ScreenSpecification.Region
  /// Where its pixels are.
  let area: Area
  /// What the pictures look like.
  let format: VideoFormat

  /// Asks the server.
  ///
  /// A window must have been redirected; its picture, ``Area/drawable``, is to be freed by the caller.
  init(_ specification: ScreenSpecification, frameRate: FrameRate, connection: X11Connection) throws(Problem) {
    let source = specification.description
    let window = specification.window ?? connection.screen.root
    let (attributes, geometry) = try Self.ask(window, connection, source)
    guard attributes._class == UInt16(XCB_WINDOW_CLASS_INPUT_OUTPUT.rawValue) else {
      throw .gone(Self.error(.invalidData, source, "that window only takes input and shows nothing"))
    }
    guard attributes.map_state == UInt8(XCB_MAP_STATE_VIEWABLE.rawValue) else {
      throw .hidden(Self.hidden(source))
    }
    let (width, height) = (Int(geometry.width), Int(geometry.height))
    let whole = ScreenSpecification.Region(x: 0, y: 0, width: width, height: height)
    guard let region = (specification.region ?? whole).intersection(whole) else {
      throw .hidden(
        VidiconError(
          .notFound, subject: source, cause: "the region lies outside of the \(width)×\(height) pixels that there are",
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
      drawable: specification.window == nil ? window : try Self.picture(of: window, connection, source),
      x: region.x + border, y: region.y + border, pixels: pixels)
  }

  /// Lets the server keep a picture of a window that is whole whatever lies before it.
  static func redirect(_ window: UInt32, _ connection: X11Connection, source: String) throws(Problem) {
    guard connection.extensions.hasComposite else {
      throw .gone(
        VidiconError(
          .failed, subject: source,
          cause: "the X server lacks the extension Composite, which windows are captured with",
          nextStep: "capture the part of the screen where the window is, with region=X,Y,W,H"))
    }
    guard window != connection.screen.root else {
      throw .gone(
        VidiconError(
          .invalidData, subject: source, cause: "that window is the whole screen", nextStep: "leave out window="))
    }
    do throws(X11Failure) {
      try connection.check(
        xcb_composite_redirect_window_checked(
          connection.pointer, window, UInt8(XCB_COMPOSITE_REDIRECT_AUTOMATIC.rawValue)))
    } catch {
      guard case .refused = error else { throw .server(error) }
      throw .gone(Self.error(.notFound, source, "there is no such window, or it shows nothing"))
    }
  }

  private static func ask(
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

  /// The picture that the server keeps of a redirected window, under a number of its own.
  private static func picture(
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
      .notFound, subject: source, cause: "the window is not on the screen (minimised, or on another desktop)",
      nextStep: "bring it back there")
  }

  private static func error(_ code: VidiconError.Code, _ source: String, _ cause: String) -> VidiconError {
    VidiconError(code, subject: source, cause: cause, nextStep: "find its number with: vidicon devices, or xwininfo")
  }
}
#endif
