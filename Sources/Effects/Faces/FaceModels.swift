internal import Cryptography
package import Inference
internal import Libc
package import Media

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

/// Folders of the face models, from which detectors and masks load them.
public struct FaceModels: Hashable, Sendable {
  /// Paths in the order in which a model is looked for; never empty.
  private let folders: [String]

  /// Uses the models of `VIDICON_MODELS`; else for each model the first usable file of `vidicon/models` in `XDG_DATA_HOME`, by default
  /// `~/.local/share`, where `scripts/setup` installs them, and in `XDG_DATA_DIRS`, by default `/usr/local/share` and `/usr/share`, where
  /// a package has them. Reads no file yet.
  public init() {
    self.init(folders: Self.folders(environment: Self.environment))
  }

  /// Uses the models in a folder, whose files are named ``FaceModel/fileName``; reads no file yet.
  public init(folder: String) {
    self.init(folders: [folder])
  }

  /// Uses for each model the first usable file of several folders.
  init(folders: [String]) {
    self.folders = folders
  }

  /// The folders where models may be, in the order in which they are looked for; never empty.
  ///
  /// - Parameter environment: The value of a variable; nil for none, or an empty one.
  static func folders(environment: (String) -> String?) -> [String] {
    if let folder = environment("VIDICON_MODELS") { return [folder] }
    let home = environment("XDG_DATA_HOME") ?? "\(environment("HOME") ?? "")/.local/share"
    let shared = (environment("XDG_DATA_DIRS") ?? "/usr/local/share:/usr/share").split(separator: ":").map(String.init)
    return ([home] + shared).map { "\($0)/vidicon/models" }
  }

  /// Reads a model file and plans its execution.
  ///
  /// - Throws: ``VidiconError`` when the file is missing, unreadable, or not this model, in each folder.
  package func plan(for model: FaceModel) throws(VidiconError) -> InferencePlan { try self.find(model).plan }

  /// The folder that has a usable file of a model. Reads the file.
  ///
  /// - Throws: ``VidiconError`` when no folder has one.
  package func folder(of model: FaceModel) throws(VidiconError) -> String { try self.find(model).folder }

  private func find(_ model: FaceModel) throws(VidiconError) -> (folder: String, plan: InferencePlan) {
    var failure = Self.error(.notFound, "\(self.folders[0])/\(model.fileName)", "the model does not exist")
    for folder in self.folders {
      do throws(VidiconError) {
        return (folder, try Self.plan(for: model, at: "\(folder)/\(model.fileName)"))
      } catch {
        // A file that cannot be used says more than one that is missing.
        if failure.code == .notFound, error.code != .notFound { failure = error }
      }
    }
    throw failure
  }

  private static func plan(for model: FaceModel, at path: String) throws(VidiconError) -> InferencePlan {
    let bytes = try Self.read(path)
    let plan: InferencePlan
    do throws(ParsingError) {
      plan = try InferencePlan(TFLiteModel(parsing: bytes))
    } catch {
      throw Self.error(.invalidData, path, "not a model that this program can run (\(error))")
    }
    guard plan.inputs.map(\.shape) == [[1, model.inputSide, model.inputSide, 3]],
      Array(plan.outputs.map(\.count).prefix(2)) == model.outputCounts
    else { throw Self.error(.invalidData, path, "not the model that its name says") }
    // Weights that were changed or zeroed have the right shape.
    let sum = Hexadecimal.encode(HashAlgorithm.sha256.digest(of: bytes))
    guard sum == model.checksum else {
      throw Self.error(
        .invalidData, path, "damaged, or another version of the model (its SHA-256 is \(sum.prefix(12))…)")
    }
    return plan
  }

  private static func environment(_ name: String) -> String? {
    guard let value = getenv(name) else { return nil }
    let text = String(cString: value)
    return text.isEmpty ? nil : text
  }

  /// Maximum file size in bytes: several times the largest model.
  private static let maximumSize = 16 << 20

  private static func read(_ path: String) throws(VidiconError) -> [UInt8] {
    guard let file = fopen(path, "rb") else {
      let number = errno
      guard number != ENOENT else { throw Self.error(.notFound, path, "the model does not exist") }
      throw Self.error(
        number == EACCES ? .notPermitted : .failed, path, "cannot be opened: \(String(cString: strerror(number)))")
    }
    defer { fclose(file) }
    var bytes = [UInt8](repeating: 0, count: Self.maximumSize)
    let count = fread(&bytes, 1, bytes.count, file)
    guard ferror(file) == 0, count < bytes.count else {
      throw Self.error(.failed, path, "cannot be read as a file of a model's size")
    }
    bytes.removeLast(bytes.count - count)
    return bytes
  }

  private static func error(_ code: VidiconError.Code, _ path: String, _ cause: String) -> VidiconError {
    VidiconError(
      code, subject: path, cause: cause,
      nextStep: "run scripts/setup, or install the package of vidicon again; VIDICON_MODELS names another folder")
  }
}

extension FaceModel {
  /// SHA-256 of the file that `scripts/setup` installs.
  fileprivate var checksum: String {
    switch self {
    case .shortRangeDetector: "bbff11cebd1eb27a1e004cae0b0e63ec8c551cbf34a4451148b4908b8db3eca8"
    case .fullRangeDetector: "99bf9494d84f50acc6617d89873f71bf6635a841ea699c17cb3377f9507cfec3"
    case .sparseFullRangeDetector: "2c3728e6da56f21e21a320433396fb06d40d9088f2247c05e5635a688d45dfe1"
    case .mesh: "1055cb9d4a9ca8b8c688902a3a5194311138ba256bcc94e336d8373a5f30c814"
    case .fineMesh: "c7d54204ce0448474c7f3fa9af494787c0965cbdd6f20fc72867e43046bd43d5"
    }
  }

  /// Element counts of the first two outputs.
  fileprivate var outputCounts: [Int] {
    switch self {
    case .shortRangeDetector: [896 * 16, 896]
    case .fullRangeDetector, .sparseFullRangeDetector: [2304 * 16, 2304]
    case .mesh: [468 * 3, 1]
    case .fineMesh: [478 * 3, 1]
    }
  }
}
