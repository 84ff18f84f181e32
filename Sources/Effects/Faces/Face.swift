/// A face in a frame. Positions and sizes are in pixels of the frame; left and right are the person's.
public struct Face: Hashable, Sendable, Identifiable {
  /// An axis-aligned box.
  public struct Box: Hashable, Sendable {
    /// Left edge.
    public var x: Float
    /// Top edge.
    public var y: Float
    /// Width.
    public var width: Float
    /// Height.
    public var height: Float

    /// Creates a box.
    public init(x: Float, y: Float, width: Float, height: Float) {
      (self.x, self.y, self.width, self.height) = (x, y, width, height)
    }

    /// Centre of the box.
    public var center: SIMD2<Float> { SIMD2(self.x + self.width / 2, self.y + self.height / 2) }
  }

  /// Points that are known for every face.
  public struct KeyPoints: Hashable, Sendable {
    /// Centre of the right eye.
    public var rightEye: SIMD2<Float>
    /// Centre of the left eye.
    public var leftEye: SIMD2<Float>
    /// Tip of the nose.
    public var nose: SIMD2<Float>
    /// Centre of the mouth.
    public var mouth: SIMD2<Float>
    /// Right ear, at its front.
    public var rightEar: SIMD2<Float>
    /// Left ear, at its front.
    public var leftEar: SIMD2<Float>

    /// Returns the points after applying `change` to each.
    func mapped(_ change: (SIMD2<Float>) -> SIMD2<Float>) -> KeyPoints {
      KeyPoints(
        rightEye: change(self.rightEye), leftEye: change(self.leftEye), nose: change(self.nose),
        mouth: change(self.mouth), rightEar: change(self.rightEar), leftEar: change(self.leftEar))
    }

    /// Creates key points.
    public init(
      rightEye: SIMD2<Float>, leftEye: SIMD2<Float>, nose: SIMD2<Float>, mouth: SIMD2<Float>, rightEar: SIMD2<Float>,
      leftEar: SIMD2<Float>
    ) {
      (self.rightEye, self.leftEye, self.nose, self.mouth) = (rightEye, leftEye, nose, mouth)
      (self.rightEar, self.leftEar) = (rightEar, leftEar)
    }
  }

  /// Identifier of the face while it is tracked, also across short gaps; never reused.
  public let id: Int
  /// Bounding box from chin to forehead.
  public var box: Box
  /// Clockwise rotation in the plane of the frame, in radians.
  public var roll: Float
  /// Eyes, nose, mouth and ears.
  public var keyPoints: KeyPoints
  /// 468 or 478 surface points: column, row, depth; empty where only the box is known.
  public var mesh: [SIMD3<Float>]
  /// Whether the face smiles. A crying face may count as smiling.
  public var isSmiling: Bool
  /// Whether the left eye is closed.
  public var leftEyeClosed: Bool
  /// Whether the right eye is closed.
  public var rightEyeClosed: Bool
  /// Confidence that this is a face, 0 to 1.
  public var confidence: Float

  /// Creates a face.
  public init(
    id: Int, box: Box, roll: Float, keyPoints: KeyPoints, mesh: [SIMD3<Float>] = [], isSmiling: Bool = false,
    leftEyeClosed: Bool = false, rightEyeClosed: Bool = false, confidence: Float = 1
  ) {
    (self.id, self.box, self.roll, self.keyPoints, self.mesh) = (id, box, roll, keyPoints, mesh)
    (self.isSmiling, self.leftEyeClosed, self.rightEyeClosed) = (isSmiling, leftEyeClosed, rightEyeClosed)
    self.confidence = confidence
  }
}
