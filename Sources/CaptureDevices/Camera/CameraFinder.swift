internal import Capture
internal import Media

/// Resolves camera names to device nodes, also for cameras that were unplugged and plugged in again.
enum CameraFinder {
  /// The nodes that cameras may have.
  static let paths = (0..<64).map { "/dev/video\($0)" }

  /// A connected camera.
  struct Found: Hashable {
    var path: String
    var identity: V4L2Device.Identity
    /// Name of its link in /dev/v4l/by-id, which contains the serial number; nil without link.
    var byID: String?

    /// Names by which users may select the camera.
    var names: [String] {
      [self.identity.card, self.byID, self.identity.bus, self.stableName].compactMap { $0 }.filter { !$0.isEmpty }
    }

    /// A name that survives unplugging and plugging in again.
    var stableName: String {
      self.byID ?? "\(self.identity.card) (\(self.identity.bus))"
    }
  }

  /// Resolves a specification to the nodes to try, in order.
  ///
  /// - Throws: ``VidiconError`` when a name matches no camera or several.
  static func paths(for specification: CameraSpecification) throws(VidiconError) -> [String] {
    switch specification.device {
    case .first: self.paths
    case .path(let path): [path]
    case .name(let name): [try self.match(name, among: self.cameras(), source: specification.text)]
    }
  }

  /// Lists the cameras that can be opened.
  ///
  /// - Parameter path: A node to try in addition to ``paths``.
  static func cameras(also path: String? = nil) -> [Found] {
    let links = self.links()
    let others = path.map { self.paths.contains($0) ? [] : [$0] } ?? []
    return (others + self.paths).compactMap { path in
      guard let device = try? V4L2Device(path: path) else { return nil }
      return Found(path: path, identity: device.identity, byID: links[path])
    }
  }

  /// The names in /dev/v4l/by-id, by the node that each links to.
  static func links() -> [String: String] {
    let folder = "/dev/v4l/by-id"
    var links: [String: String] = [:]
    for name in names(in: folder).sorted() {
      if let path = realpath("\(folder)/\(name)"), links[path] == nil { links[path] = name }
    }
    return links
  }

  /// Finds the node of a camera by name, ignoring case.
  ///
  /// An equal name takes precedence over one with this prefix, and that over one that contains it.
  static func match(_ name: String, among cameras: [Found], source: String) throws(VidiconError) -> String {
    let wanted = name.lowercased()
    let criteria: [(String) -> Bool] = [{ $0 == wanted }, { $0.hasPrefix(wanted) }, { $0.contains(wanted) }]
    for criterion in criteria {
      let matches = cameras.filter { $0.names.contains { criterion($0.lowercased()) } }
      if matches.count == 1 { return matches[0].path }
      if matches.count > 1 {
        throw VidiconError(
          .invalidSpecification, subject: source,
          cause: "\(matches.count) cameras have this name: \(self.list(matches))",
          nextStep: "use the path of one, or its name in /dev/v4l/by-id")
      }
    }
    throw VidiconError(
      .notFound, subject: source, cause: "no camera has this name",
      nextStep: cameras.isEmpty ? "plug in a camera; none is connected" : "choose one of: \(self.list(cameras))")
  }

  /// The nodes at which a lost camera may have come back, most likely first.
  ///
  /// The node that it had counts when a camera of the same model is there, whatever its port; another node counts at the
  /// same port. A camera that was not selected by path is also recognized as the only one of its model.
  static func places(
    of lost: V4L2Device.Identity, at path: String, among cameras: [Found], isChosenByPath: Bool
  ) -> [String] {
    let sameModel = cameras.filter { $0.identity.card == lost.card && $0.identity.driver == lost.driver }
    var places =
      sameModel.filter { $0.path == path } + sameModel.filter { $0.path != path && $0.identity.bus == lost.bus }
    if places.isEmpty, !isChosenByPath, sameModel.count == 1 { places = sameModel }
    return places.map(\.path)
  }

  private static func list(_ cameras: [Found]) -> String {
    cameras.prefix(16).map { "\($0.path) (\($0.identity.card), \($0.byID ?? $0.identity.bus))" }
      .joined(separator: ", ")
  }
}

extension VidiconError {
  /// No camera is connected.
  static func noCamera(source: String) -> VidiconError {
    VidiconError(
      .notFound, subject: source, cause: "there is no camera",
      nextStep: "plug one in, or choose another video source")
  }
}
