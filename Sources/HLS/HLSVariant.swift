internal import Bitstreams
internal import Media
package import NIOCore

/// Attributes of the stream in the multivariant playlist, RFC 8216 §4.3.4.2.
struct HLSVariant: Hashable, Sendable {
  /// Value of `CODECS`, RFC 6381: "avc1.64001f,mp4a.40.2".
  var codecs: String
  var resolution: String?
  var frameRate: String?

  init(_ descriptions: [CodecDescription]) {
    self.codecs = descriptions.map(\.codecName).joined(separator: ",")
    for case .h264(let video) in descriptions {
      self.resolution = "\(video.width)x\(video.height)"
      self.frameRate = Self.rounded(video.frameRate)
    }
  }

  /// The tag `EXT-X-STREAM-INF`; bitrates in bits per second.
  func line(peakBitrate: Int, averageBitrate: Int) -> String {
    var attributes = "BANDWIDTH=\(peakBitrate),AVERAGE-BANDWIDTH=\(averageBitrate),CODECS=\"\(self.codecs)\""
    if let resolution { attributes += ",RESOLUTION=\(resolution)" }
    if let frameRate { attributes += ",FRAME-RATE=\(frameRate)" }
    return "#EXT-X-STREAM-INF:\(attributes)"
  }

  /// Writes the multivariant playlist.
  ///
  /// - Parameters:
  ///   - line: The tag of this variant, whose playlist is ``RenditionName/main`` among others.
  ///   - others: Tags and addresses of other variants, each line ended.
  static func playlist(line: String, others: [String], hasIndependentSegments: Bool) -> String {
    let address = others.isEmpty ? "live.m3u8\n" : "\(RenditionName.main)/live.m3u8\n"
    let independence = hasIndependentSegments ? "#EXT-X-INDEPENDENT-SEGMENTS\n" : ""
    return "#EXTM3U\n#EXT-X-VERSION:6\n\(independence)\(line)\n" + address + others.joined()
  }

  /// Frame rate with three decimals.
  private static func rounded(_ frameRate: FrameRate) -> String {
    let thousandths = (Int64(frameRate.numerator) * 2000 / Int64(frameRate.denominator) + 1) / 2
    let rest = String(thousandths % 1000)
    return "\(thousandths / 1000)." + String(repeating: "0", count: 3 - rest.count) + rest
  }
}

/// Measured bitrates of segments, for the multivariant playlist.
struct HLSBitrates: Hashable, Sendable {
  /// Maximum bitrate of a segment, in bits per second.
  private(set) var peak = 0
  private var bits: Double = 0
  private var seconds: Double = 0

  /// Average bitrate of all segments, in bits per second; nil before the first.
  var average: Int? {
    self.seconds > 0 ? Int(self.bits / self.seconds) : nil
  }

  mutating func add(bytes: Int, duration: MediaDuration) {
    // A short first segment is mostly a keyframe, which is not representative of the bitrate.
    let seconds = max(duration.seconds, 0.5)
    self.peak = max(self.peak, Int(Double(bytes) * 8 / seconds))
    self.bits += Double(bytes) * 8
    self.seconds += seconds
  }
}

/// The order of the variants in a multivariant playlist: players, Apple's and hls.js among them, start with the first one.
package enum HLSVariants {
  /// Moves a rendition to the front of a multivariant playlist; without effect where it is not in it.
  ///
  /// - Parameter name: The rendition's name.
  package static func starting(with name: String, _ playlist: ByteBuffer) -> ByteBuffer {
    var lines = String(buffer: playlist).split(separator: "\n", omittingEmptySubsequences: false)
    guard let address = lines.firstIndex(where: { $0.hasPrefix("\(name)/") }), address > 0,
      let first = lines.firstIndex(where: { $0.hasPrefix("#EXT-X-STREAM-INF:") }), first < address - 1
    else { return playlist }
    let variant = Array(lines[(address - 1)...address])
    lines.removeSubrange((address - 1)...address)
    lines.insert(contentsOf: variant, at: first)
    return ByteBuffer(string: lines.joined(separator: "\n"))
  }
}

/// Choice of the rendition that a player starts with, from what its network carried last.
package enum InitialRendition {
  /// Share of a link's capacity that media may use; the rest is for its variation.
  private static let usableShare = 0.9

  /// The index of the rendition to start with.
  ///
  /// - Parameters:
  ///   - bitrates: Bits per second of each rendition, in descending order; at least one.
  ///   - capacity: Bits per second that the link carries; nil when nothing is known.
  /// - Returns: The first one when nothing is known, else the first whose bitrate the capacity holds, or the last.
  package static func index(bitrates: [Int], capacity: Int?) -> Int {
    guard let capacity else { return 0 }
    let fitting = bitrates.firstIndex { Double($0) <= Double(capacity) * Self.usableShare }
    return fitting ?? bitrates.count - 1
  }
}
