#if os(Linux)
internal import Capture
internal import Threading
internal import CXCB
internal import Media

/// The list of an X server's screens and windows as devices.
struct ScreenList {
  /// Maximum number of windows listed.
  private static let windowLimit = 64
  /// Minimum width and height in pixels; smaller windows are not the main window of a program.
  private static let minimumSide = 32
  /// Maximum length of a title, in units of four bytes.
  private static let titleLimit: UInt32 = 256

  /// Screens, then windows.
  private(set) var devices: [CaptureDevice] = []
  private let connection: X11Connection
  private let display: String

  /// Connects to the server and lists its devices.
  ///
  /// - Throws: ``VidiconError`` when there is no server, or it does not respond before the deadline.
  init(display: String, until deadline: MediaTime) throws(VidiconError) {
    let source = "screen:\(display)"
    let wake = try WakePipe(source: source)
    let attempt = try X11ConnectionAttempt(X11Display(display, source: source), wake: wake, source: source)
    guard let result = attempt.result(until: deadline) else {
      throw VidiconError(
        .failed, subject: source, cause: "the X server at \(display) does not respond",
        nextStep: "check whether it hangs")
    }
    self.display = display
    self.connection = try result.get()
    self.connection.deadline = deadline
    // Devices whose queries fail or exceed the deadline are left out.
    try? self.addScreens()
    if self.devices.isEmpty {
      let screen = self.connection.screen
      self.add(
        .screen, name: "Screen \(display)", width: Int(screen.width_in_pixels), height: Int(screen.height_in_pixels))
    }
    try? self.addWindows()
  }

  private mutating func add(_ kind: CaptureDevice.Kind, _ option: String = "", name: String, width: Int, height: Int) {
    let specification = "screen:\(self.display)\(option)"
    self.devices.append(
      CaptureDevice(
        kind: kind, specification: specification, name: name, stableName: specification,
        formats: [
          CaptureDeviceFormat(
            name: "BGRA", width: width, height: height, frameRates: .range(FrameRate(1)...FrameRate(240)))
        ]))
  }

  /// Adds the whole screen, and each monitor when there are several.
  private mutating func addScreens() throws(X11Failure) {
    let pointer = self.connection.pointer
    let root = self.connection.screen.root
    let geometry = try self.connection.reply(xcb_get_geometry(pointer, root).sequence, xcb_get_geometry_reply_t.self)
    let size = (width: Int(geometry.content.width), height: Int(geometry.content.height))
    self.add(.screen, name: "Screen \(self.display)", width: size.width, height: size.height)
    guard self.connection.extensions.hasMonitors else { return }
    let reply = try self.connection.reply(
      xcb_randr_get_monitors(pointer, root, 1).sequence, xcb_randr_get_monitors_reply_t.self)
    var monitors = xcb_randr_get_monitors_monitors_iterator(reply.pointer)
    guard monitors.rem > 1 else { return }
    while monitors.rem > 0 {
      let monitor = monitors.data.pointee
      let option = "?region=\(monitor.x),\(monitor.y),\(monitor.width),\(monitor.height)"
      let name = try self.name(ofAtom: monitor.name)
      self.add(
        .screen, option, name: "Monitor \(name)", width: Int(monitor.width), height: Int(monitor.height))
      xcb_randr_monitor_info_next(&monitors)
    }
  }

  private func name(ofAtom atom: UInt32) throws(X11Failure) -> String {
    let reply = try self.connection.reply(
      xcb_get_atom_name(self.connection.pointer, atom).sequence, xcb_get_atom_name_reply_t.self)
    let bytes = UnsafeRawBufferPointer(
      start: xcb_get_atom_name_name(reply.pointer), count: Int(xcb_get_atom_name_name_length(reply.pointer)))
    return ScreenDevices.title(String(decoding: bytes, as: UTF8.self))
  }
}

// MARK: Windows

