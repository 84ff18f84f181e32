import Foundation
import TestSupport
import Testing

/// A running `vidicon serve` on free ports of this machine.
final class VidiconProcess: Sendable {
  /// The program did not start, or an expected event timed out.
  struct Failure: Error, CustomStringConvertible {
    var description: String
  }

  /// The event "started".
  let started: VidiconEvent
  let rtspPort: Int
  let httpPort: Int
  let child: ChildProcess
  private let events: AsyncStream<ReceivedEvent>

  private struct ReceivedEvent {
    var event: VidiconEvent
    var instant: ContinuousClock.Instant
  }

  /// Runs `vidicon serve` for the duration of `body`, then ends it with SIGINT, after which it must exit with status 0; how soon
  /// is judged by the tests of endings.
  ///
  /// - Parameters:
  ///   - arguments: Arguments after `serve --json --rtsp-port 0 --http-port 0 --no-discovery`; without `--control` among
  ///     them, also after `--control machine`; without `--webrtc-port` or `--webrtc`, also after `--webrtc off`.
  ///   - input: Standard input.
  ///   - environment: Variables added to, or replacing, those of the test process.
  ///   - entry: A command before the program's, which ends in the program's process: `nsenter`.
  static func serving<Result>(
    _ arguments: [String], input: Pipe? = nil, environment: [String: String] = [:], entry: [String] = [],
    _ body: (VidiconProcess) async throws -> Result
  ) async throws -> Result {
    let vidicon = try await VidiconProcess(arguments, input: input, environment: environment, entry: entry)
    do {
      let result = try await body(vidicon)
      if vidicon.child.isRunning {
        vidicon.child.signal(SIGINT)
        let exit = await vidicon.child.end(within: MachineShare.timeout(.seconds(20)))
        #expect(
          exit == .status(0),
          "SIGINT must end the program with status 0; its errors: \(vidicon.child.errors.text)")
      }
      return result
    } catch {
      vidicon.child.kill()
      throw Failure(description: "\(error); vidicon's errors: \(vidicon.child.errors.text.suffix(2_000))")
    }
  }

  private init(
    _ arguments: [String], input: Pipe?, environment: [String: String], entry: [String]
  ) async throws {
    // Only tests of access need a token: all others control from this machine.
    let control = arguments.contains("--control") ? [] : ["--control", "machine"]
    // Only tests of WebRTC need it: the page plays by it first, and its default port is shared by all programs.
    let webRTC = arguments.contains("--webrtc-port") || arguments.contains("--webrtc") ? [] : ["--webrtc", "off"]
    let command = entry + [try Self.path()]
    let child = try ChildProcess(
      command[0],
      command[1...] + ["serve", "--json", "--rtsp-port", "0", "--http-port", "0", "--no-discovery"] + control
        + webRTC + arguments,
      input: input, environment: environment)
    let (events, continuation) = AsyncStream.makeStream(of: ReceivedEvent.self)
    Task {
      var line: [UInt8] = []
      // Safe because the harness ends a test that hangs, and each wait for an event has a limit.
      for await piece in child.output.pieces {
        line += piece
        while let end = line.firstIndex(of: UInt8(ascii: "\n")) {
          let text = Data(line[..<end])
          line.removeFirst(end + 1)
          do {
            let event = try JSONDecoder().decode(VidiconEvent.self, from: text)
            continuation.yield(ReceivedEvent(event: event, instant: .now))
          } catch {
            Issue.record("not a line of JSON: \(String(decoding: text, as: UTF8.self)): \(error)")
          }
        }
      }
      continuation.finish()
    }
    self.child = child
    self.events = events
    do {
      self.started = try await Self.first(of: events, within: .seconds(40)) { $0.event.event == "started" }
      self.rtspPort = try #require(self.started.rtspPort)
      self.httpPort = try #require(self.started.httpPort)
    } catch {
      child.kill()
      _ = await child.end(within: MachineShare.timeout(.seconds(5)))
      throw Failure(description: "vidicon did not start: \(error); its errors: \(child.errors.text.suffix(2_000))")
    }
  }

  /// Path of the program: the environment variable `VIDICON`, else beside the test executable.
  static func path() throws -> String {
    if let path = ProcessInfo.processInfo.environment["VIDICON"] { return path }
    let tests = URL(fileURLWithPath: "/proc/self/exe").resolvingSymlinksInPath()
    let path = tests.deletingLastPathComponent().appendingPathComponent("vidicon").path
    guard access(path, X_OK) == 0 else {
      throw Failure(description: "there is no program at \(path); run scripts/test, or set VIDICON to its path")
    }
    return path
  }

  /// Options for ports that no other program listens at, and for no announcement.
  static let freePorts = ["--rtsp-port", "0", "--http-port", "0", "--webrtc-port", "0", "--no-discovery"]

  /// Runs the program until it exits, for command lines that fail.
  static func run(
    _ arguments: [String], input: Pipe? = nil, environment: [String: String] = [:],
    within limit: Duration = .seconds(30)
  ) async throws -> (exit: ChildProcess.Exit?, errors: String) {
    let child = try ChildProcess(Self.path(), arguments, input: input, environment: environment)
    let exit = await child.end(within: MachineShare.timeout(limit))
    await child.errors.end()
    return (exit, child.errors.text)
  }

  /// RTSP URL of a stream; without a name, of the first stream.
  func url(_ name: String? = "live", host: String = "127.0.0.1") -> String {
    "rtsp://\(host):\(self.rtspPort)" + (name.map { "/\($0)" } ?? "")
  }

  /// RTMP URL of a path; needs `--rtmp-port`.
  func rtmp(_ path: String = "live/live", host: String = "127.0.0.1") throws -> String {
    "rtmp://\(host):\(try #require(self.started.rtmpPort))/\(path)"
  }

  /// URL on the HTTP server.
  func page(_ path: String, host: String = "127.0.0.1") -> String {
    "http://\(host):\(self.httpPort)\(path)"
  }

  /// URL on the HTTPS server.
  func securePage(_ path: String, host: String = "localhost") throws -> String {
    "https://\(host):\(try #require(self.started.httpsPort))\(path)"
  }

  /// Waits for a future status event in which a stream meets a condition.
  func status(
    of name: String = "live", within limit: Duration = .seconds(30),
    where condition: @escaping @Sendable (VidiconEvent.Stream) -> Bool
  ) async throws -> VidiconEvent.Stream {
    let now = ContinuousClock.now
    let stream: @Sendable (VidiconEvent) -> VidiconEvent.Stream? = { event in
      event.event == "status" ? event.streams?.first { $0.name == name } : nil
    }
    let event = try await Self.first(of: self.events, within: limit) { received in
      received.instant >= now && (stream(received.event).map(condition) ?? false)
    }
    return try #require(stream(event))
  }

  /// Waits for a future status event that meets a condition.
  func statusEvent(
    within limit: Duration = .seconds(30), where condition: @escaping @Sendable (VidiconEvent) -> Bool
  ) async throws -> VidiconEvent {
    let now = ContinuousClock.now
    return try await Self.first(of: self.events, within: limit) { received in
      received.instant >= now && received.event.event == "status" && condition(received.event)
    }
  }

  /// Waits for the next event of a recording with this change; events that have arrived before count too.
  func recordingEvent(_ change: String, within limit: Duration = .seconds(30)) async throws -> VidiconEvent {
    try await Self.first(of: self.events, within: limit) { received in
      received.event.event == "recording" && received.event.change == change
    }
  }

  /// Resident memory of the program, in bytes.
  ///
  /// - Parameter isPeak: Whether it is the maximum since the start.
  func residentMemory(isPeak: Bool = false) throws -> Int {
    let status = try String(systemFile: "/proc/\(self.child.processIdentifier)/status")
    let line = try #require(status.split(separator: "\n").first { $0.hasPrefix(isPeak ? "VmHWM:" : "VmRSS:") })
    return try #require(line.split(separator: " ").compactMap { Int($0) }.first) * 1024
  }

  private static func first(
    of events: AsyncStream<ReceivedEvent>, within limit: Duration,
    where condition: @escaping @Sendable (ReceivedEvent) -> Bool
  ) async throws -> VidiconEvent {
    let limit = MachineShare.timeout(limit)
    return try await withThrowingTaskGroup(of: VidiconEvent?.self) { group in
      group.addTask { await events.first(where: condition)?.event }
      group.addTask {
        try await Task.sleep(for: limit)
        throw Failure(description: "no such event within \(limit)")
      }
      defer { group.cancelAll() }
      guard let event = try await group.next() ?? nil else { throw Failure(description: "the program exited") }
      return event
    }
  }
}
