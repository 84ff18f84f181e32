internal import Libc

/// Position, size and rotation of a face, or of a part of it.
struct FaceOutline {
  var center: SIMD2<Float>
  /// Vectors from the center to the right edge, and to the lower edge.
  var right: SIMD2<Float>
  var down: SIMD2<Float>
  /// Points that an image's anchors are mapped to.
  var anchors: (left: SIMD2<Float>, right: SIMD2<Float>)

  init(_ face: Face, _ part: FaceMask.Part) {
    let (across, below) = (SIMD2(cosf(face.roll), sinf(face.roll)), SIMD2(-sinf(face.roll), cosf(face.roll)))
    let points = face.keyPoints
    self.anchors = (points.rightEye, points.leftEye)
    // In coordinates along the rotated axes.
    func place(_ index: Int) -> SIMD2<Float> {
      let point = SIMD2(face.mesh[index].x, face.mesh[index].y)
      return SIMD2((point * across).sum(), (point * below).sum())
    }
    func reach(_ half: SIMD2<Float>, around center: SIMD2<Float>) {
      (self.center, self.right, self.down) = (center, across * half.x, below * half.y)
    }
    (self.center, self.right, self.down) = (face.box.center, across, below)
    let hasMesh = face.mesh.count >= FaceMesh.minimumPointCount
    let apart = points.leftEye - points.rightEye
    let distance = max(1, (apart * apart).sum().squareRoot())
    switch part {
    case .face:
      guard hasMesh else {
        // A detector's box ends above the eyebrows.
        let half = SIMD2(face.box.width, face.box.height * 1.25) / 2
        reach(half, around: face.box.center - below * (face.box.height * 0.1))
        break
      }
      var (low, high) = (place(0), place(0))
      for index in face.mesh.indices {
        (low, high) = (pointwiseMin(low, place(index)), pointwiseMax(high, place(index)))
      }
      let (middle, half) = ((low + high) / 2, (high - low) / 2)
      // The mesh ends below the hairline, and at the cheeks.
      let center = across * middle.x + below * (middle.y - 0.1 * half.y)
      reach(half * SIMD2(1.12, 1.22), around: center)
    case .eyes:
      reach(SIMD2(1.05, 0.45) * distance, around: (points.rightEye + points.leftEye) / 2)
    case .mouth:
      guard hasMesh else {
        reach(SIMD2(0.6, 0.4) * distance, around: points.mouth)
        self.anchors = (points.mouth - across * (0.4 * distance), points.mouth + across * (0.4 * distance))
        break
      }
      let (right, left, upper, lower) = (place(61), place(291), place(0), place(17))
      let low = pointwiseMin(pointwiseMin(right, left), pointwiseMin(upper, lower))
      let high = pointwiseMax(pointwiseMax(right, left), pointwiseMax(upper, lower))
      let (middle, half) = ((low + high) / 2, (high - low) / 2)
      reach(half * 1.3, around: across * middle.x + below * middle.y)
      let corners = (face.mesh[61], face.mesh[291])
      self.anchors = (SIMD2(corners.0.x, corners.0.y), SIMD2(corners.1.x, corners.1.y))
    }
  }

  /// The outline as a shape.
  ///
  /// - Parameter isSoft: Whether the edge fades out over a quarter of the size, instead of one pixel.
  func shape(_ kind: ShapePainter.Shape.Kind, isSoft: Bool = false) -> ShapePainter.Shape {
    let size = min((self.right * self.right).sum(), (self.down * self.down).sum()).squareRoot()
    return ShapePainter.Shape(
      kind: kind, center: self.center, right: self.right, down: self.down, feather: isSoft ? max(2, size / 4) : 2)
  }
}
