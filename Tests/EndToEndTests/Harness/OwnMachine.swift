import FakeCamera
import Foundation
import TestSupport
import Testing

/// A machine of the test's own, whose files, users, networks and services can be changed: Clients/own_machine.sh.
struct OwnMachine {
  /// A user of the machine.
  enum User: String {
    case root
    /// May use sudo without a password.
    case door
  }

  /// Programs run without the rights that reach the kernel of this machine: its clock, its modules, its devices.
  private static let limits = ["setpriv", "--bounding-set=-sys_time,-sys_module,-sys_boot,-sys_rawio"]

  /// Closes the test's descriptors, which a program that goes on in the machine would keep, Foundation's among them, by which that notices the
  /// end of a command.
  private static let closing = [
    "bash", "-c",
    #"for file in /proc/self/fd/*; do fd=${file##*/}; [ "$fd" -le 2 ] || eval "exec $fd>&-"; done; exec "$@""#, "bash",
  ]

  /// A clock whose state is in the environment, for ``run(_:as:environment:)`` with `LD_PRELOAD`: Clients/synchronized_clock.c.
  private static let clock = PreloadedLibrary(URL(fileURLWithPath: TestMedia.client("synchronized_clock.c")))

  /// Process ID of the first process.
  private let process: String

  /// Makes a machine for the duration of `body`.
  ///
  /// - Parameter hasServices: Whether systemd is its first process.
  static func running<Result>(
    hasServices: Bool = false, _ body: (OwnMachine) async throws -> Result
  ) async throws -> Result {
    for name in ["unshare", "nsenter", "setpriv", "useradd", "sudo", "ip"] { _ = try Tool(name) }
    let libraries = [try FakeCamera.environment([])["LD_PRELOAD"] ?? "", try Self.clock.path()]
    let program = URL(fileURLWithPath: try VidiconProcess.path()).resolvingSymlinksInPath().path
    let child = try ChildProcess(
      Tool("bash").path,
      [TestMedia.client("own_machine.sh")] + (hasServices ? ["--systemd"] : []) + [program] + libraries)
    do {
      try await child.says(#/ready [0-9]+\n/#, within: .seconds(60))
      let line = child.output.text.split(separator: "\n").last { $0.hasPrefix("ready ") } ?? ""
      let result = try await body(OwnMachine(process: String(line.dropFirst("ready ".count))))
      await Self.end(child)
      return result
    } catch {
      await Self.end(child)
      guard child.errors.text.isEmpty else {
        throw VidiconProcess.Failure(description: "\(error); the machine: \(child.errors.text.suffix(2_000))")
      }
      throw error
    }
  }

  /// Ends the machine, whose script removes its group of processes.
  private static func end(_ child: ChildProcess) async {
    child.signal(SIGTERM)
    _ = await child.end(within: MachineShare.timeout(.seconds(60)))
  }

  /// The path of a library that was given to the machine.
  static func library(_ path: String) -> String { "/srv/vidicon/" + URL(fileURLWithPath: path).lastPathComponent }

  /// Variables of a program that finds a fake camera.
  static func environment(camera options: String) throws -> [String: String] {
    var environment = try FakeCamera.environment([options])
    environment["LD_PRELOAD"] = environment["LD_PRELOAD"].map(Self.library)
    return environment
  }

  /// Variables of a program whose clock is kept while a file exists.
  static func environment(clockService file: String) throws -> [String: String] {
    ["LD_PRELOAD": Self.library(try Self.clock.path()), "VIDICON_CLOCK_SERVICE": file]
  }

  /// Runs a program as a user who has just logged in.
  func run(
    _ command: [String], as user: User, environment: [String: String] = [:]
  ) async throws -> Tool.Run {
    let login = ["setpriv", "--reuid=\(user.rawValue)", "--regid=\(user.rawValue)", "--init-groups"]
    var variables = [
      "PATH": "/usr/local/bin:/usr/bin:/bin:/srv/vidicon" + (user == .root ? ":/usr/sbin:/sbin" : ""),
      "HOME": user == .root ? "/root" : "/home/\(user.rawValue)", "USER": user.rawValue, "LANG": "C.UTF-8",
    ]
    variables.merge(environment) { $1 }
    return try await Tool.run(
      "nsenter",
      ["--target", self.process, "--net", "--mount", "--uts", "--ipc", "--pid", "--cgroup", "--root", "--wd", "--"]
        + Self.closing + Self.limits + login + ["env", "-i"] + variables.map { "\($0)=\($1)" } + command,
      within: .seconds(120))
  }

  /// Runs a line in a shell, which must succeed.
  @discardableResult
  func shell(_ line: String, as user: User) async throws -> Tool.Run {
    let run = try await self.run(["sh", "-c", line], as: user)
    try #require(run.succeeded, "\(line): \(run.outputText)\(run.errors)")
    return run
  }

  /// Runs `vidicon check` of the machine.
  ///
  /// - Parameter prefix: A program, with its arguments, that runs it.
  func check(
    _ arguments: [String], as user: User, environment: [String: String], prefix: [String] = []
  ) async throws -> StreamReport {
    let run = try await self.run(
      prefix + ["/srv/vidicon/vidicon", "check", "--json"] + arguments, as: user, environment: environment)
    do {
      return try JSONDecoder().decode(StreamReport.self, from: Data(run.output))
    } catch {
      throw VidiconProcess.Failure(description: "\(error): \(run.outputText)\(run.errors)")
    }
  }
}
