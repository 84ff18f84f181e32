public import Media

extension CodecDescription {
  /// The codec and its profile, RFC 6381 §3.3, as playlists and browsers name it: "avc1.64001f", "mp4a.40.2".
  public var codecName: String {
    switch self {
    case .h264(let video):
      // Profile, constraints and level: the parameter set's first bytes behind its header.
      "avc1."
        + video.sequenceParameterSet.dropFirst().prefix(3).map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined()
    case .aac(let audio):
      // AAC-LC where the configuration cannot be read, which is what nearly all sound is.
      "mp4a.40.\((try? AudioSpecificConfig(parsing: audio.audioSpecificConfig))?.audioObjectType ?? 2)"
    }
  }
}
