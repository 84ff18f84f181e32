import Foundation
import Synchronization

/// A folder on whose files system calls fail, for programs that tests start: the preloaded library in `Library`.
public struct FaultyDisk: Sendable {
  /// The library could not be compiled.
  public struct Failure: Error, CustomStringConvertible {
    /// Output of the compiler.
    public let description: String
  }

  /// The folder. The names of the folders in it select faults; see the comment in the library.
  public let root: String
  /// File with the journal; nil without one.
  public let journalPath: String?

  /// - Parameters:
  ///   - root: An existing folder, without symbolic links in its path.
  ///   - journalPath: File to which every call is appended.
  public init(root: String, journalPath: String? = nil) {
    (self.root, self.journalPath) = (root, journalPath)
  }

  /// Environment variables of a program that uses the disk.
  public func environment() throws -> [String: String] {
    var environment = ["LD_PRELOAD": try Self.library(), "FAULT_ROOT": self.root]
    environment["FAULT_JOURNAL"] = self.journalPath
    return environment
  }

  /// The calls so far; empty without a journal.
  public func journal() throws -> [DiskCall] {
    guard let journalPath, FileManager.default.fileExists(atPath: journalPath) else { return [] }
    return try DiskCall.parse([UInt8](Data(contentsOf: URL(fileURLWithPath: journalPath))))
  }

  private static let built = Mutex<String?>(nil)

  /// The path of the library, compiled on first use.
  private static func library() throws -> String {
    try self.built.withLock { built in
      if let built { return built }
      let source = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
        .appendingPathComponent("Library/fault_disk.c")
      let target = FileManager.default.temporaryDirectory
        .appendingPathComponent("vidicon-fault-disk-\(UUID().uuidString).so")
      let compiler = Process()
      compiler.executableURL = URL(fileURLWithPath: "/usr/bin/env")
      compiler.arguments =
        ["cc", "-std=gnu17", "-Wall", "-Wextra", "-Werror", "-O2", "-shared", "-fPIC", "-o", target.path, source.path]
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
