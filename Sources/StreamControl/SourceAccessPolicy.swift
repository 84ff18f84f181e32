package import Capture

/// Decides which sources a client without the operator role may choose: generated ones, those that the streams started with,
/// and other devices of the same kind.
///
/// Permission to share a camera does not include the screen; permission to share a window or a region does not include
/// the rest of the screen.
package struct SourceAccessPolicy {
  private let start: [SourceSelection]
  private let kinds: Set<CaptureDevice.Kind>

  /// - Parameter start: The sources that the streams started with.
  package init(start: [SourceSelection]) {
    self.start = start
    self.kinds = Set(
      start.flatMap { [$0.video.flatMap(Self.kind(openedBy:)), $0.audio.flatMap(Self.kind(openedBy:))] }
        .compactMap(\.self))
  }

  /// The device kind that is allowed because a stream started with this source; nil for none.
  private static func kind(openedBy video: SourceSpecification.Video) -> CaptureDevice.Kind? {
    switch video {
    case .camera: .camera
    case .screen(let screen): screen.window == nil && screen.region == nil ? .screen : nil
    case .plasma, .noise, .bars, .file, .pipe, .network, .published, .other: nil
    }
  }

  private static func kind(openedBy audio: SourceSpecification.Audio) -> CaptureDevice.Kind? {
    if case .microphone = audio { .microphone } else { nil }
  }

  /// Whether a stream started with a source of this name.
  func isStart(_ name: String) -> Bool {
    self.start.contains { $0.contains(name) }
  }

  /// Whether the policy allows this source, provided that it is generated or a listed device.
  func allows(_ video: SourceSpecification.Video) -> Bool {
    if self.isStart(video.name) { return true }
    return switch video {
    case .plasma, .noise, .bars: true
    case .camera: self.kinds.contains(.camera)
    case .screen: self.kinds.contains(.screen)
    case .file, .pipe, .network, .published: false
    // Of a catalog of the program's own; names with a colon are devices, files and addresses there too.
    case .other(let name): !name.contains(":")
    }
  }

  /// Whether the policy allows this source, provided that it is generated or a listed device.
  func allows(_ audio: SourceSpecification.Audio) -> Bool {
    if self.isStart(audio.name) { return true }
    return switch audio {
    // A microphone where the video source is a camera.
    case .auto: false
    case .tone, .silence, .none: true
    case .microphone: self.kinds.contains(.microphone)
    case .file, .network: false
    case .other(let name): !name.contains(":")
    }
  }

  /// The allowed part of a list of devices.
  package func allowed(of devices: [CaptureDevice]) -> [CaptureDevice] {
    devices.filter { device in
      device.kind == .microphone
        ? self.allows(SourceSpecification.Audio(stringLiteral: device.specification))
        : self.allows(SourceSpecification.Video(stringLiteral: device.specification))
    }
  }
}

extension SourceSelection {
  /// Whether one of the sources has this name.
  func contains(_ name: String) -> Bool { self.video?.name == name || self.audio?.name == name }
}
