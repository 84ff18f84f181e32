import Foundation

/// The files of this repository.
enum Repository {
  /// Its top folder, three above this file.
  static let top = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
    .deletingLastPathComponent()

  /// The Swift files below some folders, hidden folders left out.
  static func swiftFiles(in folders: String...) throws -> [SwiftText] {
    try folders.flatMap { folder in
      let enumerator = FileManager.default.enumerator(
        at: Self.top.appending(path: folder), includingPropertiesForKeys: nil, options: .skipsHiddenFiles)
      return try (enumerator?.compactMap { $0 as? URL } ?? []).filter { $0.pathExtension == "swift" }.map { url in
        SwiftText(
          path: String(url.path.dropFirst(Self.top.path.count)), text: try String(contentsOf: url, encoding: .utf8))
      }
    }
  }

  /// The names of the folders in Sources that hold Swift.
  static func rooms() throws -> [String] {
    try FileManager.default.contentsOfDirectory(atPath: Self.top.appending(path: "Sources").path).filter {
      try !Self.swiftFiles(in: "Sources/\($0)").isEmpty
    }
  }

  /// Whether this is a checkout, rather than an archive's content.
  static var isCheckout: Bool {
    FileManager.default.fileExists(atPath: Self.top.appending(path: ".git").path)
  }

  /// The paths that are committed, or about to be.
  static func trackedPaths() throws -> [String] {
    let git = Process()
    let output = Pipe()
    git.executableURL = URL(filePath: "/usr/bin/env")
    git.arguments = ["git", "-c", "safe.directory=*", "-C", Self.top.path, "ls-files", "-z"]
    git.standardOutput = output
    try git.run()
    let bytes = output.fileHandleForReading.readDataToEndOfFile()
    git.waitUntilExit()
    struct GitFailed: Error {}
    guard git.terminationStatus == 0 else { throw GitFailed() }
    return bytes.split(separator: 0).map { String(decoding: $0, as: UTF8.self) }
  }

  /// What is made by tools and does not belong into the repository.
  static func isMadeByTools(_ path: String) -> Bool {
    path.split(separator: "/").contains { $0.hasPrefix(".build") || $0 == "Package.resolved" || $0.hasSuffix(".o") }
  }
}
