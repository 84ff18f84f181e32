import Foundation
import Media

/// Text of a file of settings, or of a pipe such as `/dev/stdin`.
enum SettingsText {
  /// Maximum size in bytes.
  private static let maximumSize = 1 << 20

  /// Reads a file, UTF-8 without a byte order mark.
  ///
  /// - Parameter option: The option that names the file, for messages.
  static func read(_ path: String, option: String) throws(VidiconError) -> String {
    do {
      let file = try FileHandle(forReadingFrom: URL(filePath: path))
      defer { try? file.close() }  // It was only read.
      let data = try file.read(upToCount: Self.maximumSize + 1) ?? Data()
      if data.count <= Self.maximumSize, var text = String(validating: data, as: UTF8.self) {
        if text.hasPrefix("\u{FEFF}") { text.unicodeScalars.removeFirst() }
        return text
      }
    } catch {
      if access(path, F_OK) != 0 {
        throw VidiconError(
          .notFound, path: path, cause: "there is no such file", nextStep: "check the path of \(option)")
      }
      if access(path, R_OK) != 0, errno == EACCES {
        throw VidiconError(
          .notPermitted, path: path, cause: "this user may not read it",
          nextStep: "run it as root or as its owner, or make it this user's own")
      }
    }
    throw VidiconError(
      .notFound, path: path, cause: "it cannot be read as UTF-8 text of at most 1 MiB",
      nextStep: "check the path of \(option)")
  }
}
