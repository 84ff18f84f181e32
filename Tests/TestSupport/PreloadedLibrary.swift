package import Foundation
internal import Synchronization

/// A library in C that programs load before their own ones, compiled on first use.
package final class PreloadedLibrary: Sendable {
  /// The library could not be compiled.
  package struct Failure: Error, CustomStringConvertible {
    /// Output of the compiler.
    package let description: String
  }

  private let source: URL
  private let options: [String]
  private let built = Mutex<String?>(nil)

  /// - Parameters:
  ///   - source: Its only source file.
  ///   - options: Further options of the compiler, such as libraries.
  package init(_ source: URL, options: [String] = []) {
    (self.source, self.options) = (source, options)
  }

  /// The path of the compiled library, for the environment variable LD_PRELOAD.
  ///
  /// - Throws: ``Failure``.
  package func path() throws -> String {
    try self.built.withLock { built in
      if let built { return built }
      let name = self.source.deletingPathExtension().lastPathComponent
      let target = FileManager.default.temporaryDirectory
        .appendingPathComponent("vidicon-\(name)-\(UUID().uuidString).so")
      let compiler = Process()
      compiler.executableURL = URL(fileURLWithPath: "/usr/bin/env")
      compiler.arguments =
        ["cc", "-std=gnu17", "-Wall", "-Wextra", "-Werror", "-O2", "-shared", "-fPIC"]
        + ["-o", target.path, self.source.path] + self.options
      let errors = try Process.startAlone {
        let errors = Pipe()
        compiler.standardError = errors
        try compiler.run()
        return errors
      }
      let output = compiler.finish(reading: errors)
      guard compiler.terminationStatus == 0 else { throw Failure(description: String(decoding: output, as: UTF8.self)) }
      built = target.path
      return target.path
    }
  }
}
