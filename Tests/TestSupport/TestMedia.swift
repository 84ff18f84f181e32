package import Foundation
internal import Synchronization

/// Files that the tests play, made by ffmpeg when they are first asked for.
package enum TestMedia {
  package struct Failure: Error, CustomStringConvertible {
    package var description: String

    package init(description: String) {
      self.description = description
    }
  }

  /// Where they lie; removed with the machine's other temporary files.
  package static let folder: URL = FileManager.default.temporaryDirectory.appendingPathComponent(
    "vidicon-capture-\(UUID().uuidString)")

  private static let made = Mutex<Set<String>>([])

  /// The path of a file, made with the arguments of ffmpeg that belong to its name.
  package static func path(_ name: String, _ arguments: [String]) throws -> String {
    try self.made.withLock { made in
      let file = self.folder.appendingPathComponent(name)
      if made.contains(name) { return file.path }
      try FileManager.default.createDirectory(at: self.folder, withIntermediateDirectories: true)
      let status = try self.run(["-v", "error", "-nostdin", "-y"] + arguments + [file.path])
      guard status == 0 else { throw Failure(description: "ffmpeg could not make \(name)") }
      made.insert(name)
      return file.path
    }
  }

  /// The path of a file of given bytes.
  package static func path(_ name: String, bytes: Data) throws -> String {
    try FileManager.default.createDirectory(at: self.folder, withIntermediateDirectories: true)
    let file = self.folder.appendingPathComponent(name)
    try bytes.write(to: file)
    return file.path
  }

  /// Runs ffmpeg to its end.
  package static func run(_ arguments: [String]) throws -> Int32 {
    let process = Process()
    process.executableURL = URL(fileURLWithPath: "/usr/bin/env")
    process.arguments = ["ffmpeg"] + arguments
    try process.run()
    process.waitUntilExit()
    return process.terminationStatus
  }

  /// One second, 25 pictures a second, a white picture and a beep at 0.4 seconds.
  package static func flashAndBeep(_ name: String = "flash.mp4", _ output: [String] = []) throws -> String {
    try self.path(
      name,
      [
        "-f", "lavfi", "-i", "color=black:s=160x96:r=25:d=1,drawbox=c=white:t=fill:enable='between(t,0.39,0.43)'",
        "-f", "lavfi", "-i", "aevalsrc='0.5*sin(2*PI*1000*t)*between(t,0.4,0.5)':s=48000:d=1",
        "-pix_fmt", "yuv420p", "-preset", "ultrafast",
      ] + output)
  }
}
