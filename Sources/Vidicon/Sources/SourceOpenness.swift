internal import Capture
internal import HTTPServer

/// Which sources those may choose who ask from elsewhere without a password: what is drawn or made, what the streams began
/// with, and devices of a kind that they began with. Who puts a camera on air has not put the screen on air.
struct SourceOpenness {
  private let texts: Set<String>
  private let schemes: Set<String>
  private let hasAutomaticSound: Bool

  /// - Parameter start: What the streams began with.
  init(start: [HTTPServerControl.Sources]) {
    let texts = start.flatMap { [$0.video, $0.audio] }.compactMap { $0 }
    self.texts = Set(texts)
    self.schemes = Set(texts.compactMap { SourceText($0).scheme }).intersection(["v4l2", "screen", "mic"])
    self.hasAutomaticSound = start.contains { $0.audio == "auto" }
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
