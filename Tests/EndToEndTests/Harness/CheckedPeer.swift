import Foundation
import Testing

/// A server for `vidicon check`, or a configuration of this machine, healthy or with a planted fault: Clients/check_peer.py.
struct CheckedPeer {
  /// Variables of the check.
  private let environment: [String: String]
  /// Arguments of the check: the address of the stream, or options.
  let arguments: [String]

  /// Starts a peer for the duration of `body`.
  ///
  /// - Parameter peer: Name and options for the script, between spaces.
  static func serving<Result>(_ peer: String, _ body: (CheckedPeer) async throws -> Result) async throws -> Result {
    try await TestMedia.withTemporaryFolder { folder in
      let ports = try "\(FreePort.take()),\(FreePort.take())"
      let options = peer.split(separator: " ").map(String.init)
      let child = try ChildProcess(
        Tool("python3").path, ["-B", TestMedia.client("check_peer.py"), folder, ports] + options,
        environment: ["VIDICON": VidiconProcess.path()])
      defer { child.kill() }
      do {
        try await child.says(#/ready .*\n/#, within: .seconds(120))
      } catch {
        throw VidiconProcess.Failure(description: "\(peer): \(error); its errors: \(child.errors.text.suffix(2_000))")
      }
      let line = child.output.text.split(separator: "\n").last { $0.hasPrefix("ready ") } ?? ""
      let words = line.split(separator: " ").dropFirst().map(String.init)
      let variables = words.prefix { !$0.hasPrefix("-") && !$0.contains("://") }.map { $0.split(separator: "=") }
      return try await body(
        CheckedPeer(
          environment: Dictionary(
            uniqueKeysWithValues: variables.map { (String($0[0]), $0.count > 1 ? String($0[1]) : "") }),
          arguments: Array(words.dropFirst(variables.count))))
    }
  }

  /// Runs `vidicon check`, whose exit status must be that of its verdict.
  func check() async throws -> StreamReport {
    try await StreamReport.check(self.arguments, environment: self.environment)
  }
}
