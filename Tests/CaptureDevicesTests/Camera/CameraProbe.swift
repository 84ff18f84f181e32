import CaptureDevices
import FakeCamera
import Foundation
import Media
import TestSupport
import Testing
import Threading

/// The program CameraProbe with cameras that are not there, and what it says.
final class CameraProbe: Sendable {
  struct Failure: Error, CustomStringConvertible {
    var description: String
  }

  /// One line: its first word, and those that follow.
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
    /// How many of them somebody has waited for.
    var read = 0
    var hasEnded = false
  }

  private let process = Process()
  private let input = Pipe()
  private let state = Monitor(State())

  /// Starts it.
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

  /// Plays a camera until the body returns, and sees to it that the program then ends well.
  static func play<Result>(
    _ specification: String = "/dev/video0", width: Int = 320, height: Int = 240, rate: Int = 30, cameras: [String],
    _ body: (CameraProbe) throws -> Result
  ) throws -> Result {
    let probe = try CameraProbe(["play", specification, "\(width)", "\(height)", "\(rate)"], cameras: cameras)
    defer { probe.end() }
    let result = try body(probe)
    try probe.input.fileHandleForWriting.close()
    _ = try probe.next(within: 10) { _ in false }
    probe.process.waitUntilExit()
    #expect(probe.process.terminationReason == .exit && probe.process.terminationStatus == 0)
    return result
  }

  /// Ends it on the spot.
  func end() {
    if self.process.isRunning { self.process.terminate() }
  }

  /// What `devices` prints.
  static func devices(cameras: [String]) throws -> [Line] {
    let probe = try CameraProbe(["devices"], cameras: cameras)
    defer { probe.end() }
    _ = try probe.next(within: 20) { _ in false }
    probe.process.waitUntilExit()
    #expect(probe.process.terminationStatus == 0)
    return probe.state.withLock { $0.lines }
  }

  /// Gives it a command.
  ///
  /// - Returns: What it said until the command was done.
  @discardableResult
  func send(_ command: String) throws -> [Line] {
    let first = self.state.withLock { $0.lines.count }
    try self.input.fileHandleForWriting.write(contentsOf: Data((command + "\n").utf8))
    let name = command.split(separator: " ").first.map(String.init) ?? ""
    guard try self.next(from: first, within: 20, where: { $0 == Line("done \(name)") }) != nil else {
      throw Failure(description: "it ended while it did \(command); it said: \(self.text)")
    }
    return self.state.withLock { Array($0.lines[first..<$0.read]) }
  }

  /// The next lines of a name.
  func lines(_ name: String, _ count: Int, within seconds: Int64 = 20) throws -> [Line] {
    try (0..<count).map { _ in
      guard let line = try self.next(within: seconds, where: { $0.name == name }) else {
        throw Failure(description: "it ended before it said \(name); it said: \(self.text)")
      }
      return line
    }
  }

  /// Whether no line of a name comes for a while.
  func saysNothing(_ name: String, for seconds: Int64) -> Bool {
    (try? self.lines(name, 1, within: seconds)) == nil
  }

  /// Every line so far.
  var all: [Line] {
    self.state.withLock { $0.lines }
  }

  private var text: String {
    self.all.suffix(20).map(\.description).joined(separator: "\n")
  }

  /// The next line for which a condition holds, of those that nobody has waited for; nil when it ended before.
  private func next(from first: Int? = nil, within seconds: Int64, where condition: (Line) -> Bool) throws -> Line? {
    if let first { self.state.withLock { $0.read = max($0.read, first) } }
    let found = self.state.take(until: StreamClock.system.now() + .seconds(seconds)) { state -> Line?? in
      while state.read < state.lines.count {
        state.read += 1
        if condition(state.lines[state.read - 1]) { return .some(state.lines[state.read - 1]) }
      }
      return state.hasEnded ? .some(nil) : nil
    }
    guard let found else { throw Failure(description: "nothing came for \(seconds) s; it said: \(self.text)") }
    return found
  }
}

/// A frame as the probe prints it.
struct ProbedFrame: Hashable {
  var microseconds: Int
  var delay: Int
  var number: Int
  var pixelFormat: String
  var size: String
  var orientation: Int
  /// Of each of the eight bars, three samples.
  var bars: [[Int]]

  init(_ line: CameraProbe.Line) throws {
    try #require(line.words.count == 7, "\(line)")
    self.microseconds = try #require(Int(line.words[0]))
    self.delay = try #require(Int(line.words[1]))
    self.number = try #require(Int(line.words[2]))
    self.pixelFormat = line.words[3]
    self.size = line.words[4]
    self.orientation = try #require(Int(line.words[5]))
    self.bars = line.words[6].split(separator: "/").map { $0.split(separator: ",").compactMap { Int($0) } }
  }

  /// What the fake camera paints, in Y'CbCr.
  static let colours = [
    [235, 128, 128], [210, 16, 146], [170, 166, 16], [145, 54, 34], [106, 202, 222], [81, 90, 240], [41, 240, 110],
    [16, 128, 128],
  ]
  /// The same in RGB.
  static let rgb = [
    [255, 255, 255], [255, 255, 0], [0, 255, 255], [0, 255, 0], [255, 0, 255], [255, 0, 0], [0, 0, 255], [0, 0, 0],
  ]

  /// The largest distance of a sample from what it should be.
  func distance(from colours: [[Int]] = colours) -> Int {
    zip(self.bars.joined(), colours.joined()).map { abs($0 - $1) }.max() ?? .max
  }
}
