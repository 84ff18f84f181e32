import Foundation

/// Files that the system computes, such as those in `/proc`.
enum SystemFile {
  /// The whole text of a file; nil where it cannot be read.
  ///
  /// The size of such a file is 0, and `String(contentsOfFile:)` reads no more than 4 KiB of it.
  static func text(_ path: String) -> String? {
    guard let data = try? FileHandle(forReadingAtPath: path)?.readToEnd() else { return nil }
    return String(decoding: data, as: UTF8.self)
  }
}
