import Foundation
import TestSupport

/// Simulated cameras for programs that tests start: the preloaded library in `Library`, and its environment variables.
public enum FakeCamera {
  private static let library = PreloadedLibrary(
    URL(fileURLWithPath: #filePath).deletingLastPathComponent().appendingPathComponent("Library/fake_camera.c"),
    options: ["-ldl", "-lpthread"])

  /// The environment of a program that finds these cameras.
  ///
  /// - Parameter cameras: Options of each camera; see the comment in the library.
  public static func environment(_ cameras: [String]) throws -> [String: String] {
    var environment = ["LD_PRELOAD": try self.library.path()]
    for (index, options) in cameras.enumerated() { environment["FAKE_CAMERA_\(index)"] = options }
    return environment
  }
}
