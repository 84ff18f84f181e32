import Media

/// Track that a server announces or sends, by its codec.
struct AnnouncedTrack: Equatable, Sendable {
  /// Media type, such as `video`.
  var kind: String
  /// Encoding name, such as `H265`, or the payload type.
  var codec: String

  /// Codecs of the tracks that a check plays.
  private static let playedCodecs = ["h264", "mpeg4-generic", "mp4a-latm"]
  /// Codecs of video that browsers decode over WebRTC; and MP2T, whose content is not known.
  private static let browserCodecs = ["h264", "vp8", "vp9", "av1", "mp2t"]

  /// Whether it is video or audio, and no metadata.
  var isMedia: Bool { self.kind == "video" || self.kind == "audio" }

  /// Whether a check plays tracks of the codec.
  var isOfPlayedCodec: Bool { Self.playedCodecs.contains(self.codec.lowercased()) }

  /// Finding about the track where a check does not play it: players may have a decoder for it, browsers have one for few codecs.
  var unplayedFinding: StreamFinding {
    let subject = "\(self.kind) track"
    guard self.kind == "video", !Self.browserCodecs.contains(self.codec.lowercased()) else {
      return StreamFinding(.tracks, .ok(subject, "\(self.codec), which is not judged: this check plays H.264 and AAC"))
    }
    return StreamFinding(
      .tracks,
      .warning(
        subject, "\(self.codec), which browsers do not play over WebRTC; for players it is not judged",
        .advice("for browsers, set the camera or encoder to H.264")), blocks: [.webRTC])
  }

  /// Word for a client without an obstacle: that it plays, unless the video is not played by the check, or nothing is.
  ///
  /// - Parameters:
  ///   - played: Kinds of the tracks that were played.
  ///   - others: Tracks that were not.
  static func success(played: [MediaKind], others: [AnnouncedTrack]) -> String {
    let video = others.first { $0.kind == "video" }
    let isJudged = played.contains(.video) || !played.isEmpty && video == nil
    guard !isJudged, let other = video ?? others.first(where: \.isMedia) else { return "plays" }
    return "not judged: its \(other.kind) is \(other.codec)"
  }
}
