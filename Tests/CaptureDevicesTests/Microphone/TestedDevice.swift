import ALSATestDevice
import Foundation

/// A simulated audio device, see Tests/ALSATestDevice: its PCM name, and the folder whose files make it fail.
struct TestedDevice: ~Copyable {
  let folder: URL

  init() throws {
    vidicon_alsa_test_device()
    self.folder = FileManager.default.temporaryDirectory.appendingPathComponent("vidicon-mic-\(UUID().uuidString)")
    try FileManager.default.createDirectory(at: self.folder, withIntermediateDirectories: true)
  }

  deinit {
    try? FileManager.default.removeItem(at: self.folder)  // Left to the cleanup of temporary files.
  }

  /// - Parameter options: Arguments of the PCM, such as `,PPM=1000`.
  func name(_ options: String = "") -> String {
    "tested:DIR=\(self.folder.path)\(options)"
  }

  /// Makes the device fail: "gone", "busy", "forbidden", "stalled", "hung" or "overrun".
  func set(_ failure: String) throws {
    try Data().write(to: self.folder.appendingPathComponent(failure))
  }

  /// Ends a failure.
  func clear(_ failure: String) throws {
    try FileManager.default.removeItem(at: self.folder.appendingPathComponent(failure))
  }

  /// Whether a failure is set and, for "overrun", has not happened yet.
  func isSet(_ failure: String) -> Bool {
    FileManager.default.fileExists(atPath: self.folder.appendingPathComponent(failure).path)
  }
}
