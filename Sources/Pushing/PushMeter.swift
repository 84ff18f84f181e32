internal import Media

/// The bitrate of what was passed to a connection during the last second. Pure: `now` is an argument.
struct PushMeter {
  /// Time over which bytes are counted.
  private static let interval = MediaDuration.seconds(1)

  /// Bits per second of the last whole interval; 0 before the first.
  private(set) var bitrate = 0
  private var start: MediaTime
  private var startByteCount: Int64 = 0

  init(at now: MediaTime) { self.start = now }

  /// Counts the bytes that were passed to the connection since it began; called several times a second.
  mutating func update(byteCount: Int64, at now: MediaTime) {
    let duration = now - self.start
    guard duration >= Self.interval else { return }
    self.bitrate = Int(Double(byteCount - self.startByteCount) * 8 / duration.seconds)
    (self.start, self.startByteCount) = (now, byteCount)
  }
}
