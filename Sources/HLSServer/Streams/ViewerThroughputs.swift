internal import HTTPServer
internal import Media

/// Throughput of the connections of HLS viewers, which a player that starts again is assumed to have still.
struct ViewerThroughputs {
  private struct Entry {
    var bitrate: Int
    var time: MediaTime
  }

  /// Time for which a measurement holds.
  static let lifetime = MediaDuration.seconds(60)
  /// Maximum number of viewers; further ones are not measured.
  static let maximumCount = 10_000

  private var entries: [Int: Entry] = [:]
  private var lastPruning = MediaTime.zero

  /// Records a measurement.
  mutating func note(_ measurement: ConnectionThroughput, of viewer: Viewer, at now: MediaTime) {
    if self.entries.count >= Self.maximumCount, self.entries[viewer.key] == nil {
      // A pass for each new viewer would dominate the cost.
      guard now - self.lastPruning >= .seconds(1) else { return }
      self.lastPruning = now
      self.entries = self.entries.filter { now - $0.value.time < Self.lifetime }
      guard self.entries.count < Self.maximumCount else { return }
    }
    let known = self.bitrate(of: viewer, at: now)
    self.entries[viewer.key] = Entry(
      bitrate: known.map { ($0 + measurement.bitrate) / 2 } ?? measurement.bitrate, time: now)
  }

  /// Bits per second that a viewer's network carries; nil when unknown.
  func bitrate(of viewer: Viewer, at now: MediaTime) -> Int? {
    self.entries[viewer.key].flatMap { now - $0.time < Self.lifetime ? $0.bitrate : nil }
  }

  /// A client address with a `User-Agent`.
  struct Viewer: Hashable, Sendable {
    fileprivate let key: Int

    init(address: String, userAgent: String) {
      var hasher = Hasher()
      hasher.combine(address)
      hasher.combine(userAgent)
      self.key = hasher.finalize()
    }
  }
}
