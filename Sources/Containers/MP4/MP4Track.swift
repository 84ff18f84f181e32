internal import Bitstreams
internal import Media
internal import NIOCore

/// A track of the muxer: what `moov` says of it, and the defaults of its fragments.
struct MP4Track: Sendable {
  /// Video is 1, sound the one after.
  var trackID: UInt32
  /// What it carries.
  var description: CodecDescription

  /// An AudioSpecificConfig has 24 bits for it.
  private static let maximumSampleRate = (1 << 24) - 1

  /// Ticks a second.
  var timescale: UInt32 {
    switch self.description {
    case .h264: UInt32(VideoTimeline.timescale)
    case .aac(let aac): UInt32(min(aac.format.sampleRate, Self.maximumSampleRate))
    }
  }

  /// What the samples of fragments are, unless they say otherwise.
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

  /// One track of each kind that descriptions have, pictures first.
  static func tracks(of descriptions: [CodecDescription]) -> [MP4Track] {
    let kinds: [MediaKind] = [.video, .audio]
    let found = kinds.compactMap { kind in descriptions.first { $0.kind == kind } }
    return zip(UInt32(1)..., found).map { MP4Track(trackID: $0, description: $1) }
  }
}
