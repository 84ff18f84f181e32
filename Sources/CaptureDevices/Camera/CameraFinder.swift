internal import Media

/// Finds cameras by what their users call them, and those that come back after they were unplugged.
enum CameraFinder {
  /// The nodes that cameras have.
  static let paths = (0..<64).map { "/dev/video\($0)" }

  /// A camera that is there.
  struct Found: Hashable {
    var path: String
    var identity: V4L2Device.Identity
    /// The name of its link in /dev/v4l/by-id, which has the serial number in it.
    var byID: String?

    /// What a user may call it.
    var names: [String] {
      [self.identity.card, self.byID, self.identity.bus, self.stableName].compactMap { $0 }.filter { !$0.isEmpty }
    }

    /// A name that stays when it is unplugged and plugged in again.
    var stableName: String {
      self.byID ?? "\(self.identity.card) (\(self.identity.bus))"
    }
  }

  /// The nodes to try for a specification, in turn.
  ///
  /// - Throws: ``VidiconError`` when no camera has the name, or several have.
  static func paths(for specification: CameraSpecification) throws(VidiconError) -> [String] {
    switch specification.device {
    case .first: self.paths
    case .path(let path): [path]
    case .name(let name): [try self.match(name, among: self.cameras(), source: specification.text)]
    }
  }

  /// The cameras that can be opened.
  ///
  /// - Parameter path: A node to try besides the usual ones.
  static func cameras(also path: String? = nil) -> [Found] {
    let links = self.links()
    let others = path.map { self.paths.contains($0) ? [] : [$0] } ?? []
    return (others + self.paths).compactMap { path in
      guard let device = try? V4L2Device(path: path) else { return nil }
      return Found(path: path, identity: device.identity, byID: links[path])
    }
  }

  /// The names in /dev/v4l/by-id, by the node that each leads to.
  static func links() -> [String: String] {
    let folder = "/dev/v4l/by-id"
    var links: [String: String] = [:]
    for name in names(in: folder).sorted() {
      if let path = realpath("\(folder)/\(name)"), links[path] == nil { links[path] = name }
    }
    return links
  }

  /// The node of the camera that is called so.
  ///
  /// A name that is the same goes before one that begins so, and that before one that holds it.
  static func match(_ name: String, among cameras: [Found], source: String) throws(VidiconError) -> String {
    let wanted = name.lowercased()
    let ways: [(String) -> Bool] = [{ $0 == wanted }, { $0.hasPrefix(wanted) }, { $0.contains(wanted) }]
    for way in ways {
      let matches = cameras.filter { $0.names.contains { way($0.lowercased()) } }
      if matches.count == 1 { return matches[0].path }
      if matches.count > 1 {
        throw VidiconError(
          .invalidSpecification, subject: source,
          cause: "\(matches.count) cameras are called so: \(self.list(matches))",
          nextStep: "use the path of one, or its name in /dev/v4l/by-id")
      }
    }
    throw VidiconError(
      .notFound, subject: source, cause: "no camera is called so",
      nextStep: cameras.isEmpty ? "plug one in; there is none" : "there are: \(self.list(cameras))")
  }

  /// The nodes at which a camera that was lost may be again, the likeliest first.
  ///
  /// Its own node counts when the same kind of camera is there, wherever it is plugged in; another node when it is
  /// plugged in at the same place. For a camera that was not chosen by path, the only one of its kind will do.
  static func places(
    of lost: V4L2Device.Identity, at path: String, among cameras: [Found], isChosenByPath: Bool
  ) -> [String] {
    let alike = cameras.filter { $0.identity.card == lost.card && $0.identity.driver == lost.driver }
    var places = alike.filter { $0.path == path } + alike.filter { $0.path != path && $0.identity.bus == lost.bus }
    if places.isEmpty, !isChosenByPath, alike.count == 1 { places = alike }
    return places.map(\.path)
  }

  private static func list(_ cameras: [Found]) -> String {
    cameras.prefix(16).map { "\($0.path) (\($0.identity.card), \($0.byID ?? $0.identity.bus))" }
      .joined(separator: ", ")
  }
}

extension VidiconError {
  /// There is not one camera.
  static func noCamera(source: String) -> VidiconError {
    VidiconError(
      .notFound, subject: source, cause: "there is no camera",
      nextStep: "plug one in, or choose another source of pictures")
  }
}
