import Foundation
import Synchronization

/// The files of this repository.
enum Repository {
  /// Root folder, three levels above this file.
  static let top = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
    .deletingLastPathComponent()

  /// The Swift files below some folders, without hidden ones.
  static func swiftFiles(in folders: String...) throws -> [SwiftText] {
    try self.files(in: folders, endings: ["swift"])
  }

  /// The files in Swift, C, Python and JavaScript below some folders, without hidden ones.
  static func codeFiles(in folders: String...) throws -> [SwiftText] {
    try self.files(in: folders, endings: ["swift", "c", "h", "inc", "py", "js", "mjs"])
  }

  private static func files(in folders: [String], endings: Set<String>) throws -> [SwiftText] {
    try folders.flatMap { folder in
      let top = Self.top.appending(path: folder)
      let enumerator = FileManager.default.enumerator(
        at: top, includingPropertiesForKeys: nil, options: .skipsHiddenFiles)
      let files = [top] + (enumerator?.compactMap { $0 as? URL } ?? [])
      return try files.filter { endings.contains($0.pathExtension) }.map(self.text)
    }
  }

  /// The files that were read, by their paths: most rules read the same ones.
  private static let texts = Mutex<[String: SwiftText]>([:])
  private static let commentTexts = Mutex<[String: CommentText]>([:])

  private static func text(of url: URL) throws -> SwiftText {
    let path = String(url.path.dropFirst(Self.top.path.count))
    if let text = Self.texts.withLock({ $0[path] }) { return text }
    let text = SwiftText(path: path, text: try String(contentsOf: url, encoding: .utf8))
    Self.texts.withLock { $0[path] = text }
    return text
  }

  /// All lines of the Swift files of the tests, without the spaces around them.
  static func textOfTests() throws -> String { try self.tests.get() }

  private static let tests = Result {
    try Self.swiftFiles(in: "Tests").flatMap { $0.lines.map(\.text) }.joined(separator: "\n")
  }

  /// Comments of all files in C, JavaScript, Python, shell and CSS, of configuration files and Swift files, and the text of Markdown,
  /// below some folders or in some files. Fuzz inputs and hidden folders below them are left out.
  static func comments(in folders: String...) throws -> [CommentText] {
    let endings: Set<String> = [
      "swift", "c", "h", "inc", "js", "mjs", "py", "sh", "bash", "css", "conf", "service", "toml", "yml", "modulemap",
      "md", "",
    ]
    return try folders.flatMap { folder in
      let top = Self.top.appending(path: folder)
      let enumerator = FileManager.default.enumerator(
        at: top, includingPropertiesForKeys: [.isRegularFileKey], options: .skipsHiddenFiles)
      return try ([top] + (enumerator?.compactMap { $0 as? URL } ?? [])).compactMap { url -> CommentText? in
        let path = String(url.path.dropFirst(Self.top.path.count))
        guard endings.contains(url.pathExtension), !path.has("/Seeds/"), !path.has("/FailCases/") else { return nil }
        if let known = Self.commentTexts.withLock({ $0[path] }) { return known }
        guard try url.resourceValues(forKeys: [.isRegularFileKey]).isRegularFile == true,
          let text = String(data: try Data(contentsOf: url), encoding: .utf8)
        else { return nil }
        let comments = CommentText(path: path, text: text)
        Self.commentTexts.withLock { $0[path] = comments }
        return comments
      }
    }
  }

  /// Names of the folders in Sources with Swift files.
  static func rooms() throws -> [String] {
    try FileManager.default.contentsOfDirectory(atPath: Self.top.appending(path: "Sources").path).filter {
      try !Self.swiftFiles(in: "Sources/\($0)").isEmpty
    }
  }

  /// Whether this is a git checkout instead of an unpacked archive.
  static var isCheckout: Bool {
    FileManager.default.fileExists(atPath: Self.top.appending(path: ".git").path)
  }

  /// Paths of all tracked files.
  static func trackedPaths() throws -> [String] {
    let git = try self.run(["git", "-c", "safe.directory=*", "ls-files", "-z"])
    struct GitFailed: Error {}
    guard git.status == 0 else { throw GitFailed() }
    return git.output.split(separator: "\0").map(String.init)
  }

  /// Runs a program, found in PATH, in the root folder; for five minutes at most; returns its exit status, output
  /// and errors.
  static func run(_ command: [String]) throws -> (status: Int32, output: String, errors: String) {
    let program = Process()
    let (output, errors) = (Pipe(), Pipe())
    program.executableURL = URL(filePath: "/usr/bin/env")
    program.arguments = ["timeout", "--kill-after=10", "300"] + command
    program.currentDirectoryURL = Self.top
    program.standardOutput = output
    program.standardError = errors
    try program.run()
    // Safe because `timeout` ends the program, and errors are a few lines, which fit into the pipe.
    let texts = [output, errors].map { String(decoding: $0.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self) }
    program.waitUntilExit()
    return (program.terminationStatus, texts[0], texts[1])
  }

  /// Whether a path is that of a generated file, which is not committed.
  static func isMadeByTools(_ path: String) -> Bool {
    path.split(separator: "/").contains { $0.hasPrefix(".build") || $0 == "Package.resolved" || $0.hasSuffix(".o") }
  }
}
