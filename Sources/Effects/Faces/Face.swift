/// A face in a frame. Positions and sizes are in pixels of the frame; left and right are the person's.
public struct Face: Hashable, Sendable, Identifiable {
  /// An axis-aligned box in pixels of the frame; it may extend beyond the frame.
  public struct Box: Hashable, Sendable {
    /// Left edge, in pixels from the left edge of the frame; may be negative.
    public var x: Float
    /// Top edge, in pixels from the top edge of the frame; may be negative.
    public var y: Float
    /// Width of the box, in pixels of the frame.
    public var width: Float
    /// Height of the box, in pixels of the frame.
    public var height: Float

    /// Creates a box from its top left corner and its size, in pixels.
    public init(x: Float, y: Float, width: Float, height: Float) {
      (self.x, self.y, self.width, self.height) = (x, y, width, height)
    }

    /// Center of the box: column and row, in pixels.
    public var center: SIMD2<Float> { SIMD2(self.x + self.width / 2, self.y + self.height / 2) }
  }

  /// Points that are known for every face, each a column and a row.
  public struct KeyPoints: Hashable, Sendable {
    /// Center of the person's right eye.
    public var rightEye: SIMD2<Float>
    /// Center of the person's left eye.
    public var leftEye: SIMD2<Float>
    /// Position of the tip of the nose.
    public var nose: SIMD2<Float>
    /// Position of the center of the mouth.
    public var mouth: SIMD2<Float>
    /// Front of the person's right ear (tragion).
    public var rightEar: SIMD2<Float>
    /// Front of the person's left ear (tragion).
    public var leftEar: SIMD2<Float>

    /// Returns the points after applying `change` to each.
    func mapped(_ change: (SIMD2<Float>) -> SIMD2<Float>) -> KeyPoints {
      KeyPoints(
        rightEye: change(self.rightEye), leftEye: change(self.leftEye), nose: change(self.nose),
        mouth: change(self.mouth), rightEar: change(self.rightEar), leftEar: change(self.leftEar))
    }

    /// Creates key points; each is a column and a row, all in the same unit.
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
  /// Eyes, nose, mouth and ears, in pixels of the frame.
  public var keyPoints: KeyPoints
  /// 468 or 478 surface points: column, row and depth in pixels; empty where only the box is known.
  public var mesh: [SIMD3<Float>]
  /// Whether the face smiles. A crying face may count as smiling.
  public var isSmiling: Bool
  /// Whether the left eye is closed.
  public var leftEyeClosed: Bool
  /// Whether the right eye is closed.
  public var rightEyeClosed: Bool
  /// Confidence that this is a face, 0 to 1.
  public var confidence: Float

  /// Creates a face; by default without a mesh, not smiling and with open eyes.
  public init(
    id: Int, box: Box, roll: Float, keyPoints: KeyPoints, mesh: [SIMD3<Float>] = [], isSmiling: Bool = false,
    leftEyeClosed: Bool = false, rightEyeClosed: Bool = false, confidence: Float = 1
  ) {
    (self.id, self.box, self.roll, self.keyPoints, self.mesh) = (id, box, roll, keyPoints, mesh)
    (self.isSmiling, self.leftEyeClosed, self.rightEyeClosed) = (isSmiling, leftEyeClosed, rightEyeClosed)
    self.confidence = confidence
  }
}
