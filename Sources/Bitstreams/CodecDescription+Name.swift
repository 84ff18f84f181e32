public import Media

extension CodecDescription {
  /// Codec and profile as in the `codecs` parameter of RFC 6381 §3.3, for playlists and browsers: "avc1.64001f",
  /// "mp4a.40.2".
  public var codecName: String {
    switch self {
    case .h264(let video):
      // profile_idc, constraint flags and level_idc follow the NAL unit header.
      "avc1." + Hexadecimal.encode(video.sequenceParameterSet.dropFirst().prefix(3))
    case .aac(let audio):
      // An unreadable configuration is reported as AAC-LC, the most common object type.
      "mp4a.40.\((try? AudioSpecificConfig(parsing: audio.audioSpecificConfig))?.audioObjectType ?? 2)"
    }
  }
}
