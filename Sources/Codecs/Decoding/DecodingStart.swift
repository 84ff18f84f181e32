internal import CLibav

/// Decides from which packet on video is decoded whose decoder makes up the frames that others refer to: those of HEVC and MPEG. Those of
/// other codecs return nothing before a keyframe. Pure.
struct DecodingStart {
  /// Whether the decoder of the codec needs this.
  private let isNeeded: Bool
  private var isStarted = false
  /// Decode time of the first packet that was skipped, in nanoseconds; nil before it.
  private var first: Int64?
  /// Number of packets that were skipped since the start, a reset or the end of the file.
  private var skippedCount = 0
  /// Whether a packet was skipped ever.
  private(set) var hasSkipped = false
  private var missing: Int?
  private var isReported = false

  /// Time without a keyframe after which that is reported: 3 s, in nanoseconds.
  private static let reportTime: Int64 = 3_000_000_000
  /// Time without a keyframe after which decoding starts at any packet: 20 s, in nanoseconds.
  private static let blindTimeout: Int64 = 20_000_000_000
  /// Number of packets without a keyframe after which decoding starts at any one: 20 s at 50 frames a second.
  private static let maximumCount = 1_000

  init(_ codec: AVCodecID) {
    switch codec {
    case AV_CODEC_ID_HEVC, AV_CODEC_ID_MPEG1VIDEO, AV_CODEC_ID_MPEG2VIDEO, AV_CODEC_ID_MPEG4: self.isNeeded = true
    default: self.isNeeded = false
    }
  }

  /// Waits for a keyframe again.
  mutating func reset() {
    (self.isStarted, self.first, self.skippedCount) = (false, nil, 0)
  }

  /// Starts at any packet, now and after a reset.
  mutating func startAnywhere() {
    self = DecodingStart(AV_CODEC_ID_NONE)
  }

  /// Whether the next packet precedes the start.
  ///
  /// - Parameter time: Its decode time in nanoseconds; `AV_NOPTS_VALUE` when unknown.
  mutating func skips(isKeyframe: Bool, at time: Int64) -> Bool {
    guard self.isNeeded, !self.isStarted else { return false }
    var waited: Int64 = 0
    if time != vidicon_av_nopts_value {
      let first = self.first ?? time
      self.first = first
      waited = time &- first
    }
    if isKeyframe || waited >= Self.blindTimeout || self.skippedCount >= Self.maximumCount {
      self.isStarted = true
      return false
    }
    (self.skippedCount, self.hasSkipped) = (self.skippedCount + 1, true)
    if waited >= Self.reportTime, !self.isReported { (self.isReported, self.missing) = (true, self.skippedCount) }
    return true
  }

  /// Removes and returns the number of packets before the keyframe, which has not come for long; once.
  mutating func takeMissing() -> Int? { self.missing.take() }
}
