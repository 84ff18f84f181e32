internal import Capture
internal import Media
internal import Synchronization

/// What a camera's threads and its users both look at.
final class CameraState: Sendable {
  struct Values {
    /// What the frames look like.
    var format: VideoFormat
    /// Where it looks.
    var position = CameraPosition.unspecified
    /// How its pictures are to be turned.
    var orientation = Orientation.up
    /// Whether a keyframe was asked for.
    var isKeyframeWanted = false
    /// The device, while it is open.
    var device: V4L2Device?
    /// The controls that the user has set, in their order, to be set again when the camera comes back.
    var settings: [(name: String, value: Int)] = []
  }

  private let values: Mutex<Values>

  init(format: VideoFormat) {
    self.values = Mutex(Values(format: format))
  }

  func withLock<Result: Sendable>(_ body: (inout Values) -> Result) -> Result {
    self.values.withLock { values in body(&values) }
  }

  /// Whether a keyframe was asked for since this was last called.
  func takeKeyframeRequest() -> Bool {
    self.withLock { state in
      defer { state.isKeyframeWanted = false }
      return state.isKeyframeWanted
    }
  }
}
