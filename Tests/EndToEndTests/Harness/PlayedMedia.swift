import Foundation
import Testing

/// Output of mpv_play.py and obs_play.py.
struct PlayedMedia: Decodable {
  var firstFrameSeconds: Double?
  var playedSeconds: Double?
  var elapsedSeconds: Double?
  var width: Int?
  var height: Int?
  var videoCodec: String?
  var audioCodec: String?
  var state: String?
  var screenshots: [String]

  /// Runs one of these scripts.
  static func drive(_ script: String, _ arguments: [String]) async throws -> PlayedMedia {
    let run = try await Tool.run("python3", [TestMedia.client(script)] + arguments, within: .seconds(90))
    try #require(run.succeeded, "\(script): \(run.errors)")
    return try JSONDecoder().decode(PlayedMedia.self, from: Data(run.output))
  }

  /// Checks that two screenshots have content, and differ.
  func expectLiveVideo(width: Int, height: Int) async throws {
    #expect(self.width == width)
    #expect(self.height == height)
    try #require(self.screenshots.count == 2)
    var luma: [UInt8] = []
    for screenshot in self.screenshots {
      let run = try await Tool.run(
        "ffmpeg",
        FFmpeg.quiet + ["-i", screenshot, "-vf", "scale=320:180,format=gray", "-f", "rawvideo", "pipe:1"],
        within: .seconds(10))
      luma += run.output
    }
    let frames = LumaFrames(width: 320, height: 180, bytes: luma)
    try #require(frames.count == 2)
    #expect(frames.deviation(0) > 8)
    #expect(frames.deviation(1) > 8)
    #expect(frames.difference(0, 1) > 0.05, "both screenshots show the same")
  }
}
