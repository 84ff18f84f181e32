import ArgumentParser
import ControlAPI
import Foundation

/// `vidicon status`: shows the streams of a server that runs on this machine.
struct StatusCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "status", abstract: "Show the streams of a running server, and the address that controls them.",
    discussion: """
      Finds the servers of the same user by their control tokens, in files that only this user reads; root's command also finds \
      the service of the package. The address behind "Control" makes a browser an operator, so keep it out of files that others read.
      """)

  @Argument(help: "The name of a stream. (default: all)")
  var name: String?

  @OptionGroup var server: RunningServer.Options

  @Flag(help: "The response of the HTTP API, /api/streams, as JSON.")
  var json = false

  @Flag(help: "Only the token that controls the server, for other programs of this user.")
  var token = false

  func run() throws {
    let server = try RunningServer.find(self.server)
    if self.token { return Terminal.print(try server.requireToken()) }
    if self.json, self.name == nil {
      return Terminal.print(String(decoding: try server.request("GET", "/api/streams"), as: UTF8.self))
    }
    let streams = try server.streams(named: self.name)
    guard self.json else {
      for stream in streams { for line in stream.lines(token: server.token) { Terminal.print(line) } }
      return
    }
    Terminal.print(String(decoding: try server.request("GET", "/api/streams\(streams[0].page)"), as: UTF8.self))
  }
}
