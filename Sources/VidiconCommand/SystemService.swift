import Foundation
import Media

/// The unit of the program, which systemd runs.
struct SystemService {
  /// Name of the unit.
  static let unit = "vidicon.service"
  /// Folder that exists while systemd runs the system, sd_booted(3).
  static let systemFolder = "/run/systemd/system"

  /// Whether systemd runs this machine, and not only has its files there, as in a container.
  var isRunning = access(Self.systemFolder, F_OK) == 0
  /// Runs systemctl with arguments; returns its status, nil where there is none.
  var systemctl: ([String]) -> Int32? = Self.runSystemctl

  /// Enables the unit, and starts it with the current configuration.
  ///
  /// - Returns: A sentence about what was done.
  func enable() throws(VidiconError) -> String {
    try self.run(["enable", "--quiet", Self.unit], "enabled", "install the package, whose unit it is")
    guard self.isRunning else { return "The service starts when the machine does." }
    // A unit that runs already reads the new file.
    try self.run(["restart", Self.unit], "started", "see journalctl -u vidicon")
    return "The service runs; journalctl -u vidicon shows its addresses."
  }

  private func run(_ arguments: [String], _ verb: String, _ nextStep: String) throws(VidiconError) {
    guard let status = self.systemctl(arguments) else {
      throw VidiconError(
        .notFound, subject: Self.unit, cause: "there is no systemctl",
        nextStep: "start vidicon serve --config by other means: the configuration is written")
    }
    guard status == 0 else {
      throw VidiconError(
        .failed, subject: Self.unit, cause: "it cannot be \(verb)",
        nextStep: "\(nextStep); the configuration is written; after mending it: systemctl enable --now vidicon")
    }
  }

  private static func runSystemctl(_ arguments: [String]) -> Int32? {
    let program = Process()
    program.executableURL = URL(filePath: "/usr/bin/env")
    program.arguments = ["systemctl"] + arguments
    do {
      try program.run()
    } catch {
      return nil
    }
    program.waitUntilExit()
    // Of env, where it finds no such program.
    return program.terminationStatus == 127 ? nil : program.terminationStatus
  }
}
