internal import Capture
internal import Media
internal import Synchronization

/// State shared between the thread of a camera and the users of its capturer.
final class CameraState: Sendable {
  struct Values {
    /// Format of the delivered frames.
    var format: VideoFormat
    /// Direction the camera faces.
    var position = CameraPosition.unspecified
    /// Rotation that upright display needs.
    var orientation = Orientation.up
    /// Whether a keyframe was requested.
    var isKeyframeRequested = false
    /// The open device; nil while the camera is stopped or lost.
    var device: V4L2Device?
    /// Controls set by the user, in order, to be restored when the camera comes back.
    var settings: [(name: String, value: Int)] = []
  }

  private let values: Mutex<Values>

  init(format: VideoFormat) {
    self.values = Mutex(Values(format: format))
  }

  func withLock<Result: Sendable>(_ body: (inout Values) -> Result) -> Result {
    self.values.withLock { values in body(&values) }
  }

  /// Returns whether a keyframe was requested since the last call.
  func takeKeyframeRequest() -> Bool {
    self.withLock { state in
      defer { state.isKeyframeRequested = false }
      return state.isKeyframeRequested
    }
  }
}
