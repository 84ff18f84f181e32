/// The models that find faces, as `docs/models.md` lists them.
public enum FaceModel: String, CaseIterable, Sendable {
  /// Finds near faces.
  case shortRangeDetector = "face_detection_short_range"
  /// Finds faces of any size.
  case fullRangeDetector = "face_detection_full_range"
  /// Finds faces of any size, with half of the weights.
  case sparseFullRangeDetector = "face_detection_full_range_sparse"
  /// 468 points of a face's surface.
  case mesh = "face_landmark"
  /// 478 points of a face's surface, better at the eyes.
  case fineMesh = "face_landmarks_detector"

  /// The name of its file.
  public var fileName: String { "\(self.rawValue).tflite" }

  /// The width and height of the frame that it sees.
  public var inputSide: Int {
    switch self {
    case .shortRangeDetector: 128
    case .fullRangeDetector, .sparseFullRangeDetector, .mesh: 192
    case .fineMesh: 256
    }
  }
}
