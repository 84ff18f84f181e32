import Foundation
import Synchronization

/// Cameras for programs that tests start: the library in `Library`, and the variables that it reads.
public enum FakeCamera {
  /// The compiler could not make the library.
  public struct Failure: Error, CustomStringConvertible {
    /// What it said.
    public let description: String
  }

  private static let built = Mutex<String?>(nil)

  /// The environment of a program that shall find these cameras.
  ///
  /// - Parameter cameras: The options of each, as the library lists them.
  public static func environment(_ cameras: [String]) throws -> [String: String] {
    var environment = ["LD_PRELOAD": try self.library()]
    for (index, options) in cameras.enumerated() { environment["FAKE_CAMERA_\(index)"] = options }
    return environment
  }

  /// The path of the library, made when it is first asked for.
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
      let said = errors.fileHandleForReading.readDataToEndOfFile()
      compiler.waitUntilExit()
      guard compiler.terminationStatus == 0 else { throw Failure(description: String(decoding: said, as: UTF8.self)) }
      built = target.path
      return target.path
    }
  }
}
