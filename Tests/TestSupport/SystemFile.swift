internal import Foundation

extension String {
  /// The whole text of a file that the system computes, as those in `/proc`.
  ///
  /// They have a size of 0, and `String(contentsOfFile:)` reads no more than 4 KiB of such a file.
  package init(systemFile path: String) throws {
    guard let file = FileHandle(forReadingAtPath: path) else { throw CocoaError(.fileReadNoSuchFile) }
    self = String(decoding: try file.readToEnd() ?? Data(), as: UTF8.self)
  }
}
