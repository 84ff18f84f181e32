internal import Inference
internal import Media

/// The detector models of a private stream, from which each detection thread gets executors of its own.
struct FaceDetectorPlans: Sendable {
  /// Score of half a face at the frame's edge, behind a hand.
  private static let threshold: Float = 0.3

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
  func makeDetect() -> DetectionThread.Detect {
    let near = FaceDetectorBox(FaceDetector(.shortRangeDetector, plan: self.near, threshold: nil))
    let far = FaceDetectorBox(FaceDetector(.fullRangeDetector, plan: self.far, threshold: Self.threshold))
    return { model, input, found in
      (model == .shortRangeDetector ? near : far).detect(in: input, into: &found)
      return true
    }
  }
}
