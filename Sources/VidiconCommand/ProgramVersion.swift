internal import CVersion

/// The version of the program, as `vidicon --version` shows it.
enum ProgramVersion {
  /// The number of the release, by semver.org; the file `VERSION` has the same.
  static let number = "0.1.0"

  /// The number, with the commit of a build from a Git checkout.
  static var text: String { Self.text(commit: String(cString: vidicon_commit())) }

  /// The number, with a commit.
  ///
  /// - Parameter commit: Twelve digits, with `+` behind them for changed files; empty where it is not known, as in an archive.
  static func text(commit: String) -> String {
    commit.isEmpty ? Self.number : "\(Self.number) (\(commit))"
  }
}
