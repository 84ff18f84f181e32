package import Capture

extension CameraCapturer: ExclusiveCapturer {
  /// Compares nodes, since one camera has many names. The first camera that opens can be any, so also this one.
  package func relation(of other: any VideoCapturer) -> DeviceRelation {
    guard let other = other as? CameraCapturer else { return .otherDevice }
    var (own, wanted) = (self.request.specification, other.request.specification)
    guard own.device == wanted.device || wanted.device == .first || self.node == Self.node(of: wanted) else {
      return .otherDevice
    }
    (own.device, wanted.device) = (.first, .first)
    return own == wanted ? .same : .sameWithOtherOptions
  }

  package func another() -> any VideoCapturer {
    CameraCapturer(
      self.request.specification, width: self.request.width, height: self.request.height,
      frameRate: self.request.frameRate)
  }

  /// The node that it has, or while it is lost the one that is meant.
  private var node: String? {
    if let path = self.state.withLock({ $0.device?.path }) { return realpath(path) ?? path }
    return Self.node(of: self.request.specification)
  }

  /// The node that a specification means; nil when there is no such camera.
  private static func node(of specification: CameraSpecification) -> String? {
    guard let path = try? CameraFinder.paths(for: specification).first else { return nil }
    return realpath(path) ?? path
  }
}
