import Foundation
import Testing

@Suite("A hundred switches")
struct SwitchLeakTests {
  struct Missing: Error, CustomStringConvertible {
    let description = "the program SwitchProbe is not beside the tests"
  }

  /// Where the built program is: beside the tests.
  private static func program() throws -> URL {
    var folder = URL(filePath: ProcessInfo.processInfo.arguments[0]).deletingLastPathComponent()
    if let bundle = Bundle.allBundles.first(where: { $0.bundlePath.hasSuffix(".xctest") }) {
      folder = bundle.bundleURL.deletingLastPathComponent()
    }
    let program = folder.appending(path: "SwitchProbe")
    guard FileManager.default.isExecutableFile(atPath: program.path) else { throw Missing() }
    return program
  }

  /// Runs the probe; returns the lines that it says.
  private static func run(switches: Int) async throws -> [Substring] {
    let process = Process()
    process.executableURL = try self.program()
    process.arguments = ["\(switches)"]
    process.standardInput = FileHandle.nullDevice
    let output = Pipe()
    process.standardOutput = output
    // libavcodec talks there.
    process.standardError = FileHandle.nullDevice
    return try await withCheckedThrowingContinuation { continuation in
      process.terminationHandler = { _ in
        // It says less than fits into a pipe.
        let text = String(decoding: output.fileHandleForReading.availableData, as: UTF8.self)
        continuation.resume(returning: text.split(separator: "\n"))
      }
      do { try process.run() } catch { continuation.resume(throwing: error) }
    }
  }

  /// The numbers of a line `a=1 b=2`.
  private static func numbers(_ line: Substring) -> [Substring: Int] {
    Dictionary(
      line.split(separator: " ").compactMap { word in
        let parts = word.split(separator: "=")
        return parts.count == 2 ? Int(parts[1]).map { (parts[0], $0) } : nil
      }, uniquingKeysWith: { $1 })
  }

  @Test(.timeLimit(.minutes(3))) func `leave no descriptor, thread, source or memory behind`() async throws {
    let lines = try await Self.run(switches: 100)
    try #require(lines.count == 4, "\(lines)")
    let (before, after) = (Self.numbers(lines[0]), Self.numbers(lines[1]))
    for what in ["descriptors", "threads", "sources"] as [Substring] {
      let count = try #require(after[what])
      #expect(try count <= #require(before[what]), "\(what): \(lines)")
    }
    #expect(after["sources"] == 2)
    // A picture of 320 by 180 has 86 KB, so that one left behind at each switch would be 8 MB.
    let growth = try #require(after["kilobytes"]) - #require(before["kilobytes"])
    #expect(growth < 4_000, "\(lines)")
    // Every third of a hundred, of pictures and of sound.
    #expect(lines[2] == "failures=66 encoders=2 rises=true")
    #expect(lines[3] == "ended with 0 sources")
  }
}
