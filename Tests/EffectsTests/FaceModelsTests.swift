import Foundation
import Media
import Testing

@testable import Effects
@testable import Inference

@Suite("Self-test of the face detectors")
struct FaceSelfTestTests {
  @Test(arguments: [FaceModel.shortRangeDetector, .fullRangeDetector])
  func `the models find the face, and models whose weights are zeros do not`(model: FaceModel) throws {
    try FaceSelfTest.check(model, plan: FaceModels().plan(for: model))
    // A plan of its own: its first layer sees nothing.
    let plan = try FaceModels().plan(for: model)
    UnsafeMutablePointer(mutating: plan.constants.floats).update(repeating: 0, count: 500)
    #expect(throws: VidiconError.self) { try FaceSelfTest.check(model, plan: plan) }
  }
}

@Suite("Face model files")
struct FaceModelsTests {
  /// Runs `body` with a temporary folder, which is removed afterwards.
  private static func withFolder(_ body: (URL) throws -> Void) throws {
    let folder = FileManager.default.temporaryDirectory.appending(path: "vidicon-models-\(UUID())")
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(at: folder) }
    try body(folder)
  }

  /// The installed file of a model.
  private static func installed(_ model: FaceModel) throws -> URL {
    try URL(filePath: FaceModels().folder(of: model)).appending(path: model.fileName)
  }

  @Test func `each model is where scripts/setup installs it, with the expected checksum`() throws {
    for model in FaceModel.allCases {
      let plan = try FaceModels().plan(for: model)
      #expect(plan.inputs.map(\.shape) == [[1, model.inputSide, model.inputSide, 3]])
    }
  }

  @Test func `models are looked for in the user's folder, then in those of packages, or in the given one alone`() {
    func folders(_ variables: [String: String]) -> [String] { FaceModels.folders { variables[$0] } }
    #expect(
      folders(["HOME": "/home/anna"]) == [
        "/home/anna/.local/share/vidicon/models", "/usr/local/share/vidicon/models", "/usr/share/vidicon/models",
      ])
    #expect(
      folders(["XDG_DATA_HOME": "/data", "XDG_DATA_DIRS": "/a:/b"]) == [
        "/data/vidicon/models", "/a/vidicon/models", "/b/vidicon/models",
      ])
    #expect(folders(["VIDICON_MODELS": "/models", "HOME": "/home/anna"]) == ["/models"])
  }

  @Test func `a folder that is empty, or has an old file of a model, does not hide the one behind it`() throws {
    try Self.withFolder { folder in
      let (own, package) = (folder.appending(path: "own"), folder.appending(path: "package"))
      for path in [own, package] {
        try FileManager.default.createDirectory(at: path, withIntermediateDirectories: true)
      }
      let models = FaceModels(folders: [own.path, package.path])
      func error() -> VidiconError? { #expect(throws: VidiconError.self) { try models.folder(of: .mesh) } }
      #expect(error()?.subject == "\(own.path)/face_landmark.tflite" && error()?.code == .notFound)
      // A file that cannot be used, wherever it is, is the reason.
      let file = package.appending(path: FaceModel.mesh.fileName)
      try Data("old".utf8).write(to: file)
      #expect(error()?.subject == file.path && error()?.code == .invalidData)
      try FileManager.default.removeItem(at: file)
      try FileManager.default.copyItem(at: Self.installed(.mesh), to: file)
      #expect(try models.folder(of: .mesh) == package.path)
      try Data("old".utf8).write(to: own.appending(path: FaceModel.mesh.fileName))
      #expect(try models.folder(of: .mesh) == package.path)
      #expect(try models.plan(for: .mesh).inputs.map(\.shape) == [[1, 192, 192, 3]])
      try FileManager.default.removeItem(at: own.appending(path: FaceModel.mesh.fileName))
      try FileManager.default.copyItem(at: file, to: own.appending(path: FaceModel.mesh.fileName))
      #expect(try models.folder(of: .mesh) == own.path)
    }
  }

  @Test func `a missing, damaged or different model is reported in one line with a next step`() throws {
    try Self.withFolder { folder in
      let models = FaceModels(folder: folder.path)
      let file = folder.appending(path: "face_landmark.tflite")
      func error() -> VidiconError? {
        do {
          _ = try models.plan(for: .mesh)
          return nil
        } catch { return error }
      }
      #expect(error()?.code == .notFound)
      #expect(
        error()?.description
          == "\(file.path): the model does not exist; run scripts/setup, or install the package of vidicon again; "
          + "VIDICON_MODELS names another folder"
      )
      try Data().write(to: file)
      #expect(error()?.code == .invalidData)
      try Data(repeating: 0, count: 16 << 20).write(to: file)
      #expect(error()?.code == .failed)
      let other = try Self.installed(.fullRangeDetector)
      try Data(contentsOf: other).write(to: file)
      #expect(error()?.cause == "not the model that its name says")
      // One bit of a weight.
      let own = try Self.installed(.mesh)
      var bytes = try Data(contentsOf: own)
      bytes[bytes.count / 2] ^= 1
      try bytes.write(to: file)
      #expect(error()?.code == .invalidData && error()?.cause.hasPrefix("damaged, or another version") == true)
      try FileManager.default.removeItem(at: file)
      try FileManager.default.createDirectory(at: file, withIntermediateDirectories: true)
      #expect(error()?.code == .failed)
    }
  }
}