extension ScreenList {
  private mutating func addWindows() throws(X11Failure) {
    let pointer = self.connection.pointer
    let titles = [try self.atom("_NET_WM_NAME"), XCB_ATOM_WM_NAME.rawValue]
    for window in try self.windows().prefix(Self.windowLimit) {
      // Requests are sent together, to wait once per window.
      let attributes = xcb_get_window_attributes(pointer, window).sequence
      let geometry = xcb_get_geometry(pointer, window).sequence
      let names = titles.map { xcb_get_property(pointer, 0, window, $0, 0, 0, Self.titleLimit).sequence }
      let isVisible = try self.nilIfGone { () throws(X11Failure) in
        let reply = try self.connection.reply(attributes, xcb_get_window_attributes_reply_t.self)
        return reply.content.map_state == UInt8(XCB_MAP_STATE_VIEWABLE.rawValue)
          && reply.content._class == UInt16(XCB_WINDOW_CLASS_INPUT_OUTPUT.rawValue)
      }
      let size = try self.nilIfGone { () throws(X11Failure) in
        let reply = try self.connection.reply(geometry, xcb_get_geometry_reply_t.self)
        return (width: Int(reply.content.width), height: Int(reply.content.height))
      }
      var title: String?
      for name in names {
        let text = try self.nilIfGone { () throws(X11Failure) in try self.text(ofProperty: name) }
        if title == nil, let text, !text.isEmpty { title = text }
      }
      guard isVisible == true, let size, min(size.width, size.height) >= Self.minimumSide else { continue }
      let number = "0x" + String(window, radix: 16)
      self.add(.window, "?window=\(number)", name: title ?? "Window \(number)", width: size.width, height: size.height)
    }
  }

  /// The windows of programs as listed by the window manager; without one, all children of the root window.
  private func windows() throws(X11Failure) -> [UInt32] {
    let (pointer, root) = (self.connection.pointer, self.connection.screen.root)
    let list = try self.atom("_NET_CLIENT_LIST")
    if list != 0 {
      let clients = try self.connection.reply(
        xcb_get_property(pointer, 0, root, list, XCB_ATOM_WINDOW.rawValue, 0, 1_024).sequence,
        xcb_get_property_reply_t.self)
      if clients.content.format == 32, let value = xcb_get_property_value(clients.pointer) {
        let count = Int(xcb_get_property_value_length(clients.pointer)) / 4
        let windows = UnsafeBufferPointer(start: value.assumingMemoryBound(to: UInt32.self), count: count)
        if count > 0 { return Array(windows) }
      }
    }
    let tree = try self.connection.reply(xcb_query_tree(pointer, root).sequence, xcb_query_tree_reply_t.self)
    let children = UnsafeBufferPointer(
      start: xcb_query_tree_children(tree.pointer), count: Int(xcb_query_tree_children_length(tree.pointer)))
    // Topmost first.
    return children.reversed()
  }

  /// The atom of a name; 0 when the server has none.
  private func atom(_ name: String) throws(X11Failure) -> UInt32 {
    let sequence = name.withCString {
      xcb_intern_atom(self.connection.pointer, 1, UInt16(name.utf8.count), $0).sequence
    }
    return try self.connection.reply(sequence, xcb_intern_atom_reply_t.self).content.atom
  }

  /// The text of a property: UTF-8 if valid, else Latin-1.
  private func text(ofProperty sequence: UInt32) throws(X11Failure) -> String {
    let reply = try self.connection.reply(sequence, xcb_get_property_reply_t.self)
    guard reply.content.format == 8 else { return "" }
    let bytes = UnsafeRawBufferPointer(
      start: xcb_get_property_value(reply.pointer), count: Int(xcb_get_property_value_length(reply.pointer)))
    let text = String(validating: bytes, as: UTF8.self)
    return ScreenDevices.title(text ?? String(String.UnicodeScalarView(bytes.map { Unicode.Scalar($0) })))
  }

  /// Returns the result of a query, or nil when its window was closed meanwhile.
  private func nilIfGone<Output>(_ body: () throws(X11Failure) -> Output) throws(X11Failure) -> Output? {
    do throws(X11Failure) {
      return try body()
    } catch {
      guard case .refused = error else { throw error }
      return nil
    }
  }
}
#endif
