package import Capture

/// Decides which sources a client without the operator role may choose: generated ones, those that the streams started with,
/// and other devices of the same kind.
///
/// Permission to share a camera does not include the screen; permission to share a window or a region does not include
/// the rest of the screen.
package struct SourceAccessPolicy {
  private let texts: Set<String>
  private let schemes: Set<String>
  private let allowsAutomaticAudio: Bool

  /// - Parameter start: The sources that the streams started with.
  package init(start: [SourceNames]) {
    let texts = start.flatMap { [$0.video, $0.audio] }.compactMap { $0 }
    self.texts = Set(texts)
    self.schemes = Set(texts.compactMap { Self.scheme(openedBy: SourceText($0)) })
    self.allowsAutomaticAudio = start.contains { $0.audio == "auto" }
  }

  /// The device kind that is allowed because a stream started with this source; nil for none.
  private static func scheme(openedBy source: SourceText) -> String? {
    switch source.scheme {
    case "v4l2", "mic": return source.scheme
    case "screen":
      let screen = try? ScreenSpecification(parsing: source.text)
      return screen != nil && screen?.window == nil && screen?.region == nil ? "screen" : nil
    default: return nil
    }
  }

  /// Whether a stream started with this source.
  func isStart(_ source: SourceText) -> Bool {
    self.texts.contains(source.text)
  }

  /// Whether the policy allows this source, provided that it is generated or a listed device.
  func allows(_ source: SourceText, isAudio: Bool) -> Bool {
    if self.isStart(source) { return true }
    // `auto` is a microphone when the video source is a camera.
    if isAudio, source.text == "auto" { return self.allowsAutomaticAudio }
    guard let scheme = source.scheme else { return true }
    return self.schemes.contains(scheme)
  }

  /// The allowed part of a list of devices.
  package func allowed(of devices: [CaptureDevice]) -> [CaptureDevice] {
    devices.filter { self.allows(SourceText($0.specification), isAudio: $0.kind == .microphone) }
  }
}
