import ArgumentParser
import ControlAPI
import Foundation
import Media

/// `vidicon reload`: has a server that runs on this machine read its configuration again.
struct ReloadCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "reload",
    abstract: "Have a running server read its configuration file again, and apply what has changed.",
    discussion: """
      Streams that are the same in the file go on without a gap, and a file that is wrong changes nothing. Prints a line for each \
      change; exit status 1 where one was not made, as of a port, which is opened at the start. The service of the package cannot \
      read its file: root's command reads \(SetupCommand.path), and sends the text to it.
      """)

  /// Maximum time that the server needs, in seconds: it starts its streams one after the other, each in half a minute at most.
  private static let timeout = 600
  /// Status of a response to a configuration that cannot be used.
  private static let unusableFile = 409

  @OptionGroup var server: RunningServer.Options

  @Flag(help: "Reload the service of the package, as its unit does: the lines are in its log, and not printed.")
  var service = false

  func run() throws {
    let server = try RunningServer.find(self.server, isServiceOnly: self.service)
    let request = try Self.request(to: server, isService: self.service) { () throws(VidiconError) -> String in
      try SettingsText.read(SetupCommand.path, option: "LoadCredential= of the unit")
    }
    let response = try server.response(to: request)
    // The log has the reason already, in the same journal.
    if self.service, response.status == Self.unusableFile { throw ExitCode(1) }
    let entry = try server.decode(ReloadEntry.self, from: try server.body(of: response, to: request))
    if !self.service {
      // Root's terminal shows what a service says that it does not trust.
      for line in entry.changes { Terminal.print(Terminal.oneLine(line)) }
      for line in entry.problems { Terminal.warn(line) }
      if entry == ReloadEntry() { Terminal.print("nothing has changed") }
    }
    if !entry.problems.isEmpty { throw ExitCode(1) }
  }

  /// The request that has a server reload.
  ///
  /// - Parameters:
  ///   - isService: Whether it has to be the service of the package.
  ///   - readFile: Reads root's file, which a service that has only a copy of it gets with the request.
  static func request(
    to server: RunningServer, isService: Bool = false, readFile: () throws(VidiconError) -> String
  ) throws(VidiconError) -> LocalRequest {
    guard let token = server.configurationToken else {
      // Asked without one, the service refers to this command, and another program at the given port reads a file of its own.
      guard !isService else {
        throw VidiconError(
          .notFound, subject: SystemService.unit,
          cause: "the server at port \(server.address.port) has left no configuration token",
          nextStep: "leave --port out, or run \"systemctl restart vidicon\"")
      }
      return LocalRequest(
        method: "POST", path: "/api/reload", token: server.token, body: Data("{}".utf8), timeout: Self.timeout)
    }
    return LocalRequest(
      method: "PUT", path: "/api/configuration", token: token, body: Data(try readFile().utf8),
      mediaType: "application/yaml", timeout: Self.timeout)
  }
}
