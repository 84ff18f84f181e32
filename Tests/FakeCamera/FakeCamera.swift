import Foundation
import Synchronization

/// Simulated cameras for programs that tests start: the preloaded library in `Library`, and its environment variables.
public enum FakeCamera {
  /// The library could not be compiled.
  public struct Failure: Error, CustomStringConvertible {
    /// Output of the compiler.
    public let description: String
  }

  private static let built = Mutex<String?>(nil)

  /// The environment of a program that finds these cameras.
  ///
  /// - Parameter cameras: Options of each camera; see the comment in the library.
  public static func environment(_ cameras: [String]) throws -> [String: String] {
    var environment = ["LD_PRELOAD": try self.library()]
    for (index, options) in cameras.enumerated() { environment["FAKE_CAMERA_\(index)"] = options }
    return environment
  }

  /// The path of the library, compiled on first use.
  private static func library() throws -> String {
    try self.built.withLock { built in
      if let built { return built }
      let source = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
        .appendingPathComponent("Library/fake_camera.c")
      let target = FileManager.default.temporaryDirectory
        .appendingPathComponent("vidicon-fake-camera-\(UUID().uuidString).so")
      let compiler = Process()
      compiler.executableURL = URL(fileURLWithPath: "/usr/bin/env")
      compiler.arguments =
        ["cc", "-std=gnu17", "-Wall", "-Wextra", "-Werror", "-O2", "-shared", "-fPIC", "-o", target.path, source.path]
        + ["-ldl", "-lpthread"]
      let errors = Pipe()
      compiler.standardError = errors
      try compiler.run()
      let output = errors.fileHandleForReading.readDataToEndOfFile()
      compiler.waitUntilExit()
      guard compiler.terminationStatus == 0 else { throw Failure(description: String(decoding: output, as: UTF8.self)) }
      built = target.path
      return target.path
    }
  }
}
