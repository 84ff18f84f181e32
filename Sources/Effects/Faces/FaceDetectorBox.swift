internal import Media
internal import Synchronization

/// Shares a ``FaceDetector`` among closures; a lock admits one caller at a time.
final class FaceDetectorBox: Sendable {
  private let detector: Mutex<FaceDetector>

  init(_ detector: consuming FaceDetector) {
    self.detector = Mutex(detector)
  }

  func detect(in shrunk: PixelBuffer, threshold: Float = 0, into found: inout [FaceCandidate]) {
    self.detector.withLock { $0.detect(in: shrunk, threshold: threshold, into: &found) }
  }
}
