public import Media

/// Maps the RTP timestamps of a sender's tracks to one clock, RFC 3550 §6.4.1. Pure: times are arguments.
///
/// Until a track's first sender report, its first timestamp means its arrival. Sender reports map both tracks to the sender's wall
/// clock, whose difference to the receiver's is measured once, so that audio and video keep the offset that they were captured with.
///
/// Many cameras send no reports, and their clocks of audio and video drift apart, by seconds in a day. The arrival then is all that both
/// have in common: the times of a track without reports follow those of the other one slowly, by their lowest latencies.
///
/// A mapped time more than ``maximumDeviation`` from its arrival starts the mapping again: the sender's clock was set, or it is hostile.
public struct RTPSourceClock: Sendable {
  /// A timestamp, extended to 64 bits, and the time that it means.
  private struct Anchor {
    var ticks: Int64
    var time: MediaTime
    let kind: MediaKind
    /// Whether a sender report has said it.
    var isReported = false
    /// Lowest latency of the track in the current span.
    var latency: MediaDuration?
  }

  /// Maximum distance of a mapped time from its arrival.
  public static let maximumDeviation = MediaDuration.seconds(10)

  /// Time without a sender report after which a track follows the other one.
  private static let reportTimeout = MediaDuration.seconds(10)
  /// Interval at which it does so, and how far: half a percent, and less than a frame's interval.
  private static let driftSpan = MediaDuration.seconds(2)
  private static let driftStep = MediaDuration.milliseconds(10)
  /// Difference of latencies that is too small to be seen, and as networks make it.
  private static let driftTolerance = MediaDuration.milliseconds(20)

  private var anchors: [Int: Anchor] = [:]
  /// End of the current span of latencies; nil before the first packet.
  private var spanEnd: MediaTime?
  /// Receiver's time minus sender's wall clock; nil before the first sender report.
  private var wallClockOffset: MediaDuration?

  /// A clock before the first packet.
  public init() {}

  /// Returns the time of a timestamp.
  ///
  /// - Parameters:
  ///   - ticks: The RTP timestamp, extended to 64 bits.
  ///   - track: Index of the track.
  ///   - kind: Whether the track is video or audio.
  ///   - clockRate: Ticks per second of the track.
  ///   - arrival: Time of the packet's arrival.
  public mutating func time(
    of ticks: Int64, track: Int, kind: MediaKind, clockRate: Int32, arrival: MediaTime
  ) -> MediaTime {
    if let time = self.mapped(ticks, track: track, clockRate: clockRate) {
      if Self.isPlausible(time, arrival: arrival) {
        self.follow(track, latency: arrival - time, at: arrival)
        return time
      }
      self = RTPSourceClock()
    }
    self.anchors[track] = Anchor(ticks: ticks, time: arrival, kind: kind)
    return arrival
  }

  /// Maps the timestamps of a track by the pair of times of a sender report from now on.
  ///
  /// - Parameters:
  ///   - report: The report.
  ///   - ticks: Its RTP timestamp, extended to 64 bits.
  ///   - track: Index of the track.
  ///   - kind: Whether the track is video or audio.
  ///   - clockRate: Ticks per second of the track.
  ///   - arrival: Time of the report's arrival.
  public mutating func handle(
    _ report: RTCPSenderReport, ticks: Int64, track: Int, kind: MediaKind, clockRate: Int32, arrival: MediaTime
  ) {
    // Senders without a wall clock send 0.
    guard report.ntpTimestamp.rawValue != 0 else { return }
    let sent = MediaTime(nanoseconds: report.ntpTimestamp.unixNanoseconds)
    let offset = self.wallClockOffset ?? ((self.mapped(ticks, track: track, clockRate: clockRate) ?? arrival) - sent)
    let time = sent + offset
    guard Self.isPlausible(time, arrival: arrival) else {
      self = RTPSourceClock()
      return
    }
    self.wallClockOffset = offset
    self.anchors[track] = Anchor(
      ticks: ticks, time: time, kind: kind, isReported: true, latency: self.anchors[track]?.latency)
  }

  /// Keeps the lowest latency of a track's packets, and moves a track without reports towards the other one at the end of a span: the video, of which a
  /// step is not noticed, unless the audio alone has none.
  private mutating func follow(_ track: Int, latency: MediaDuration, at now: MediaTime) {
    let lowest = self.anchors[track]?.latency ?? latency
    self.anchors[track]?.latency = min(lowest, latency)
    let end = self.spanEnd ?? now + Self.reportTimeout
    self.spanEnd = end
    guard now >= end else { return }
    self.spanEnd = now + Self.driftSpan
    let video = self.anchors.first { $0.value.kind == .video }
    let audio = self.anchors.first { $0.value.kind == .audio }
    for index in self.anchors.keys { self.anchors[index]?.latency = nil }
    guard let video, let audio, !video.value.isReported || !audio.value.isReported,
      let videoLatency = video.value.latency, let audioLatency = audio.value.latency
    else { return }
    let drift = videoLatency - audioLatency
    guard drift > Self.driftTolerance || drift < .zero - Self.driftTolerance else { return }
    let step = min(max(drift / 2, .zero - Self.driftStep), Self.driftStep)
    if video.value.isReported {
      self.anchors[audio.key]?.time = audio.value.time - step
    } else {
      self.anchors[video.key]?.time = video.value.time + step
    }
  }

  private func mapped(_ ticks: Int64, track: Int, clockRate: Int32) -> MediaTime? {
    self.anchors[track].map { anchor in
      anchor.time + .ticks(ticks.subtractingReportingOverflow(anchor.ticks).partialValue, timescale: clockRate)
    }
  }

  private static func isPlausible(_ time: MediaTime, arrival: MediaTime) -> Bool {
    let distance = time - arrival
    return distance <= Self.maximumDeviation && distance >= .zero - Self.maximumDeviation
  }
}
