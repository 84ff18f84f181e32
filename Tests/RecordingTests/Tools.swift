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

  /// A file as decoded by ffmpeg, and read by ffprobe; any warning is a test failure.
  struct Playback {
    /// Timecode strip values of the frames, and their presentation times in seconds.
    var frames: [(number: Int, time: Double)] = []
    /// Start times of flashes, in seconds.
    var flashes: [Double] = []
    /// Start times of beeps, in seconds.
    var beeps: [Double] = []
    var videoDuration = 0.0
    var audioDuration = 0.0
    /// Number of encoded audio frames.
    var audioFrameCount = 0
  }

  /// Decodes a file, and reads the times of all its packets: one program each, whose start takes longer than its work.
  static func play(_ path: String, hasVideo: Bool = true, hasAudio: Bool = true) throws -> Playback {
    let folder = FileManager.default.temporaryDirectory.appending(path: "play-\(UUID().uuidString)")
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(at: folder) }
    let (video, audio) = (folder.appending(path: "video"), folder.appending(path: "audio"))
    var arguments = [
      "-hide_banner", "-nostdin", "-nostats", "-loglevel", "warning", "-xerror", "-noautorotate", "-i", path,
    ]
    if hasVideo {
      arguments += ["-map", "0:v", "-fps_mode", "passthrough", "-enc_time_base", "1:90000", "-vf", "format=gray"]
      arguments += ["-f", "rawvideo", video.path]
    }
    if hasAudio { arguments += ["-map", "0:a", "-f", "s16le", audio.path] }
    let decoded = try self.run("ffmpeg", arguments)
    #expect(decoded.status == 0 && decoded.errors == "", "\(decoded.errors)")
    let read = try self.run(
      "ffprobe",
      [
        "-v", "warning", "-show_entries", "packet=codec_type,pts_time:stream=codec_type,duration", "-of", "csv", path,
      ])
    #expect(read.status == 0 && read.errors == "", "\(read.errors)")
    let lines = read.text.split(separator: "\n").map { $0.split(separator: ",", omittingEmptySubsequences: false) }
    func numbers(_ section: String, _ kind: String) -> [Double] {
      lines.filter { $0.count > 2 && $0[0] == section && $0[1] == kind }.compactMap { Double($0[2]) }
    }
    var playback = Playback()
    if hasVideo {
      let (width, height) = (EncodedStream.width, EncodedStream.height)
      let images = try Data(contentsOf: video)
      let times = numbers("packet", "video")
      let count = images.count / (width * height)
      #expect(times.count == count)
      var wasBright = true
      for (index, time) in zip(0..<count, times) {
        let frame = images.dropFirst(index * width * height).prefix(width * height)
        let number = frame.withUnsafeBytes { Strip.read($0, width: width, height: height) }
        playback.frames.append((number ?? -1, time))
        let isBright = frame[frame.startIndex + (height - 4) * width + 8] > 140
        if isBright, !wasBright { playback.flashes.append(time) }
        wasBright = isBright
      }
      playback.videoDuration = numbers("stream", "video").first ?? 0
    }
    if hasAudio {
      let times = numbers("packet", "audio")
      let start = try #require(times.first)
      let samples = try Data(contentsOf: audio).withUnsafeBytes { Array($0.bindMemory(to: Int16.self)) }
      var quietCount = 0
      for index in 0..<samples.count {
        let sample = samples[index]
        if sample > 4000 || sample < -4000 {
          if quietCount > 13_000 { playback.beeps.append(start + Double(index) / 44_100) }
          quietCount = 0
        } else {
          quietCount += 1
        }
      }
      playback.audioDuration = numbers("stream", "audio").first ?? 0
      playback.audioFrameCount = times.count
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

  /// Number of packets of a stream that has times.
  static func packetCount(_ path: String, _ stream: String) throws -> Int {
    let arguments = ["-v", "error", "-select_streams", stream, "-show_entries", "packet=pts_time", "-of", "csv=p=0"]
    return try self.run("ffprobe", arguments + [path]).text.split(separator: "\n").count {
      Double($0.split(separator: ",")[0]) != nil
    }
  }
}
