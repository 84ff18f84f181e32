internal import Capture
internal import CaptureDevices
internal import HTTPServer
internal import StreamControl

/// Which sources those may choose who ask from elsewhere without a password: what is drawn or made, what the streams began
/// with, and devices of a kind that they began with. Who puts a camera on air has not put the screen on air,
/// and who puts a window or a part of the screen on air not the rest of it.
struct SourceAccessPolicy {
  private let texts: Set<String>
  private let schemes: Set<String>
  private let hasAutomaticSound: Bool

  /// - Parameter start: What the streams began with.
  init(start: [HTTPServerControl.Sources]) {
    let texts = start.flatMap { [$0.video, $0.audio] }.compactMap { $0 }
    self.texts = Set(texts)
    self.schemes = Set(texts.compactMap { Self.scheme(openedBy: SourceText($0)) })
    self.hasAutomaticSound = start.contains { $0.audio == "auto" }
  }

  /// The kind of devices that are open to all since a stream began with this one.
  private static func scheme(openedBy source: SourceText) -> String? {
    switch source.scheme {
    case "v4l2", "mic": return source.scheme
    case "screen":
      let screen = try? ScreenSpecification(parsing: source.text)
      return screen != nil && screen?.window == nil && screen?.region == nil ? "screen" : nil
    default: return nil
    }
  }

  /// Whether a stream began with it.
  func isStart(_ source: SourceText) -> Bool {
    self.texts.contains(source.text)
  }

  /// Whether it may be chosen, if it is a device that is listed.
  func mayBeOpen(_ source: SourceText, isAudio: Bool) -> Bool {
    if self.isStart(source) { return true }
    // Beside a camera it is a microphone.
    if isAudio, source.text == "auto" { return self.hasAutomaticSound }
    guard let scheme = source.scheme else { return true }
    return self.schemes.contains(scheme)
  }

  /// What may be chosen of a list.
  func open(_ list: HTTPServerDevices.List) -> HTTPServerDevices.List {
    var list = list
    let devices = list.devices.filter {
      self.mayBeOpen(SourceText($0.specification), isAudio: $0.kind == .microphone)
    }
    list.isRestricted = devices.count < list.devices.count
    list.devices = devices
    return list
  }
}
