internal import Media

/// Judges whether a source is lost: by signs of life of its connection, and by its own rhythm. Pure: `now` is an argument.
///
/// A still screen without audio has a frame now and then, as a camera at night. Its last frame stays: what is lost is a connection
/// without any sign of life, or a source that has sent nothing for much longer than it ever does. The pauses of a source are its
/// rhythm once there were two of them, so that a stall is none. Audio has no pauses: where it has flowed up to the silence, the sender
/// has failed.
struct SourceLife: Sendable {
  /// Times after which a source counts as lost.
  struct Limits: Sendable {
    /// Time without media, a report or a response: two requests of a sign were in vain.
    var connection = MediaDuration.seconds(15)
    /// Minimum time without media, of a source whose connection lives.
    var media = MediaDuration.seconds(60)
    /// Likewise, of a source whose audio has flowed.
    var audible = MediaDuration.seconds(15)
    /// Maximum time without media, whatever the rhythm: a device may have failed behind a connection that lives.
    var maximumMedia = MediaDuration.seconds(300)
    /// Time without a sign of life after which one is requested, where the protocol has a request for that.
    var request = MediaDuration.seconds(5)
  }

  /// Minimum pause that is a source's rhythm.
  private static let minimumPause = MediaDuration.seconds(5)
  /// Number of pauses that a source may be late.
  private static let tolerance: Int64 = 4

  private let limits: Limits
  private var lastSign: MediaTime
  private var lastRequest: MediaTime
  private var lastMedia: MediaTime
  private var lastAudio: MediaTime?
  /// The last two pauses, and the end of the last one.
  private var pauses = (MediaDuration.zero, MediaDuration.zero)
  private var lastPauseEnd: MediaTime

  /// A source that begins, as with a connection or its first packet.
  init(at now: MediaTime, limits: Limits = Limits()) {
    self.limits = limits
    (self.lastSign, self.lastRequest, self.lastMedia, self.lastPauseEnd) = (now, now, now, now)
  }

  /// Records a packet of media.
  mutating func handleMedia(_ kind: MediaKind, at now: MediaTime) {
    let pause = now - self.lastMedia
    if pause >= Self.minimumPause {
      self.pauses = (self.pauses.1, pause)
      self.lastPauseEnd = now
    } else if now - self.lastPauseEnd > self.limits.maximumMedia {
      self.pauses = (.zero, .zero)
    }
    self.lastMedia = now
    if kind == .audio { self.lastAudio = now }
    self.handleSign(at: now)
  }

  /// Records that the peer has sent something, such as a report or a response.
  mutating func handleSign(at now: MediaTime) {
    self.lastSign = now
  }

  /// Records that a sign of life was requested.
  mutating func handleRequest(at now: MediaTime) {
    self.lastRequest = now
  }

  /// Time at which a sign of life is to be requested.
  var requestTime: MediaTime { max(self.lastSign, self.lastRequest) + self.limits.request }

  /// Time at which the source is lost, unless something comes before.
  var lossTime: MediaTime { min(self.lastSign + self.limits.connection, self.mediaLossTime) }

  /// Time at which the source is lost although its connection lives, unless media comes before.
  var mediaLossTime: MediaTime { self.lastMedia + self.mediaTimeout }

  /// Maximum time without media.
  var mediaTimeout: MediaDuration {
    let isAudible = self.lastAudio.map { self.lastMedia - $0 < Self.minimumPause } ?? false
    let rhythm = min(self.pauses.0, self.pauses.1) * Self.tolerance
    return min(max(isAudible ? self.limits.audible : self.limits.media, rhythm), self.limits.maximumMedia)
  }
}
