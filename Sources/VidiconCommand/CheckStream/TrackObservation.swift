import Media

/// Facts about a track that was received for some seconds. Times are in seconds.
struct TrackObservation: Equatable, Sendable {
  /// Origin of the parameter sets of H.264.
  enum ParameterSets: String, Equatable, Sendable {
    /// The session description, or the configuration before the first sample.
    case description
    /// The stream only, with its keyframes.
    case stream
    case missing
  }

  var kind = MediaKind.video
  /// Name of the codec, such as `H264`.
  var codec = "H264"
  /// Time for which the track was received.
  var duration = 0.0
  /// Time of the first packet, since the server has begun to send; nil where none has come.
  var firstPacket: Double?
  var parameterSets = ParameterSets.missing
  /// Profile, constraints and level of H.264 as six hexadecimal digits; nil where they are not known.
  var profileLevelID: String?
  /// Chroma format of H.264: 1 is 4:2:0; nil where it is not known.
  var chromaFormat: Int?
  /// Bits per sample of H.264; nil where they are not known.
  var bitDepth: Int?
  /// Size of the frames, such as `1280x720`; nil where it is not known.
  var size: String?
  /// Number of frames of video, or of audio, behind the first keyframe.
  var frameCount = 0
  /// Whether frames come in another order than they are displayed in (B-frames).
  var isReordered = false
  /// Whether slices of IDR pictures have come, also such that cannot be decoded without parameter sets.
  var hasIDRSlices = false
  /// Arrival of each keyframe, since the server has begun to send.
  var keyframes: [Double] = []
  /// Seconds of timestamps per second of the clock; nil where too few have come.
  var clockRatio: Double?
  /// Number of timestamps that go back by more than a second, or run ahead of the clock by that.
  var jumpCount = 0
  /// Number of times that nothing has arrived for more than a second while the timestamps go on as before.
  var stallCount = 0
  /// Maximum time for which frames have had the same timestamp.
  var stillTime = 0.0
  /// Number of packets of RTP in each second since the server has begun to send.
  var packetCounts: [Int] = []
  /// Number of packets that were expected by their sequence numbers; 0 without these.
  var expectedCount = 0
  /// Number of packets that are missing.
  var lostCount = 0
  /// Interarrival jitter, RFC 3550 §6.4.1; nil without RTP.
  var jitter: Double?
  /// Number of sender reports, RFC 3550 §6.4.1; nil where the protocol has none.
  var senderReportCount: Int?
  /// Difference of the two clocks of successive sender reports; nil with fewer than two.
  var senderReportError: Double?
  /// Arrival minus capture by the sender reports, up to a constant of the sender; nil without a report.
  var reportedDelay: Double?
}

extension TrackObservation {
  /// Maximum time until the first packet and keyframe of a stream that starts at once.
  static let promptStart = 2.0
  /// Maximum distance of keyframes with which new viewers start soon.
  static let maximumKeyframeDistance = 4.0
  /// Minimum time in which a track that the server sends has a packet.
  static let minimumSilence = 5.0
  /// Frames per second below which video is a series of stills.
  static let minimumFrameRate = 0.5

  /// Number of packets of RTP in the whole seconds between two times.
  func packetCount(from start: Double, to end: Double) -> Int {
    let (first, last) = (max(0, start).rounded(.up), max(0, end).rounded(.down))
    return self.packetCounts.enumerated().reduce(0) { sum, second in
      (first..<max(first, last)).contains(Double(second.offset)) ? sum + second.element : sum
    }
  }

  /// Maximum distance of keyframes as far as it was seen, with the time since the last one; nil without keyframes.
  var keyframeDistance: Double? {
    guard let last = self.keyframes.last else { return nil }
    let distances = zip(self.keyframes, self.keyframes.dropFirst()).map { $1 - $0 }
    return max(distances.max() ?? 0, self.duration - last)
  }
}
