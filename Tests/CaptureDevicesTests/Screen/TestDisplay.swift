#if os(Linux)
import CaptureDevices
import Foundation

/// An X server without a screen, of the test's own, on a number that is free.
final class TestDisplay: Sendable {
  struct Failure: Error, CustomStringConvertible {
    var description: String
  }

  /// Such as ":7".
  let name: String
  private let process: Process

  /// Starts it and waits until it can be connected to.
  ///
  /// - Parameters:
  ///   - screen: Width, height and depth.
  ///   - name: The number to take; nil for any.
  ///   - arguments: Further ones of Xvfb.
  init(_ screen: String = "640x480x24", name: String? = nil, arguments: [String] = []) throws {
    let ready = Pipe()
    let process = Process()
    process.executableURL = URL(fileURLWithPath: "/usr/bin/env")
    process.arguments =
      ["Xvfb"] + (name.map { [$0] } ?? []) + ["-displayfd", "1", "-screen", "0", screen, "-noreset"] + arguments
    process.standardInput = FileHandle.nullDevice
    process.standardOutput = ready
    process.standardError = FileHandle.nullDevice
    try process.run()
    try ready.fileHandleForWriting.close()
    var text = ""
    while !text.hasSuffix("\n") {
      let bytes = ready.fileHandleForReading.availableData
      if bytes.isEmpty { break }
      text += String(decoding: bytes, as: UTF8.self)
    }
    guard let number = Int(text.dropLast()) else {
      process.terminate()
      throw Failure(description: "Xvfb did not start; install it with scripts/setup --tests")
    }
    self.name = ":\(number)"
    self.process = process
  }

  deinit {
    self.kill()
  }

  /// The number of the process.
  var processIdentifier: Int32 { self.process.processIdentifier }

  /// Ends it as a crash would, and waits until it is gone.
  func kill() {
    guard self.process.isRunning else { return }
    _ = Foundation.kill(self.process.processIdentifier, SIGKILL)
    self.process.waitUntilExit()
    let number = self.name.dropFirst()
    // What it would have removed itself.
    for file in ["/tmp/.X\(number)-lock", "/tmp/.X11-unix/X\(number)"] {
      try? FileManager.default.removeItem(atPath: file)
    }
  }
}
#endif
