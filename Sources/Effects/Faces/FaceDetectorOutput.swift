internal import Libc

/// Decodes the output tensors of a detector model.
///
/// For each anchor, row by row, the model outputs 16 numbers and a score: the box's center, width and height, then six
/// points, all in pixels of its input and relative to the anchor.
struct FaceDetectorOutput {
  /// Numbers per anchor.
  static let valueCount = 16

  /// Anchor centers, in units of the input.
  let anchors: [SIMD2<Float>]
  let inputSide: Float
  /// Minimum score of a face.
  let threshold: Float

  /// - Parameters:
  ///   - model: A detector.
  ///   - threshold: Minimum score; nil for the model's default.
  init(_ model: FaceModel, threshold: Float? = nil) {
    self.inputSide = Float(model.inputSide)
    switch model {
    case .shortRangeDetector:
      // Two anchors per 8 × 8 pixels, and six per 16 × 16.
      self.anchors = Self.grid(16, each: 2) + Self.grid(8, each: 6)
      self.threshold = threshold ?? 0.5
    case .fullRangeDetector, .sparseFullRangeDetector, .mesh, .fineMesh:
      self.anchors = Self.grid(48, each: 1)
      self.threshold = threshold ?? 0.6
    }
  }

  private static func grid(_ side: Int, each count: Int) -> [SIMD2<Float>] {
    (0..<side * side).flatMap { index -> Repeated<SIMD2<Float>> in
      let (y, x) = index.quotientAndRemainder(dividingBy: side)
      let center = SIMD2(Float(x), Float(y)) + 0.5
      return repeatElement(center / Float(side), count: count)
    }
  }

  /// Adds the candidates, in units of the input; each face several times.
  ///
  /// - Parameters:
  ///   - values: 16 numbers per anchor.
  ///   - scores: The logit of each anchor.
  ///   - threshold: Minimum score, where it is above ``threshold``.
  func addCandidates(
    values: UnsafeBufferPointer<Float>, scores: UnsafeBufferPointer<Float>, threshold: Float = 0,
    to found: inout [FaceCandidate]
  ) {
    precondition(scores.count == self.anchors.count && values.count == Self.valueCount * self.anchors.count)
    let threshold = max(threshold, self.threshold)
    let limit = logf(threshold / (1 - threshold))
    for index in 0..<scores.count where scores[index] >= limit {
      let own = UnsafeBufferPointer(rebasing: values[Self.valueCount * index..<Self.valueCount * (index + 1)])
      // Non-finite values are not a face.
      guard own.allSatisfy({ $0.isFinite }), own[2] > 0, own[3] > 0 else { continue }
      let (anchor, side) = (self.anchors[index], self.inputSide)
      func pair(_ place: Int) -> SIMD2<Float> { SIMD2(own[2 * place], own[2 * place + 1]) / side }
      found.append(
        FaceCandidate(
          center: anchor + pair(0), size: pair(1),
          keyPoints: Face.KeyPoints(
            rightEye: anchor + pair(2), leftEye: anchor + pair(3), nose: anchor + pair(4), mouth: anchor + pair(5),
            rightEar: anchor + pair(6), leftEar: anchor + pair(7)),
          score: 1 / (1 + expf(-scores[index]))))
    }
  }
}
