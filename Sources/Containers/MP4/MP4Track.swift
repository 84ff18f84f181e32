internal import Bitstreams
internal import Media
internal import NIOCore

/// A track of the muxer: its header in `moov` and the defaults of its fragments.
struct MP4Track: Sendable {
  /// `track_ID`: video is 1, audio is the next number.
  var trackID: UInt32
  /// Codec configuration.
  var description: CodecDescription

  /// Limit of the 24 bits in an AudioSpecificConfig.
  private static let maximumSampleRate = (1 << 24) - 1

  /// Ticks per second.
  var timescale: UInt32 {
    switch self.description {
    case .h264: UInt32(VideoTimeline.timescale)
    case .aac(let aac): UInt32(min(aac.format.sampleRate, Self.maximumSampleRate))
    }
  }

  /// Sample defaults of fragments.
  var defaults: TrackExtends {
    switch self.description {
    case .h264(let h264):
      TrackExtends(
        trackID: self.trackID,
        defaultDuration: UInt32(clamping: VideoTimeline.ticks(h264.frameRate.frameInterval)),
        defaultFlags: .nonSync)
    case .aac(let aac):
      TrackExtends(
        trackID: self.trackID, defaultDuration: UInt32(UInt16(clamping: aac.samplesPerFrame)), defaultFlags: .sync)
    }
  }

  /// The first track of each kind, video before audio.
  static func tracks(of descriptions: [CodecDescription]) -> [MP4Track] {
    let kinds: [MediaKind] = [.video, .audio]
    let found = kinds.compactMap { kind in descriptions.first { $0.kind == kind } }
    return zip(UInt32(1)..., found).map { MP4Track(trackID: $0, description: $1) }
  }
}
