package import Foundation

/// A program of the tests, which is built beside them.
package struct BuiltProgram: Sendable {
  /// It is not there.
  package struct Missing: Error, CustomStringConvertible {
    package let description: String
  }

  /// Where it is.
  package let url: URL

  /// Looks for it.
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

  /// Runs it to its end.
  ///
  /// - Parameter environment: Variables besides those of the tests.
  /// - Returns: The lines that it prints, less than 64 KB.
  package func lines(_ arguments: [String], environment: [String: String] = [:]) async throws -> [Substring] {
    let process = Process()
    process.executableURL = self.url
    process.arguments = arguments
    process.environment = ProcessInfo.processInfo.environment.merging(environment) { $1 }
    process.standardInput = FileHandle.nullDevice
    let output = Pipe()
    process.standardOutput = output
    // libavcodec talks there.
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

/// What SwitchProbe holds, as it says: `descriptors=9 threads=4 sources=2 mappings=0 resident=30000 allocated=7000`.
package struct Holdings {
  private let numbers: [Substring: Int]

  /// Reads a line of it.
  package init(_ line: Substring) {
    self.numbers = Dictionary(
      line.split(separator: " ").compactMap { word in
        let parts = word.split(separator: "=")
        return parts.count == 2 ? Int(parts[1]).map { (parts[0], $0) } : nil
      }, uniquingKeysWith: { $1 })
  }

  /// What there is more of than there was, or not told: nothing where nothing was left behind.
  ///
  /// Of memory what is allocated counts, give or take what is on its way at that moment: resident memory also has what
  /// malloc keeps for later, which is up to chance.
  package func growth(since earlier: Holdings) -> [String] {
    let limits: [(Substring, Int)] = [
      ("descriptors", 0), ("threads", 0), ("sources", 0), ("mappings", 0), ("allocated", 500),
    ]
    return limits.compactMap { name, most in
      guard let before = earlier.numbers[name], let after = self.numbers[name], before >= 0, after >= 0 else {
        return "\(name) are not told"
      }
      return after - before > most ? "\(name): \(before) before, \(after) now" : nil
    }
  }
}
