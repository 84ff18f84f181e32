import Foundation
import TestSupport
import Testing

/// Runs command-line tools and collects their output.
enum Tools {
  struct Run {
    var status: Int32
    var output: Data
    var errors: String

    var text: String { String(decoding: self.output, as: UTF8.self) }
  }

  static func run(_ name: String, _ arguments: [String]) throws -> Run {
    let folder = FileManager.default.temporaryDirectory.appending(path: "tool-\(UUID().uuidString)")
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(at: folder) }
    let (output, errors) = (folder.appending(path: "output"), folder.appending(path: "errors"))
    for file in [output, errors] { try Data().write(to: file) }
    let process = Process()
    process.executableURL = URL(filePath: "/usr/bin/env")
    process.arguments = [name] + arguments
    process.standardInput = FileHandle.nullDevice
    process.standardOutput = try FileHandle(forWritingTo: output)
    process.standardError = try FileHandle(forWritingTo: errors)
    try process.run()
    process.finish(within: .seconds(1200))
    return Run(
      status: process.terminationStatus, output: try Data(contentsOf: output),
      errors: String(decoding: try Data(contentsOf: errors), as: UTF8.self))
  }

  /// A file as decoded by ffmpeg; any warning is a test failure.
  struct Playback {
    /// Timecode strip values of the frames, and their presentation times in seconds.
    var frames: [(number: Int, time: Double)]
    /// Start times of flashes, in seconds.
    var flashes: [Double]
    /// Start times of beeps, in seconds.
    var beeps: [Double]
    var videoDuration: Double
    var audioDuration: Double
  }

  static func play(_ path: String, hasVideo: Bool = true, hasAudio: Bool = true) throws -> Playback {
    let quiet = ["-hide_banner", "-nostdin", "-nostats", "-loglevel", "warning"]
    var playback = Playback(frames: [], flashes: [], beeps: [], videoDuration: 0, audioDuration: 0)
    if hasVideo {
      let (width, height) = (EncodedStream.width, EncodedStream.height)
      let decoded = try self.run(
        "ffmpeg",
        quiet + [
          "-xerror", "-noautorotate", "-i", path, "-map", "0:v", "-fps_mode", "passthrough", "-enc_time_base",
          "1:90000",
        ]
          + ["-vf", "format=gray", "-f", "rawvideo", "pipe:1"])
      #expect(decoded.status == 0 && decoded.errors == "", "\(decoded.errors)")
      let times = try self.times(path, "v:0")
      let count = decoded.output.count / (width * height)
      #expect(times.count == count)
      var wasBright = true
      for (index, time) in zip(0..<count, times) {
        let frame = decoded.output.dropFirst(index * width * height).prefix(width * height)
        let number = frame.withUnsafeBytes { Strip.read($0, width: width, height: height) }
        playback.frames.append((number ?? -1, time))
        let isBright = frame[frame.startIndex + (height - 4) * width + 8] > 140
        if isBright, !wasBright { playback.flashes.append(time) }
        wasBright = isBright
      }
      playback.videoDuration = try self.duration(path, "v:0")
    }
    if hasAudio {
      let decoded = try self.run(
        "ffmpeg", quiet + ["-xerror", "-i", path, "-map", "0:a", "-f", "s16le", "pipe:1"])
      #expect(decoded.status == 0 && decoded.errors == "", "\(decoded.errors)")
      let start = try #require(try self.times(path, "a:0").first)
      let samples = decoded.output.withUnsafeBytes { Array($0.bindMemory(to: Int16.self)) }
      var quietCount = 0
      for (index, sample) in samples.enumerated() {
        if abs(Int(sample)) > 4000 {
          if quietCount > 13_000 { playback.beeps.append(start + Double(index) / 44_100) }
          quietCount = 0
        } else {
          quietCount += 1
        }
      }
      playback.audioDuration = try self.duration(path, "a:0")
    }
    return playback
  }

  /// Size of a file in bytes; -1 where there is none.
  static func size(_ path: String) -> Int {
    (try? FileManager.default.attributesOfItem(atPath: path)[.size] as? Int) ?? -1
  }

  /// The warnings of ffprobe about a file.
  static func warnings(_ path: String) throws -> String {
    try self.run("ffprobe", ["-v", "warning", "-show_format", "-show_streams", "-count_packets", path]).errors
  }

  static func times(_ path: String, _ stream: String) throws -> [Double] {
    let arguments = ["-v", "error", "-select_streams", stream, "-show_entries", "packet=pts_time", "-of", "csv=p=0"]
    return try self.run("ffprobe", arguments + [path]).text.split(separator: "\n").compactMap {
      Double($0.split(separator: ",")[0])
    }
  }

  static func duration(_ path: String, _ stream: String) throws -> Double {
    let arguments = ["-v", "error", "-select_streams", stream, "-show_entries", "stream=duration", "-of", "csv=p=0"]
    let text = try self.run("ffprobe", arguments + [path]).text
    return text.split { $0.isNewline || $0 == "," }.first.flatMap { Double($0) } ?? 0
  }
}
