internal import Capture

extension CameraSpecification {
  /// Whether a camera's pixel format is the requested one.
  package func accepts(_ fourCC: FourCC) -> Bool {
    switch self.format {
    case nil: true
    case "mjpeg": fourCC.isJPEG
    case "nv12": fourCC == .nv12 || fourCC == .nv12InTwo
    case let format?: fourCC.description.lowercased() == format
    }
  }

  /// The specification without options, for messages.
  var text: String {
    switch self.device {
    case .first: "v4l2: (the first camera)"
    case .path(let path): "v4l2:\(path)"
    case .name(let name): "v4l2:\(name)"
    }
  }

  /// Names of the cameras that it may select, each of one camera only: nodes, ports of the bus, names in `/dev/v4l/by-id`. A
  /// camera keeps one of them when it is plugged in again. Opens all nodes, which may block.
  var uniqueNames: Set<String> {
    let path: String? = if case .path(let path) = self.device { realpath(path) ?? path } else { nil }
    let cameras = CameraFinder.cameras(also: path)
    let selected =
      switch self.device {
      case .first: cameras
      case .path: cameras.filter { $0.path == path }
      case .name(let name):
        cameras.filter { $0.path == (try? CameraFinder.match(name, among: cameras, source: self.text)) }
      }
    let names = selected.flatMap { [$0.path, $0.identity.bus, $0.byID].compactMap { $0 } } + [path].compactMap { $0 }
    return Set(names.filter { !$0.isEmpty })
  }
}
