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

  /// Number of samples in the fragments of each folder's `out.mp4` whose synchronization returned.
  public func synchronizedSamples() throws -> [String: Int] {
    var replays: [String: DiskReplay] = [:]
    var counts: [String: Int] = [:]
    for call in try self.journal() {
      let name = String(call.path.dropFirst(self.root.utf8.count + 1).prefix { $0 != "/" })
      replays[name, default: DiskReplay()].perform(call)
      guard call.kind == .synchronize, call.error == 0, call.path.hasSuffix("/out.mp4"),
        let bytes = replays[name]?.cachedImage[call.path]
      else { continue }
      counts[name] = max(counts[name] ?? 0, RecordedSamples(bytes)?.count ?? 0)
    }
    return counts
  }
}
