package import Capture
package import Media
internal import Threading

/// The screens and windows of the X server that `DISPLAY` selects.
package enum ScreenDevices {
  /// Lists the screen, each of several monitors, then the windows with their titles.
  ///
  /// The list is empty when `DISPLAY` is not set; when its X server cannot be used, one entry has the problem.
  ///
  /// - Parameter timeout: Maximum time the call blocks; windows not queried by then are left out.
  package static func devices(timeout: MediaDuration = .seconds(1)) -> [CaptureDevice] {
    #if os(Linux)
    return X11Display.variable("DISPLAY").map { self.devices(of: $0, timeout: timeout) } ?? []
    #else
    return []
    #endif
  }

  #if os(Linux)
  /// Lists the screens and windows of one X server.
  static func devices(of name: String, timeout: MediaDuration = .seconds(1)) -> [CaptureDevice] {
    do throws(VidiconError) {
      return try ScreenList(display: name, until: StreamClock.system.now() + timeout).devices
    } catch {
      let problem = "\(error.cause); \(error.nextStep)"
      return [
        CaptureDevice(
          kind: .screen, specification: "screen:", name: "Screen \(name.prefix(100))", stableName: "screen:",
          problem: problem)
      ]
    }
  }
  #endif

  /// A title on one line: without control characters, at most 200 characters.
  static func title(_ text: String) -> String {
    let shown = text.unicodeScalars.prefix(200).map { scalar -> Character in
      let isPrintable = scalar.properties.generalCategory != .control && scalar.properties.generalCategory != .format
      return isPrintable ? Character(scalar) : " "
    }
    return String(shown).split(separator: " ").joined(separator: " ")
  }
}
