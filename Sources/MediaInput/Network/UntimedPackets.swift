internal import Media

/// Times of packets that have none, such as H.264 without a container over HTTP or in a named pipe. Pure.
///
/// A file is sent faster than it plays: its packets are counted, by the frame rate that it declares, and held back. A live source is
/// waited for as long as its packets last; they have their times of arrival, since the rate that it declares may be wrong, and counting
/// would add latency. They differ by the time in which they are waited for, also while packets are held back: one that could send
/// more is not waited for then.
struct UntimedPackets {
  /// Whether packets have their times of arrival.
  private(set) var isLive = false
  /// Whether the source may be live; otherwise packets are always counted.
  private let mayBeLive: Bool
  /// Time of the next packet.
  private var time = MediaTime.zero
  /// Duration of packets since a decision, and the time in which they were waited for.
  private var recent = (duration: MediaDuration.zero, wait: MediaDuration.zero)

  /// Factor up to which a source that sends faster than it declares is live: libavformat supposes 25 frames a second where none are
  /// declared, and cameras send up to 60.
  private static let maximumSpeed: Int64 = 3
  /// Wait within ``span`` after which a source is live.
  private static let liveWait = MediaDuration.seconds(2)
  /// Duration of packets after which a decision begins again: a file on a network that stalls for a moment is none that is live.
  private static let span = MediaDuration.seconds(6)
  /// Duration of packets after which a live source is held back that sends them faster: after a stall all comes at once.
  private static let fastSpan = MediaDuration.seconds(3)
  /// Longer packets are mistakes.
  private static let maximumDuration = MediaDuration.seconds(10)

  /// - Parameter mayBeLive: False for a file.
  init(mayBeLive: Bool) {
    self.mayBeLive = mayBeLive
  }

  /// Counts the next packet.
  ///
  /// - Parameters:
  ///   - duration: Its duration; nil when unknown.
  ///   - wait: Time in which it was waited for.
  /// - Returns: Its decode time on a clock that begins at 0; nil where it has its time of arrival.
  mutating func time(of duration: MediaDuration?, after wait: MediaDuration) -> MediaTime? {
    let duration = min(max(duration ?? .zero, .zero), Self.maximumDuration)
    if self.mayBeLive { self.decide(duration, wait) }
    guard !self.isLive, duration > .zero else { return nil }
    defer { self.time += duration }
    return self.time
  }

  private mutating func decide(_ duration: MediaDuration, _ wait: MediaDuration) {
    self.recent.duration = self.recent.duration + duration
    self.recent.wait = self.recent.wait + min(max(wait, .zero), Self.span)
    let (sent, waited) = self.recent
    let isDecided: Bool
    if self.isLive {
      isDecided = sent >= Self.fastSpan
      if isDecided { self.isLive = waited.nanoseconds > sent.nanoseconds / Self.maximumSpeed }
    } else {
      self.isLive = waited >= Self.liveWait
      isDecided = self.isLive || sent >= Self.span
    }
    if isDecided { self.recent = (.zero, .zero) }
  }
}
