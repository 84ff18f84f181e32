/// Face models, as listed in `docs/models.md`.
public enum FaceModel: String, CaseIterable, Sendable {
  /// Detector for near faces.
  case shortRangeDetector = "face_detection_short_range"
  /// Detector for faces of any size.
  case fullRangeDetector = "face_detection_full_range"
  /// Detector for faces of any size, with half of the weights.
  case sparseFullRangeDetector = "face_detection_full_range_sparse"
  /// Mesh of 468 points.
  case mesh = "face_landmark"
  /// Mesh of 478 points, more precise at the eyes.
  case fineMesh = "face_landmarks_detector"

  /// File name of the model in the folder of ``FaceModels``, such as `face_landmark.tflite`.
  public var fileName: String { "\(self.rawValue).tflite" }

  /// Width and height of the input image, in pixels.
  public var inputSide: Int {
    switch self {
    case .shortRangeDetector: 128
    case .fullRangeDetector, .sparseFullRangeDetector, .mesh: 192
    case .fineMesh: 256
    }
  }
}
