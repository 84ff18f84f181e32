import Capture

/// A camera that `vidicon setup` offers.
struct SetupCamera: Equatable, Sendable {
  /// Name for people.
  var name: String
  /// The source that selects it.
  var source: String
  /// Reason why it cannot be used now; nil for a usable one.
  var problem: String?
}

extension SetupCamera {
  /// The cameras among the devices of this machine, in their order.
  static func cameras(among devices: [CaptureDevice]) -> [SetupCamera] {
    let cameras = devices.filter { $0.kind == .camera }
    return cameras.map { camera in
      // The name is the same after another boot, while nodes are numbered in the order in which they are found. Of two cameras with the
      // same name, and of one that cannot be opened, only the path of the node selects one.
      let isUnique = cameras.count { $0.stableName == camera.stableName } == 1
      let isStable = isUnique && camera.problem == nil && !camera.stableName.contains("?")
      return SetupCamera(
        name: camera.name, source: isStable ? "v4l2:\(camera.stableName)" : camera.specification,
        problem: camera.problem)
    }
  }
}
