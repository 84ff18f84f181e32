import ALSATestDevice
import Foundation

/// A sound device of tests, see Tests/ALSATestDevice: what it is opened as, and the folder whose files make it fail.
struct TestedDevice: ~Copyable {
  let folder: URL

  init() throws {
    vidicon_alsa_test_device()
    self.folder = FileManager.default.temporaryDirectory.appendingPathComponent("vidicon-mic-\(UUID().uuidString)")
    try FileManager.default.createDirectory(at: self.folder, withIntermediateDirectories: true)
  }

  deinit {
    try? FileManager.default.removeItem(at: self.folder)  // What is left over in the temporary folder harms nobody.
  }

  /// - Parameter options: `,PPM=1000` and the like.
  func name(_ options: String = "") -> String {
    "tested:DIR=\(self.folder.path)\(options)"
  }

  /// Lets the device fail in a way.
  func set(_ failure: String) throws {
    try Data().write(to: self.folder.appendingPathComponent(failure))
  }

  /// Takes a failure away.
  func clear(_ failure: String) throws {
    try FileManager.default.removeItem(at: self.folder.appendingPathComponent(failure))
  }

  /// Whether a failure is still to come.
  func isSet(_ failure: String) -> Bool {
    FileManager.default.fileExists(atPath: self.folder.appendingPathComponent(failure).path)
  }
}
