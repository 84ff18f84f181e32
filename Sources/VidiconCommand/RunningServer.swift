import ArgumentParser
import ControlAPI
import Foundation
import Media

/// A server that runs on this machine, as its user's other programs reach it.
struct RunningServer {
  /// The option that chooses a server.
  struct Options: ParsableArguments {
    @Option(help: "The port of HTTP or HTTPS of the server, where several run on this machine.")
    var port: Int?
  }

  /// Address at which the server responds.
  let address: ServerAddress
  /// An operator's token; nil where this user has none.
  let token: String?
  /// The token with which root gives the service of the package the text of its file, which that cannot read; nil for other servers.
  var configurationToken: String?

  /// HTTP port of the server.
  private var port: Int { self.address.port }
  private var subject: String { "port \(self.port)" }

  /// The servers that have left files of addresses and control tokens, in the order of their ports: those of a user, and for root also the
  /// service of the package.
  ///
  /// - Parameters:
  ///   - serviceFolder: The folder with the files of that service.
  ///   - isServiceOnly: Whether the user's own are left out. The reload of the unit needs it: its environment names the service's folder.
  static func known(
    environment: [String: String], user: uid_t, serviceFolder: String = RuntimeFile.serviceFolder,
    isServiceOnly: Bool = false
  ) throws(VidiconError) -> [RunningServer] {
    let own =
      try isServiceOnly
      ? [] : Self.servers(in: RuntimeFile.folders(environment: environment, user: user), of: user)
    var service: [RunningServer] = []
    if let owner = RuntimeFile.owner(ofFolder: serviceFolder), user == 0 || user == owner {
      service = try Self.servers(in: [serviceFolder], of: owner)
      // No file of root's is sent to other servers than that of the package.
      let tokens = try ControlToken.find(.configuration, in: [serviceFolder], of: owner)
      for index in service.indices { service[index].configurationToken = tokens[service[index].port] }
    }
    // No file of another user's names the address to which a token of the user's own is sent.
    let others = service.filter { server in !own.contains { $0.port == server.port } }
    return (own + others).sorted { $0.port < $1.port }
  }

  private static func servers(in folders: [String], of user: uid_t) throws(VidiconError) -> [RunningServer] {
    let tokens = try ControlToken.find(in: folders, of: user)
    let addresses = try ServerAddress.find(in: folders, of: user)
    return Set(tokens.keys).union(addresses.keys).map { port in
      RunningServer(address: addresses[port] ?? ServerAddress(port: port), token: tokens[port])
    }
  }

  /// Finds a server by the files of addresses and control tokens.
  ///
  /// - Parameters:
  ///   - options: The port; without one the only server that answers.
  ///   - isServiceOnly: Whether it is that of the package's service.
  static func find(_ options: Options, isServiceOnly: Bool = false) throws(VidiconError) -> RunningServer {
    let servers = try Self.known(
      environment: ProcessInfo.processInfo.environment, user: getuid(), isServiceOnly: isServiceOnly)
    if let port = options.port {
      let port = try ServeConfiguration.port(port, "--port")
      return servers.first { $0.address.port == port } ?? servers.first { $0.address.securePort == port }
        ?? RunningServer(address: ServerAddress(port: port), token: nil)
    }
    var running: [RunningServer] = []
    for server in servers {
      // A server that was killed leaves its files.
      do throws(LocalRequest.Failure) {
        _ = try LocalRequest(path: "/health").send(to: server.address)
        running.append(server)
      } catch {
        continue
      }
    }
    guard let server = running.first else {
      if isServiceOnly {
        throw VidiconError(
          .notFound, subject: SystemService.unit, cause: "no server of it was found",
          nextStep: "run this as root while the service runs")
      }
      throw VidiconError(
        .notFound, subject: "this machine", cause: "no server of this user was found",
        nextStep: "start one with \"vidicon serve\", or give the --port of another's")
    }
    guard running.count == 1 else {
      let ports = running.map { "\($0.port)" }.joined(separator: ", ")
      throw VidiconError(
        .invalidSpecification, subject: "this machine", cause: "servers run at the ports \(ports)",
        nextStep: "choose one with --port")
    }
    return server
  }

  /// Sends a request.
  ///
  /// - Parameters:
  ///   - path: Path and query, percent-encoded.
  ///   - body: JSON; nil for no body.
  /// - Returns: The body of a successful response.
  func request(_ method: String = "GET", _ path: String, _ body: Data? = nil) throws(VidiconError) -> Data {
    let request = LocalRequest(method: method, path: path, token: self.token, body: body)
    return try self.body(of: try self.response(to: request), to: request)
  }

  /// Sends a request; returns the response, whatever its status.
  func response(to request: LocalRequest) throws(VidiconError) -> LocalRequest.Response {
    do throws(LocalRequest.Failure) {
      return try request.send(to: self.address)
    } catch .refused {
      throw VidiconError(
        .notFound, subject: self.subject, cause: "no server listens there", nextStep: "check --port, and that it runs")
    } catch {
      throw VidiconError(
        .timedOut, subject: self.subject, cause: "the program there does not respond",
        nextStep: "check --port, and that it is a server of Vidicon")
    }
  }

  /// The body of a successful response to a request.
  func body(of response: LocalRequest.Response, to request: LocalRequest) throws(VidiconError) -> Data {
    switch response.status {
    case 200..<300: return response.body
    default:
      if response.status == 401, request.token == nil { _ = try self.requireToken() }
      let text = String(decoding: response.body.prefix(1_000), as: UTF8.self).trimmingCharacters(
        in: .whitespacesAndNewlines)
      throw Self.refusal(by: self.subject, text.isEmpty ? "the server answers with status \(response.status)" : text)
    }
  }

  /// The error of a server that says why it does not do what it was asked, and mostly what to do.
  static func refusal(by subject: String, _ text: String) -> VidiconError {
    let parts = text.ranges(of: "; ").last.map { (text[..<$0.lowerBound], text[$0.upperBound...]) }
    return VidiconError(
      .failed, subject: subject, cause: parts.map { String($0.0) } ?? text,
      nextStep: parts.map { String($0.1) } ?? "see what \"vidicon status\" shows")
  }

  /// An operator's token of this user.
  func requireToken() throws(VidiconError) -> String {
    if let token { return token }
    throw VidiconError(
      .notPermitted, subject: self.subject, cause: "this user has no control token for the server",
      nextStep: "run the command as the server's user, or for the service of the package as root")
  }

  /// The streams, or the one of a name.
  func streams(named name: String?) throws(VidiconError) -> [StreamEntry] {
    let list = try self.decode(StreamList.self, from: try self.request("GET", "/api/streams")).streams
    guard let name else { return list }
    let named = list.filter { $0.name == name }
    guard named.isEmpty else { return named }
    let names = list.map(\.name).joined(separator: ", ")
    throw VidiconError(
      .notFound, subject: quoted(name), cause: "there is no such stream",
      nextStep: list.isEmpty ? "start one; the server has none" : "give one of \(names)")
  }

  /// Decodes a response.
  func decode<Value: Decodable>(_ type: Value.Type, from body: Data) throws(VidiconError) -> Value {
    do {
      return try JSONDecoder().decode(type, from: body)
    } catch {
      throw VidiconError(
        .unsupported, subject: self.subject, cause: "the program there is no server of this version",
        nextStep: "run the server's own vidicon")
    }
  }
}
