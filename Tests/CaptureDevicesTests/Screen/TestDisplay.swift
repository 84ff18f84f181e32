#if os(Linux)
import CaptureDevices
import Foundation
import TestSupport

/// An X server of the test (Xvfb) on a free display number.
final class TestDisplay: Sendable {
  struct Failure: Error, CustomStringConvertible {
    var description: String
  }

  /// Display name, such as ":7".
  let name: String
  private let process: Process

  /// Starts the server and waits until it accepts connections.
  ///
  /// - Parameters:
  ///   - screen: Width, height and depth.
  ///   - name: Display name; nil for a free one.
  ///   - arguments: Further arguments of Xvfb.
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
    let text = process.killed { () -> String in
      var text = ""
      while !text.hasSuffix("\n") {
        let bytes = ready.fileHandleForReading.availableData
        if bytes.isEmpty { break }
        text += String(decoding: bytes, as: UTF8.self)
      }
      return text
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

  /// Process ID of the server.
  var processIdentifier: Int32 { self.process.processIdentifier }

  /// Kills the server as in a crash, and waits for its end.
  func kill() {
    guard self.process.isRunning else { return }
    _ = Foundation.kill(self.process.processIdentifier, SIGKILL)
    self.process.finish()
    let number = self.name.dropFirst()
    // Files that a regular exit removes.
    for file in ["/tmp/.X\(number)-lock", "/tmp/.X11-unix/X\(number)"] {
      try? FileManager.default.removeItem(atPath: file)
    }
  }
}
#endif
