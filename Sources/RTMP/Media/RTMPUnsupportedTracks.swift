internal import Media

/// Tracks of a publisher whose codecs are not supported, and whether anything is left of its stream.
///
/// The track that can be taken goes on without the other one. A publisher of video that is not supported is refused once its audio is
/// not supported either, or has not come within ``timeout``: its encoder shows the reason, in place of sending for nothing. Audio
/// alone is waited with, since the video may come.
struct RTMPUnsupportedTracks {
  /// Time, of the publisher's clock, in which audio must come beside video that is not supported.
  static let timeout: UInt32 = 3_000
  /// Number of messages after which the audio is late whatever their timestamps: ten seconds of a usual frame rate.
  static let maximumCount = 300

  private var codecs: [MediaKind: String] = [:]
  private var supported: Set<MediaKind> = []
  private var reported: Set<MediaKind> = []
  /// Timestamp and number of the messages of video that is not supported.
  private var start: UInt32?
  private var count = 0
  private var isLate = false

  /// Records that a track has a codec that is supported.
  mutating func handleSupported(_ kind: MediaKind) {
    self.supported.insert(kind)
  }

  /// Records a message whose codec is not supported.
  ///
  /// - Parameters:
  ///   - codec: Name of the codec, such as "video codec HEVC".
  ///   - timestamp: Time of the message in milliseconds; wraps.
  /// - Returns: Whether the codec is to be reported, once for each kind; of video when another track is taken, since the publisher is
  ///   refused otherwise, which is a report of its own.
  mutating func handleUnsupported(_ kind: MediaKind, codec: String, at timestamp: UInt32) -> Bool {
    if kind == .video {
      let start = self.start ?? timestamp
      self.start = start
      self.count += 1
      // Times that run backwards are none: their distance is beyond 24 days.
      let elapsed = timestamp &- start
      self.isLate = self.count > Self.maximumCount || (Self.timeout...UInt32(Int32.max)).contains(elapsed)
    }
    self.codecs[kind] = self.codecs[kind] ?? codec
    guard kind == .audio || !self.supported.isEmpty else { return false }
    return self.reported.insert(kind).inserted
  }

  /// Names of the codecs of a publisher of which nothing can be taken; nil where something can, or may come.
  var refusal: String? {
    guard self.supported.isEmpty, let video = self.codecs[.video] else { return nil }
    if let audio = self.codecs[.audio] { return "\(video) with \(audio)" }
    return self.isLate ? video : nil
  }
}
