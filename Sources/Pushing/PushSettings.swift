public import Media

/// Bitrates and timeouts of a push: the stream as it is sent to another server.
package struct PushSettings: Hashable, Sendable {
  /// Whether the stream has video: sending starts at a keyframe.
  package var hasVideo: Bool
  /// Bitrate of the stream's video, in bits per second: what is sent while the link carries it.
  package var bitrate: Int
  /// Bitrate of the encoding that is shared with all viewers, and sent while there is no other; nil where it is ``bitrate``.
  package var sharedBitrate: Int?
  /// Minimum bitrate of video that an encoding of this push alone may have; nil sends the stream as it is, whose frames are
  /// dropped where the link falls short.
  package var minimumBitrate: Int?
  /// Whether an encoding of this push alone is requested at the start of each connection, and kept; ``bitrate`` is its
  /// maximum.
  package var alwaysHasOwnEncoding = false
  /// Whether the protocol estimates what its connection carries: the bitrate then follows the estimate, and unsent bytes say nothing.
  package var hasEstimate = false
  /// Time without a keyframe after which one is requested; 2.1 s by default, since servers cut segments at keyframes.
  package var keyframeInterval = MediaDuration.milliseconds(2100)
  /// Maximum time from the start of a connection until the server has accepted the stream; 60 s by default.
  package var attemptTimeout = MediaDuration.seconds(60)
  /// Time without progress after which a connection is given up; 10 s by default.
  package var stallTimeout = MediaDuration.seconds(10)
  /// Time of sending after which the next delay before a connection is the first of the back-off again; 5 s by default, so that
  /// pushes to a server that restarts every 10 s continue soon.
  package var calmTime = MediaDuration.seconds(5)

  /// Creates settings; bitrates are raised to 1.
  package init(hasVideo: Bool = true, bitrate: Int, minimumBitrate: Int? = nil) {
    self.hasVideo = hasVideo
    self.bitrate = max(1, bitrate)
    self.minimumBitrate = minimumBitrate.map { min(max(1, $0), max(1, bitrate)) }
  }

  /// The same settings with another bitrate; the minimum is lowered to it.
  func with(bitrate: Int) -> PushSettings {
    var settings = self
    settings.bitrate = max(1, bitrate)
    settings.minimumBitrate = self.minimumBitrate.map { min($0, settings.bitrate) }
    return settings
  }
}

/// State and counters of a push, for its owner. Has no address and no key.
public struct PushStatus: Hashable, Sendable {
  /// Step of the connection to the server: from ``stopped`` over ``connecting`` to ``sending``, with ``waiting(until:)``
  /// between attempts.
  public enum Phase: Hashable, Sendable {
    /// Not started, or stopped.
    case stopped
    /// Connecting, or waiting until the server accepts the stream.
    case connecting
    /// Connected and accepted: samples are sent as the link carries them.
    case sending
    /// Waiting to connect again.
    case waiting(until: MediaTime)

    /// All values of ``name``, which metrics have as labels.
    public static let names = ["stopped", "connecting", "sending", "waiting"]

    /// One word for programs: `stopped`, `connecting`, `sending` or `waiting`.
    public var name: String {
      switch self {
      case .stopped: "stopped"
      case .connecting: "connecting"
      case .sending: "sending"
      case .waiting: "waiting"
      }
    }
  }

  /// Step of the connection now.
  public var phase = Phase.stopped
  /// Reason for which the last connection or attempt has ended; nil before the first has.
  public var lastFailure: String?
  /// Connections after the first that a server accepted.
  public var reconnects = 0
  /// Attempts that failed since the last accepted connection.
  public var failedAttempts = 0
  /// Bytes of media that were passed to connections.
  public var sentByteCount = 0
  /// Frames that were dropped because the link was too slow; those that came while nothing was connected are not counted.
  public var droppedFrames = 0
  /// Audio frames that were dropped because the link was too slow.
  public var droppedAudioFrames = 0
  /// Target bitrate of the video that is sent, in bits per second.
  public var bitrate = 0
  /// Bits per second of audio and video that were passed to the connection during the last second; 0 while nothing is sent.
  public var sentBitrate = 0
  /// Whether the video comes from an encoding of this push alone.
  public var hasOwnEncoding = false
  /// Whether the push waits for an encoding of its own, because the maximum number of encodings is in use.
  public var isWaitingForEncoding = false
  /// Age of the oldest sample that has not left.
  public var queueAge = MediaDuration.zero

  /// The state of a push that was not started.
  public init() {}
}
