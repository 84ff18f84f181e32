import Foundation
import Testing

/// Four hosts in networks of their own: Clients/two_hosts.sh. The program runs on one, an owner and a neighbor on one
/// network with it, a stranger on another.
struct TwoHosts {
  /// A host other than that of the program.
  enum Host: String {
    case owner
    case neighbor
    case stranger

    /// Address of the program's host, as this host reaches it.
    func server(overIPv6 isIPv6: Bool) -> String {
      let network = self == .stranger ? 2 : 1
      return isIPv6 ? "fd77:\(network)::1" : "10.77.\(network).1"
    }
  }

  private let hosts: ChildProcess

  /// Creates the hosts for the duration of `body`.
  static func with(_ body: (TwoHosts) async throws -> Void) async throws {
    for name in ["nsenter", "unshare", "ip", "python3"] { _ = try Tool(name) }
    let hosts = TwoHosts(
      hosts: try ChildProcess(Tool("bash").path, [TestMedia.client("two_hosts.sh")]))
    defer { hosts.hosts.kill() }
    try await hosts.hosts.says("ready")
    try await body(hosts)
  }

  /// Runs `vidicon serve` with TLS on its host during `body`.
  ///
  /// - Parameter openFiles: Limit of open files of the program; nil for the system's.
  func serving(
    _ arguments: [String], openFiles: Int? = nil, _ body: (VidiconProcess) async throws -> Void
  ) async throws {
    let limit = try openFiles.map { [try Tool("prlimit").path, "--nofile=\($0):\($0)"] } ?? []
    try await TestMedia.withTemporaryFolder { folder in
      try await VidiconProcess.serving(
        ["--https-port", "0"] + arguments, environment: ["XDG_STATE_HOME": folder], entry: try self.entry + limit, body)
    }
  }

  /// Runs a client of Clients/ on a host, and decodes the JSON that it prints.
  ///
  /// - Parameter arguments: Arguments after the server's address and ports: HTTP, HTTPS, RTSP.
  func run<Result: Decodable>(
    _ client: String, _ arguments: [String], of vidicon: VidiconProcess, on host: Host,
    overIPv6 isIPv6: Bool = false, as type: Result.Type = Result.self, within limit: Duration = .seconds(60)
  ) async throws -> Result {
    let command = try self.command(client, arguments, of: vidicon, on: host, overIPv6: isIPv6)
    let run = try await Tool.run(program: command[0], Array(command[1...]), within: limit)
    try #require(run.succeeded, "\(client) on \(host): \(run.errors.suffix(2_000))")
    return try JSONDecoder().decode(type, from: Data(run.output))
  }

  /// Starts a client of Clients/ on a host.
  func start(
    _ client: String, _ arguments: [String], of vidicon: VidiconProcess, on host: Host
  ) throws -> ChildProcess {
    let command = try self.command(client, arguments, of: vidicon, on: host, overIPv6: false)
    return try ChildProcess(command[0], Array(command[1...]))
  }

  /// Starts a program on the program's host.
  func start(_ program: String, _ arguments: [String]) throws -> ChildProcess {
    let command = try self.entry + [try Tool(program).path] + arguments
    return try ChildProcess(command[0], Array(command[1...]))
  }

  private func command(
    _ client: String, _ arguments: [String], of vidicon: VidiconProcess, on host: Host, overIPv6 isIPv6: Bool
  ) throws -> [String] {
    let ports = [vidicon.httpPort, try #require(vidicon.started.httpsPort), vidicon.rtspPort]
    return try self.entry + [
      Tool("ip").path, "netns", "exec", host.rawValue, Tool("python3").path, TestMedia.client(client),
      host.server(overIPv6: isIPv6),
    ] + ports.map(String.init) + arguments
  }

  /// The command that enters the program's host.
  private var entry: [String] {
    get throws {
      // An unprivileged user is root in the network's user namespace only.
      let user = getuid() == 0 ? [] : ["--user", "--preserve-credentials"]
      return [try Tool("nsenter").path, "--target", "\(self.hosts.processIdentifier)", "--net", "--mount"] + user + [
        "--"
      ]
    }
  }
}
