internal import Media
internal import Synchronization

/// Where a camera's pictures go until it is told to stop; from then on nothing comes through, also from a thread that
/// still waits for a device.
final class CameraOutput: Sendable {
  private let consumer: any VideoConsumer
  private let wake: CameraWake
  private let state: CameraState

  init(_ consumer: any VideoConsumer, wake: CameraWake, state: CameraState) {
    self.consumer = consumer
    self.wake = wake
    self.state = state
  }

  /// Hands over a frame.
  func consume(_ frame: VideoFrame) {
    if !self.wake.isStopped { self.consumer.consume(frame) }
  }

  /// Hands over a compressed picture.
  func consume(_ sample: EncodedSample, of description: CodecDescription) {
    if !self.wake.isStopped { self.consumer.consume(sample, of: description) }
  }

  /// Tells of pictures that could not be used, or never came.
  func skip(at times: MediaTime...) {
    self.skip(at: times)
  }

  func skip(at times: [MediaTime]) {
    if self.wake.isStopped { return }
    for time in times { self.consumer.captureSkipped(at: time) }
  }

  /// Notes the format of the frames that follow, and tells of it when it is another one.
  func announce(_ format: VideoFormat) {
    let isNew = self.state.withLock { state in
      defer { state.format = format }
      return state.format != format
    }
    if isNew, !self.wake.isStopped { self.consumer.captureFormatChanged(to: format) }
  }

  /// Tells that the camera is lost.
  func end(_ error: CaptureError) {
    if !self.wake.isStopped { self.consumer.captureEnded(error) }
  }
}
