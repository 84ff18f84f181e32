package import Foundation

/// A helper program of the tests, built into the same folder.
package struct BuiltProgram: Sendable {
  /// The program was not built.
  package struct Missing: Error, CustomStringConvertible {
    package let description: String
  }

  /// Location of the executable.
  package let url: URL

  /// Finds a program by name.
  package init(_ name: String) throws {
    var folder = URL(filePath: ProcessInfo.processInfo.arguments[0]).deletingLastPathComponent()
    if let bundle = Bundle.allBundles.first(where: { $0.bundlePath.hasSuffix(".xctest") }) {
      folder = bundle.bundleURL.deletingLastPathComponent()
    }
    self.url = folder.appending(path: name)
    guard FileManager.default.isExecutableFile(atPath: self.url.path) else {
      throw Missing(description: "the program \(name) is not beside the tests")
    }
  }

  /// Runs the program to its end.
  ///
  /// - Parameter environment: Environment variables in addition to those of the tests.
  /// - Returns: The lines of standard output, which must not exceed the pipe's 64 KiB.
  package func lines(_ arguments: [String], environment: [String: String] = [:]) async throws -> [Substring] {
    let process = Process()
    process.executableURL = self.url
    process.arguments = arguments
    process.environment = ProcessInfo.processInfo.environment.merging(environment) { $1 }
    process.standardInput = FileHandle.nullDevice
    let output = Pipe()
    process.standardOutput = output
    // libavcodec logs there.
    process.standardError = FileHandle.nullDevice
    return try await withCheckedThrowingContinuation { continuation in
      process.terminationHandler = { _ in
        let text = String(decoding: output.fileHandleForReading.availableData, as: UTF8.self)
        continuation.resume(returning: text.split(separator: "\n"))
      }
      do { try process.run() } catch { continuation.resume(throwing: error) }
    }
  }
}

/// Resources in use as printed by SwitchProbe: `descriptors=9 threads=4 sources=2 mappings=0 resident=30000 allocated=7000`.
package struct ResourceUsage {
  private let numbers: [Substring: Int]

  /// Parses a line of output.
  package init(_ line: Substring) {
    self.numbers = Dictionary(
      line.split(separator: " ").compactMap { word in
        let parts = word.split(separator: "=")
        return parts.count == 2 ? Int(parts[1]).map { (parts[0], $0) } : nil
      }, uniquingKeysWith: { $1 })
  }

  /// Descriptions of the resources that have grown or are missing from the output; empty when nothing has leaked.
  ///
  /// For memory the allocated amount counts, with a tolerance for allocations in flight; resident memory also includes
  /// what malloc caches.
  package func growth(since earlier: ResourceUsage) -> [String] {
    let limits: [(Substring, Int)] = [
      ("descriptors", 0), ("threads", 0), ("sources", 0), ("mappings", 0), ("allocated", 500),
    ]
    return limits.compactMap { name, tolerance in
      guard let before = earlier.numbers[name], let after = self.numbers[name], before >= 0, after >= 0 else {
        return "\(name) is missing"
      }
      return after - before > tolerance ? "\(name): \(before) before, \(after) now" : nil
    }
  }
}
