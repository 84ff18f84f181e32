import ArgumentParser
import ControlAPI
import Foundation

/// `vidicon reload`: has a server that runs on this machine read its configuration again.
struct ReloadCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "reload",
    abstract: "Have a running server read its configuration file again, and apply what has changed.",
    discussion: """
      Streams that are the same in the file go on without a gap, and a file that is wrong changes nothing. Prints a line for each \
      change; exit status 1 where one was not made, as of a port, which is opened at the start.
      """)

  /// Maximum time that the server needs, in seconds: it starts its streams one after the other, each in half a minute at most.
  private static let timeout = 600

  @OptionGroup var server: RunningServer.Options

  func run() throws {
    let server = try RunningServer.find(self.server)
    let body = try server.request("POST", "/api/reload", Data("{}".utf8), timeout: Self.timeout)
    let entry = try server.decode(ReloadEntry.self, from: body)
    for line in entry.changes { Terminal.print(line) }
    for line in entry.problems { Terminal.warn(line) }
    if entry == ReloadEntry() { Terminal.print("nothing has changed") }
    if !entry.problems.isEmpty { throw ExitCode(1) }
  }
}
