package import Capture
package import Media
internal import Threading

/// The screens and windows that can be captured.
package enum ScreenDevices {
  /// What the X server of the environment shows: its screen, or each of several monitors, then its windows with their
  /// titles.
  ///
  /// Nothing without an X server; when `DISPLAY` is set and cannot be used, one entry says why.
  ///
  /// - Parameter limit: The longest time it takes; windows that were not looked at by then are left out.
  package static func devices(within limit: MediaDuration = .seconds(1)) -> [CaptureDevice] {
    #if os(Linux)
    return X11Display.variable("DISPLAY").map { self.devices(of: $0, within: limit) } ?? []
    #else
    return []
    #endif
  }

  #if os(Linux)
  /// Those of one X server.
  static func devices(of name: String, within limit: MediaDuration = .seconds(1)) -> [CaptureDevice] {
    do throws(VidiconError) {
      return try ScreenList(display: name, until: StreamClock.system.now() + limit).devices
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

  /// A title as it can be shown on one line: without control characters, and not too long.
  static func title(_ text: String) -> String {
    let shown = text.unicodeScalars.prefix(200).map { scalar -> Character in
      let isHarmless = scalar.properties.generalCategory != .control && scalar.properties.generalCategory != .format
      return isHarmless ? Character(scalar) : " "
    }
    return String(shown).split(separator: " ").joined(separator: " ")
  }
}
