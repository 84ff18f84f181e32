/// A face in a frame. Places and sizes are in the frame's pixels; left and right are the face's owner's.
public struct Face: Hashable, Sendable, Identifiable {
  /// An upright box.
  public struct Box: Hashable, Sendable {
    /// The left edge.
    public var x: Float
    /// The upper edge.
    public var y: Float
    /// The width.
    public var width: Float
    /// The height.
    public var height: Float

    /// A box.
    public init(x: Float, y: Float, width: Float, height: Float) {
      (self.x, self.y, self.width, self.height) = (x, y, width, height)
    }

    /// The middle.
    public var center: SIMD2<Float> { SIMD2(self.x + self.width / 2, self.y + self.height / 2) }
  }

  /// Points of a face that are always known.
  public struct KeyPoints: Hashable, Sendable {
    /// The middle of the right eye.
    public var rightEye: SIMD2<Float>
    /// The middle of the left eye.
    public var leftEye: SIMD2<Float>
    /// The nose's tip.
    public var nose: SIMD2<Float>
    /// The mouth's centre.
    public var mouth: SIMD2<Float>
    /// Where the right ear begins.
    public var rightEar: SIMD2<Float>
    /// Where the left ear begins.
    public var leftEar: SIMD2<Float>

    /// The points after each was changed.
    func mapped(_ change: (SIMD2<Float>) -> SIMD2<Float>) -> KeyPoints {
      KeyPoints(
        rightEye: change(self.rightEye), leftEye: change(self.leftEye), nose: change(self.nose),
        mouth: change(self.mouth), rightEar: change(self.rightEar), leftEar: change(self.leftEar))
    }

    /// Key points.
    public init(
      rightEye: SIMD2<Float>, leftEye: SIMD2<Float>, nose: SIMD2<Float>, mouth: SIMD2<Float>, rightEar: SIMD2<Float>,
      leftEar: SIMD2<Float>
    ) {
      (self.rightEye, self.leftEye, self.nose, self.mouth) = (rightEye, leftEye, nose, mouth)
      (self.rightEar, self.leftEar) = (rightEar, leftEar)
    }
  }

  /// The same number for the same face, as long as it is not out of the frame for more than a moment; never used again.
  public let id: Int
  /// The smallest box around the face, from chin to forehead.
  public var box: Box
  /// How far it is turned to the right in the frame's plane, in radians.
  public var roll: Float
  /// Eyes, nose, mouth, ears.
  public var keyPoints: KeyPoints
  /// 468 or 478 points of its surface: column, row, depth; none where only the box is known.
  public var mesh: [SIMD3<Float>]
  /// Whether it smiles. Who cries may seem to smile.
  public var isSmiling: Bool
  /// Whether the left eye is closed.
  public var leftEyeClosed: Bool
  /// Whether the right eye is closed.
  public var rightEyeClosed: Bool
  /// How sure it is that there is a face, 0 to 1.
  public var confidence: Float

  /// A face.
  public init(
    id: Int, box: Box, roll: Float, keyPoints: KeyPoints, mesh: [SIMD3<Float>] = [], isSmiling: Bool = false,
    leftEyeClosed: Bool = false, rightEyeClosed: Bool = false, confidence: Float = 1
  ) {
    (self.id, self.box, self.roll, self.keyPoints, self.mesh) = (id, box, roll, keyPoints, mesh)
    (self.isSmiling, self.leftEyeClosed, self.rightEyeClosed) = (isSmiling, leftEyeClosed, rightEyeClosed)
    self.confidence = confidence
  }
}
