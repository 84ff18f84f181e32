import Foundation
import Libc

/// Folder of the service of the package, below which the relative paths of its configuration are: `WorkingDirectory=` and
/// `StateDirectory=` of `vidicon.service`.
enum ServiceFolder {
  /// Folder of the states of all services, `%S`.
  private static let states = "/var/lib"
  static let path = "\(states)/vidicon"

  /// Whether a file is the configuration of the service, also by a link.
  ///
  /// - Parameter service: Path of the file that the unit reads.
  static func isOf(configuration path: String, service: String = SetupCommand.path) -> Bool {
    func target(_ path: String) -> String { URL(filePath: path).resolvingSymlinksInPath().path }
    return target(path) == target(service)
  }

  /// Makes relative paths and the state of this process those of the service, for a command that reads the service's configuration in its
  /// place.
  ///
  /// - Returns: The path of the configuration from there; the same one for another file.
  static func enter(configuration path: String?) -> String? {
    guard let path, self.isOf(configuration: path) else { return path }
    // The folder is made at the first start of the service; before, nothing is in it.
    if chdir(self.path) != 0 { _ = chdir("/") }
    setenv("XDG_STATE_HOME", self.states, 1)
    return SetupCommand.path
  }

  /// A path as the service resolves it.
  static func resolved(_ path: String, in folder: String = Self.path) -> String {
    path.hasPrefix("/") ? path : path == "." ? folder : "\(folder)/\(path)"
  }
}
