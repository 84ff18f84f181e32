import Foundation
import Testing

/// Tracks that ffprobe reports for a URL.
struct FFprobe: Decodable {
  /// One track.
  struct Track: Decodable {
    var codecType: String
    var codecName: String
    var profile: String?
    var width: Int?
    var height: Int?
    var hasBFrames: Int?
    var sampleRate: String?
    var channels: Int?

    enum CodingKeys: String, CodingKey {
      case codecType = "codec_type"
      case codecName = "codec_name"
      case profile, width, height, channels
      case hasBFrames = "has_b_frames"
      case sampleRate = "sample_rate"
    }
  }

  private var streams: [Track]

  var video: Track? { self.streams.first { $0.codecType == "video" } }
  var audio: Track? { self.streams.first { $0.codecType == "audio" } }

  /// Runs ffprobe.
  static func look(at url: String, options: [String] = FFmpeg.overTCP) async throws -> FFprobe {
    let run = try await Tool.run(
      "ffprobe", ["-v", "error"] + options + ["-show_streams", "-of", "json", url], within: .seconds(20))
    try #require(run.succeeded, "ffprobe \(url) failed: \(run.errors)")
    return try JSONDecoder().decode(FFprobe.self, from: Data(run.output))
  }
}
