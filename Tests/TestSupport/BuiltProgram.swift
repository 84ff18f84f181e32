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

  /// Result of a run.
  package struct Run: Sendable {
    /// Exit status; that of the signal plus 128 where one ended the program.
    package let status: Int32
    package let output: [UInt8]
    package let errors: [UInt8]
  }

  /// Runs the program to its end, or until it has run for fifteen minutes.
  ///
  /// - Parameter environment: Environment variables in addition to those of the tests.
  package func run(_ arguments: [String], environment: [String: String] = [:]) async throws -> Run {
    let folder = FileManager.default.temporaryDirectory.appending(path: "run-\(UUID().uuidString)")
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(at: folder) }
    // Files, since a pipe would need a thread that reads it.
    let (output, errors) = (folder.appending(path: "output"), folder.appending(path: "errors"))
    let process = Process()
    process.executableURL = self.url
    process.arguments = arguments
    process.environment = ProcessInfo.processInfo.environment.merging(environment) { $1 }
    process.standardInput = FileHandle.nullDevice
    for url in [output, errors] { try Data().write(to: url) }
    process.standardOutput = try FileHandle(forWritingTo: output)
    process.standardError = try FileHandle(forWritingTo: errors)
    let (ends, end) = AsyncStream.makeStream(of: Void.self)
    process.terminationHandler = { _ in end.finish() }
    try Process.startAlone { try process.run() }
    let limit = Duration.seconds(900)
    let guardian = Task {
      try await Task.sleep(for: limit)
      kill(process.processIdentifier, SIGKILL)
    }
    defer { guardian.cancel() }
    // Safe because the program is killed after the limit.
    for await _ in ends {}
    let isSignal = process.terminationReason == .uncaughtSignal
    return Run(
      status: process.terminationStatus + (isSignal ? 128 : 0), output: Array(try Data(contentsOf: output)),
      errors: Array(try Data(contentsOf: errors)))
  }

  /// Runs the program to its end, or until it has run for fifteen minutes.
  ///
  /// - Parameter environment: Environment variables in addition to those of the tests.
  /// - Returns: The lines of standard output.
  package func lines(_ arguments: [String], environment: [String: String] = [:]) async throws -> [Substring] {
    let run = try await self.run(arguments, environment: environment)
    return String(decoding: run.output, as: UTF8.self).split(separator: "\n")
  }
}

/// Resources in use as printed by SwitchProbe: `descriptors=9 threads=4 sources=2 mappings=0 resident=30000 allocated=7000`,
/// the last three in KB.
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
