internal import Inference
internal import Media

/// The detector models of a private stream, from which each detection thread gets executors of its own.
struct FaceDetectorPlans: Sendable {
  /// Minimum score that a job can request.
  private static let threshold: Float = 0.02

  private let near: InferencePlan
  private let far: InferencePlan

  /// - Throws: ``VidiconError`` when a model is missing, damaged or another one.
  init(_ models: FaceModels) throws(VidiconError) {
    self.near = try models.plan(for: .shortRangeDetector)
    self.far = try models.plan(for: .fullRangeDetector)
    try FaceSelfTest.check(.shortRangeDetector, plan: self.near)
    try FaceSelfTest.check(.fullRangeDetector, plan: self.far)
  }

  /// Creates detectors for one thread.
  func makeDetect() -> DetectionThreads.Detect {
    let near = FaceDetectorBox(FaceDetector(.shortRangeDetector, plan: self.near, threshold: Self.threshold))
    let far = FaceDetectorBox(FaceDetector(.fullRangeDetector, plan: self.far, threshold: Self.threshold))
    return { job, found in
      let detector = job.model == .shortRangeDetector ? near : far
      detector.detect(in: job.input, threshold: job.threshold, into: &found)
      return true
    }
  }
}
