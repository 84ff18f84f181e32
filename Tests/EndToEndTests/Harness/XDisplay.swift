import Foundation

/// A private X server (Xvfb).
///
/// Its display number is a random one, which no other test takes when the server has ended.
final class XDisplay: Sendable {
  /// Display name, such as ":7".
  let name: String
  let server: ChildProcess

  /// Runs an X server for the duration of `body`.
  static func showing<Result>(
    _ size: String, arguments: [String] = [], _ body: (XDisplay) async throws -> Result
  ) async throws -> Result {
    let display = try await XDisplay(size, arguments: arguments)
    defer { display.server.kill() }
    return try await body(display)
  }

  private init(_ size: String, arguments: [String]) async throws {
    let server = try ChildProcess(
      Tool("Xvfb").path,
      [":\(Int.random(in: 100..<50_000))", "-displayfd", "1", "-screen", "0", "\(size)x24", "-noreset"] + arguments)
    do { try await server.says("\n") } catch { server.kill() }
    guard let number = Int(server.output.text.dropLast()) else {
      server.kill()
      throw VidiconProcess.Failure(description: "Xvfb did not start: \(server.errors.text)")
    }
    self.name = ":\(number)"
    self.server = server
  }

  /// Plays a lavfi source over the whole screen for the duration of `body`.
  func playing<Result>(_ source: String, _ body: () async throws -> Result) async throws -> Result {
    let player = try ChildProcess(
      Tool("ffplay").path,
      ["-v", "error", "-nostats", "-noborder", "-left", "0", "-top", "0", "-f", "lavfi", "-i", source],
      environment: ["DISPLAY": self.name, "SDL_VIDEODRIVER": "x11", "SDL_AUDIODRIVER": "dummy"])
    defer { player.kill() }
    return try await body()
  }
}
