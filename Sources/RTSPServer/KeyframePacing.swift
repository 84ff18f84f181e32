internal import CDatagrams
internal import Media
internal import RTP

/// Decides whether the keyframes of a viewer over UDP are spread over part of the frame interval: while its receiver reports show
/// loss. Pure: `now` is an argument.
///
/// A keyframe is many datagrams at once; a short queue on the way, as of an access point, drops the last of them.
struct KeyframePacing {
  /// Fraction of lost packets in a report, above which keyframes are spread.
  static let maximumLoss = 0.01
  /// Time for which they are spread after such a report.
  static let duration = MediaDuration.seconds(10)

  private var end: MediaTime?

  /// Spreads keyframes for ``duration`` after a report block with more than ``maximumLoss``.
  ///
  /// - Parameter fractionLost: Fraction of packets lost since the last report, in 1 / 256.
  mutating func handleReport(fractionLost: UInt8, at now: MediaTime) {
    if Double(fractionLost) / 256 > Self.maximumLoss { self.end = now + Self.duration }
  }

  /// Whether keyframes are spread.
  func isNeeded(at now: MediaTime) -> Bool {
    self.end.map { now < $0 } ?? false
  }
}

/// The datagrams of a keyframe that are sent in bursts of a few packets. Pure: `now` is an argument.
struct PacedKeyframe {
  let packets: SharedPackets
  /// The viewers whose keyframes are spread.
  private(set) var destinations: [vidicon_destination]
  /// Index of the socket.
  let route: Int
  private let start: MediaTime
  /// Time between the first burst and the end of the last one.
  private let spread: MediaDuration
  private var bursts: ArraySlice<RTPPacketBatch.DatagramRun>
  private let count: Int

  /// A keyframe whose first burst is due now.
  init(
    _ packets: SharedPackets, to destinations: [vidicon_destination], route: Int, over spread: MediaDuration,
    from start: MediaTime
  ) {
    self.packets = packets
    self.destinations = destinations
    self.route = route
    self.start = start
    self.spread = spread
    self.bursts = packets.bursts()[...]
    self.count = self.bursts.count
  }

  /// Whether every burst is taken.
  var isComplete: Bool { self.bursts.isEmpty }

  /// Time of the next burst; nil when every burst is taken.
  var nextDeadline: MediaTime? {
    guard !self.bursts.isEmpty else { return nil }
    let index = Int64(self.count - self.bursts.count)
    return self.start + MediaDuration(nanoseconds: self.spread.nanoseconds * index / Int64(self.count))
  }

  /// Removes the next burst if it is due; nil otherwise.
  mutating func takeBurst(at now: MediaTime) -> RTPPacketBatch.DatagramRun? {
    guard let deadline = self.nextDeadline, deadline <= now else { return nil }
    return self.bursts.removeFirst()
  }

  /// Removes all bursts that are left: the datagrams of the next access unit follow.
  mutating func takeRest() -> [RTPPacketBatch.DatagramRun] {
    defer { self.bursts = [] }
    return Array(self.bursts)
  }

  /// Sends nothing more to a viewer that has left.
  mutating func remove(_ destination: vidicon_destination) {
    // A destination without a length is skipped.
    for index in self.destinations.indices where self.destinations[index].hasAddress(of: destination) {
      self.destinations[index].length = 0
    }
  }
}
