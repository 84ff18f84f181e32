public import Media

/// Maps the RTP timestamps of a sender's tracks to one clock, RFC 3550 §6.4.1. Pure: times are arguments.
///
/// Until a track's first sender report, its first timestamp means its arrival. Sender reports map both tracks to the sender's wall
/// clock, whose difference to the receiver's is measured once, so that audio and video keep the offset that they were captured with.
///
/// A mapped time more than ``maximumDeviation`` from its arrival starts the mapping again: the sender's clock was set, or it is hostile.
public struct RTPSourceClock: Sendable {
  /// A timestamp, extended to 64 bits, and the time that it means.
  private struct Anchor {
    var ticks: Int64
    var time: MediaTime
  }

  /// Maximum distance of a mapped time from its arrival.
  public static let maximumDeviation = MediaDuration.seconds(10)

  private var anchors: [Int: Anchor] = [:]
  /// Receiver's time minus sender's wall clock; nil before the first sender report.
  private var wallClockOffset: MediaDuration?

  /// A clock before the first packet.
  public init() {}

  /// Returns the time of a timestamp.
  ///
  /// - Parameters:
  ///   - ticks: The RTP timestamp, extended to 64 bits.
  ///   - track: Index of the track.
  ///   - clockRate: Ticks per second of the track.
  ///   - arrival: Time of the packet's arrival.
  public mutating func time(of ticks: Int64, track: Int, clockRate: Int32, arrival: MediaTime) -> MediaTime {
    if let time = self.mapped(ticks, track: track, clockRate: clockRate) {
      if Self.isPlausible(time, arrival: arrival) { return time }
      self = RTPSourceClock()
    }
    self.anchors[track] = Anchor(ticks: ticks, time: arrival)
    return arrival
  }

  /// Maps the timestamps of a track by the pair of times of a sender report from now on.
  ///
  /// - Parameters:
  ///   - report: The report.
  ///   - ticks: Its RTP timestamp, extended to 64 bits.
  ///   - track: Index of the track.
  ///   - clockRate: Ticks per second of the track.
  ///   - arrival: Time of the report's arrival.
  public mutating func handle(
    _ report: RTCPSenderReport, ticks: Int64, track: Int, clockRate: Int32, arrival: MediaTime
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
    self.anchors[track] = Anchor(ticks: ticks, time: time)
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
