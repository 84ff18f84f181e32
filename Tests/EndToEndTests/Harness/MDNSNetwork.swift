import Foundation
import Testing

/// An isolated network namespace with an mDNS daemon that can be started and killed: Clients/mdns_network.sh.
struct MDNSNetwork {
  /// A service that `avahi-browse` resolved.
  struct Record: Hashable {
    var interface: String
    var name: String
    var address: String
    var port: Int
    var text: String
  }

  private let network: ChildProcess

  /// Creates a network for the duration of `body`.
  static func with(_ body: (MDNSNetwork) async throws -> Void) async throws {
    let script = TestMedia.client("mdns_network.sh")
    for name in ["nsenter", "dbus-daemon", "avahi-daemon", "avahi-browse"] { _ = try Tool(name) }
    let network = MDNSNetwork(network: try ChildProcess(Tool("bash").path, [script]))
    defer { network.network.kill() }
    try await network.network.says("unix:path=")
    try await body(network)
  }

  /// Starts a program in the network.
  func start(_ path: String, _ arguments: [String], input: Pipe? = nil) throws -> ChildProcess {
    try ChildProcess(Tool("nsenter").path, self.entry + [path] + arguments, input: input)
  }

  /// Starts the daemon and waits until it is ready. SIGTERM kills it without goodbye packets.
  func startDaemon() async throws -> ChildProcess {
    // The daemon closes the descriptor by which Foundation's Process detects an exit, so that a shell is its parent.
    let daemon = try self.start(
      Tool("bash").path,
      [
        "-c", "setpriv --pdeathsig KILL \"$@\" & trap \"kill -KILL $!\" TERM; wait; wait", "bash",
        Tool("avahi-daemon").path, "--no-drop-root",
        "--no-chroot",
        "--no-rlimits", "--file=/run/avahi.conf",
      ])
    do {
      try await daemon.complains("Server startup complete")
      return daemon
    } catch {
      daemon.kill()
      throw error
    }
  }

  /// Browses repeatedly until the services meet a condition or the limit is reached. Returns the last result.
  func browse(
    _ type: String, within limit: Duration = .seconds(10), until condition: ([Record]) -> Bool
  ) async throws -> [Record] {
    let end = ContinuousClock.now + MachineShare.timeout(limit)
    while true {
      let run = try await Tool.run(
        "nsenter", self.entry + [Tool("avahi-browse").path, "-rptk", type], within: .seconds(10))
      try #require(run.succeeded, "\(run.errors)")
      let records = run.outputText.split(separator: "\n").compactMap(Self.record)
      if condition(records) || ContinuousClock.now > end { return records }
    }
  }

  private var entry: [String] {
    // An unprivileged user is root in the network's user namespace only.
    let user = getuid() == 0 ? [] : ["--user", "--preserve-credentials"]
    return ["--target", "\(self.network.processIdentifier)", "--net", "--mount"] + user + ["--"]
  }

  /// A line of avahi-browse: =;INTERFACE;IPv4;NAME;TYPE;local;HOST;ADDRESS;PORT;TEXT.
  private static func record(_ line: Substring) -> Record? {
    let fields = line.split(separator: ";", maxSplits: 9, omittingEmptySubsequences: false).map(String.init)
    guard fields.count == 10, fields[0] == "=", let port = Int(fields[8]) else { return nil }
    return Record(
      interface: fields[1], name: Self.unescaped(fields[3]), address: fields[7], port: port, text: fields[9])
  }

  /// A name with its \DDD escapes (decimal) decoded.
  private static func unescaped(_ name: String) -> String {
    var bytes: [UInt8] = []
    var rest = name.utf8[...]
    while let byte = rest.popFirst() {
      let digits = rest.prefix(3)
      if byte == UInt8(ascii: "\\"), let value = UInt8(String(digits) ?? "") {
        bytes.append(value)
        rest = rest.dropFirst(3)
      } else {
        bytes.append(byte)
      }
    }
    return String(decoding: bytes, as: UTF8.self)
  }
}
