internal import Bitstreams
internal import Media

/// What the multivariant playlist tells of the stream, RFC 8216 §4.3.4.2.
struct HLSVariant: Hashable, Sendable {
  /// RFC 6381 names, "avc1.64001f,mp4a.40.2".
  var codecs: String
  var resolution: String?
  var frameRate: String?

  init(_ descriptions: [CodecDescription]) {
    var codecs: [String] = []
    for description in descriptions {
      switch description {
      case .h264(let video):
        // avc1. and profile, constraints and level in hexadecimal, RFC 6381 §3.3.
        let identification = video.sequenceParameterSet.dropFirst().prefix(3).map {
          ($0 < 16 ? "0" : "") + String($0, radix: 16)
        }
        codecs.append("avc1." + identification.joined())
        self.resolution = "\(video.width)x\(video.height)"
        self.frameRate = Self.rounded(video.frameRate)
      case .aac(let audio):
        let type = (try? AudioSpecificConfig(parsing: audio.audioSpecificConfig))?.audioObjectType ?? 2
        codecs.append("mp4a.40.\(type)")
      }
    }
    self.codecs = codecs.joined(separator: ",")
  }

  /// The multivariant playlist.
  func playlist(peakBitrate: Int, averageBitrate: Int) -> String {
    var attributes = "BANDWIDTH=\(peakBitrate),AVERAGE-BANDWIDTH=\(averageBitrate),CODECS=\"\(self.codecs)\""
    if let resolution { attributes += ",RESOLUTION=\(resolution)" }
    if let frameRate { attributes += ",FRAME-RATE=\(frameRate)" }
    return """
      #EXTM3U
      #EXT-X-VERSION:6
      #EXT-X-INDEPENDENT-SEGMENTS
      #EXT-X-STREAM-INF:\(attributes)
      live.m3u8

      """
  }

  /// Three decimal places.
  private static func rounded(_ frameRate: FrameRate) -> String {
    let thousandths = (Int64(frameRate.numerator) * 2000 / Int64(frameRate.denominator) + 1) / 2
    let rest = String(thousandths % 1000)
    return "\(thousandths / 1000)." + String(repeating: "0", count: 3 - rest.count) + rest
  }
}
