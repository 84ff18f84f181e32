import Capture
import CaptureDevices
import FakeCamera
import Foundation
import Media
import TestSupport
import Testing
import Threading

/// Runs the program CameraProbe with simulated cameras, and collects its output.
final class CameraProbe: Sendable {
  struct Failure: Error, CustomStringConvertible {
    var description: String
  }

  /// A line of output: its first word, and the others.
  struct Line: Hashable, CustomStringConvertible {
    var name: String
    var words: [String]
    var description: String { ([self.name] + self.words).joined(separator: " ") }

    init(_ text: String) {
      let words = text.split(separator: " ", omittingEmptySubsequences: false).map(String.init)
      self.name = words.first ?? ""
      self.words = Array(words.dropFirst())
    }
  }

  private struct State {
    var lines: [Line] = []
    /// Number of lines consumed by a wait.
    var read = 0
    var hasEnded = false
  }

  private let process = Process()
  private let input = Pipe()
  private let state = Monitor(State())

  /// Starts the program.
  init(_ arguments: [String], cameras: [String]) throws {
    self.process.executableURL = try BuiltProgram("CameraProbe").url
    self.process.arguments = arguments
    self.process.environment = ProcessInfo.processInfo.environment.merging(try FakeCamera.environment(cameras)) { $1 }
    self.process.standardInput = self.input
    let output = Pipe()
    self.process.standardOutput = output
    try self.process.run()
    Thread.detachNewThread { [state] in
      var rest = Data()
      while case let piece = output.fileHandleForReading.availableData, !piece.isEmpty {
        rest += piece
        while let end = rest.firstIndex(of: 10) {
          let line = Line(String(decoding: rest[rest.startIndex..<end], as: UTF8.self))
          state.withLock { $0.lines.append(line) }
          rest = Data(rest[(end + 1)...])
        }
      }
      state.withLock { $0.hasEnded = true }
    }
  }

  /// Runs the program until the body returns, and checks that it then exits with status 0.
  static func play<Result>(
    _ specification: String = "/dev/video0", width: Int = 320, height: Int = 240, rate: Int = 30, cameras: [String],
    _ body: (CameraProbe) throws -> Result
  ) throws -> Result {
    let probe = try CameraProbe(["play", specification, "\(width)", "\(height)", "\(rate)"], cameras: cameras)
    defer { probe.end() }
    let result = try body(probe)
    try probe.input.fileHandleForWriting.close()
    _ = try probe.next(within: 300) { _ in false }
    probe.process.finish()
    #expect(probe.process.terminationReason == .exit && probe.process.terminationStatus == 0)
    return result
  }

  /// Terminates the program.
  func end() {
    if self.process.isRunning { self.process.terminate() }
  }

  /// The output of the subcommand `devices`.
  static func devices(cameras: [String]) throws -> [Line] {
    let probe = try CameraProbe(["devices"], cameras: cameras)
    defer { probe.end() }
    _ = try probe.next(within: 300) { _ in false }
    probe.process.finish()
    #expect(probe.process.terminationStatus == 0)
    return probe.state.read { $0.lines }
  }

  /// Sends a command.
  ///
  /// - Returns: The output until the command was done.
  @discardableResult
  func send(_ command: String) throws -> [Line] {
    let first = self.state.read { $0.lines.count }
    try self.input.fileHandleForWriting.write(contentsOf: Data((command + "\n").utf8))
    let name = command.split(separator: " ").first.map(String.init) ?? ""
    guard try self.next(from: first, within: 300, where: { $0 == Line("done \(name)") }) != nil else {
      throw Failure(description: "the program ended during \(command); output: \(self.text)")
    }
    return self.state.withLock { state in
      let output = Array(state.lines[first..<state.read])
      // The first frames may be printed before the start is done; waits that follow find them.
      if name == "start" { state.read = first }
      return output
    }
  }

  /// Starts the camera, whose first frames may come before the program says so.
  ///
  /// - Returns: Format, size, frame rate, color matrix and position; nil where it failed.
  func start() throws -> [String]? { try self.send("start").first { $0.name == "started" }?.words }

  /// Waits for the next lines with a first word.
  func lines(_ name: String, _ count: Int, within seconds: Int64 = 300) throws -> [Line] {
    try (0..<count).map { _ in
      guard let line = try self.next(within: seconds, where: { $0.name == name }) else {
        throw Failure(description: "the program ended before it printed \(name); output: \(self.text)")
      }
      return line
    }
  }

  /// Whether no line with a first word comes for some seconds.
  func isSilent(_ name: String, for seconds: Int64) -> Bool {
    (try? self.lines(name, 1, within: seconds)) == nil
  }

  /// All lines so far.
  var all: [Line] {
    self.state.read { $0.lines }
  }

  private var text: String {
    self.all.suffix(20).map(\.description).joined(separator: "\n")
  }

  /// Waits for the next unconsumed line that meets a condition; nil when the program ended before.
  private func next(from first: Int? = nil, within seconds: Int64, where condition: (Line) -> Bool) throws -> Line? {
    if let first { self.state.withLock { $0.read = max($0.read, first) } }
    let found = self.state.take(until: StreamClock.system.now() + .seconds(seconds)) { state -> Line?? in
      while state.read < state.lines.count {
        state.read += 1
        if condition(state.lines[state.read - 1]) { return .some(state.lines[state.read - 1]) }
      }
      return state.hasEnded ? .some(nil) : nil
    }
    guard let found else { throw Failure(description: "no such line within \(seconds) s; output: \(self.text)") }
    return found
  }
}

/// A frame as printed by the probe.
struct ProbedFrame: Hashable {
  var microseconds: Int
  /// Capture-to-arrival latency in microseconds.
  var latency: Int
  var number: Int
  var pixelFormat: String
  var size: String
  var orientation: Int
  /// Three samples of each of the eight bars.
  var bars: [[Int]]

  init(_ line: CameraProbe.Line) throws {
    try #require(line.words.count == 7, "\(line)")
    self.microseconds = try #require(Int(line.words[0]))
    self.latency = try #require(Int(line.words[1]))
    self.number = try #require(Int(line.words[2]))
    self.pixelFormat = line.words[3]
    self.size = line.words[4]
    self.orientation = try #require(Int(line.words[5]))
    self.bars = line.words[6].split(separator: "/").map { $0.split(separator: ",").compactMap { Int($0) } }
  }

  /// The colors of the simulated camera in Y'CbCr.
  static let colors = [
    [235, 128, 128], [210, 16, 146], [170, 166, 16], [145, 54, 34], [106, 202, 222], [81, 90, 240], [41, 240, 110],
    [16, 128, 128],
  ]
  /// The same in RGB.
  static let rgb = [
    [255, 255, 255], [255, 255, 0], [0, 255, 255], [0, 255, 0], [255, 0, 255], [255, 0, 0], [0, 0, 255], [0, 0, 0],
  ]

  /// Maximum difference of a sample from the expected one.
  func distance(from colors: [[Int]] = colors) -> Int {
    zip(self.bars.joined(), colors.joined()).map { abs($0 - $1) }.max() ?? .max
  }
}
