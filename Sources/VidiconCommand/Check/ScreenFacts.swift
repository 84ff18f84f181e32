import Capture
import CaptureDevices
import Foundation
import StreamControl

/// Facts about the screen that this user reaches, and whether a stream shows it.
struct ScreenFacts: Sendable {
  /// Value of `DISPLAY`; nil where it is not set.
  var display: String?
  /// Whether the session is one of Wayland, of which X11 shows its own windows only.
  var isWayland = false
  /// Reason why the screen cannot be used, `CAUSE; NEXT STEP`; nil for a usable one, and without a display.
  var problem: String?
  /// Streams that show a screen, with its display; nil for that of the environment.
  var requests: [(stream: String, display: String?)] = []

  /// One finding.
  var findings: [CheckFinding] {
    let subject = "screen"
    guard let request = self.requests.first else {
      if let problem {
        return [.ok(subject, "\(problem.prefix { $0 != ";" }), and no stream needs it")]
      }
      return [.ok(subject, self.display.map { "the X server at \($0) responds" } ?? "none, and no stream needs one")]
    }
    if self.display == nil, request.display == nil {
      return [
        .fault(
          subject, "DISPLAY is not set, and the stream \(request.stream) shows a screen",
          .advice("start it in the session of the screen, or name that as screen::0, which a service may not use"))
      ]
    }
    if let display = request.display, display != self.display {
      return [.ok(subject, "the stream \(request.stream) names \(display), which shows at the start")]
    }
    if let problem { return [CheckFinding(subject, problem: problem, verdict: .fault)] }
    if self.isWayland {
      return [
        .warning(
          subject, "the session is one of Wayland: windows of its own programs stay black",
          .advice("log in with a session of X11 (Xorg)"))
      ]
    }
    return [.ok(subject, "the X server at \(self.display ?? "") responds")]
  }
}

extension ScreenFacts {
  /// Connects to the X server of the environment; blocks for up to a second, and for as long as it does not respond.
  init(_ configuration: ServeConfiguration) {
    let environment = ProcessInfo.processInfo.environment
    self.init(display: environment["DISPLAY"].flatMap { $0.isEmpty ? nil : $0 })
    self.isWayland = environment["WAYLAND_DISPLAY"]?.isEmpty == false
    self.problem = ScreenDevices.devices().first?.problem
    for stream in configuration.streams {
      guard case .screen(let screen)? = stream.videoSource else { continue }
      self.requests.append((stream.name, screen.display))
    }
  }
}
