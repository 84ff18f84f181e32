import Foundation
import TestSupport

/// A folder on whose files system calls fail, for programs that tests start: the preloaded library in `Library`.
public struct FaultyDisk: Sendable {
  private static let library = PreloadedLibrary(
    URL(fileURLWithPath: #filePath).deletingLastPathComponent().appendingPathComponent("Library/fault_disk.c"))

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
    var environment = ["LD_PRELOAD": try Self.library.path(), "FAULT_ROOT": self.root]
    environment["FAULT_JOURNAL"] = self.journalPath
    return environment
  }

  /// The calls so far; empty without a journal.
  public func journal() throws -> [DiskCall] {
    guard let journalPath, FileManager.default.fileExists(atPath: journalPath) else { return [] }
    return try DiskCall.parse([UInt8](Data(contentsOf: URL(fileURLWithPath: journalPath))))
  }
}
