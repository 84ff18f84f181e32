#if os(Linux)
internal import Media
internal import CXCB
internal import Libc

/// An X display, from a name such as `:0` or `host:0.1` or from the environment.
struct X11Display: Hashable, Sendable {
  /// The name as it was given.
  let name: String
  /// Host name; nil for the local socket.
  let host: String?
  /// Number of the server.
  let number: Int32

  /// Parses a display name.
  ///
  /// - Parameters:
  ///   - name: The name; nil for the environment variable `DISPLAY`.
  ///   - source: The source in error messages.
  ///   - variable: Returns the value of an environment variable.
  init(
    _ name: String?, source: String, variable: (String) -> String? = Self.variable
  ) throws(VidiconError) {
    guard let name = name ?? variable("DISPLAY") else {
      let isWayland = variable("WAYLAND_DISPLAY") != nil
      throw VidiconError(
        .notFound, subject: source,
        cause: isWayland
          ? "this is a Wayland session without X11 (DISPLAY is not set), and only X11 screens can be captured"
          : "there is no X display: DISPLAY is not set",
        nextStep: isWayland
          ? "log in to an X11 (Xorg) session; through XWayland only windows of X11 programs can be captured"
          : "run it in the desktop session, set DISPLAY, or name the display: screen::0")
    }
    var host: UnsafeMutablePointer<CChar>?
    var number: Int32 = 0
    guard xcb_parse_display(name, &host, &number, nil) != 0, (0...59_535).contains(number) else {
      throw VidiconError(
        .notFound, subject: source, cause: "DISPLAY is \"\(name.prefix(100))\", which is not an X display",
        nextStep: "set DISPLAY to one, such as :0, or name it: screen::0")
    }
    defer { free(host) }
    // A protocol may precede the host: tcp/host.
    let parts = host.map { String(cString: $0) }?.split(separator: "/", omittingEmptySubsequences: false) ?? []
    let isLocal = parts.first == "unix" || (parts.last ?? "").isEmpty
    self.name = name
    self.host = isLocal ? nil : parts.last.map(String.init)
    self.number = number
  }

  /// The value of an environment variable; nil when unset or empty.
  static func variable(_ name: String) -> String? {
    guard let value = getenv(name), value.pointee != 0 else { return nil }
    return String(cString: value)
  }
}
#endif
