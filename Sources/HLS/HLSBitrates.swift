internal import Media

/// The bitrates of segments, for the multivariant playlist.
struct HLSBitrates: Hashable, Sendable {
  /// That of the fullest segment, bits a second.
  private(set) var peak = 0
  private var bits: Double = 0
  private var seconds: Double = 0

  /// That of all segments together; nil before the first.
  var average: Int? {
    self.seconds > 0 ? Int(self.bits / self.seconds) : nil
  }

  mutating func add(bytes: Int, duration: MediaDuration) {
    // A short first segment holds a keyframe and little else, which says nothing of a bitrate.
    let seconds = max(duration.seconds, 0.5)
    self.peak = max(self.peak, Int(Double(bytes) * 8 / seconds))
    self.bits += Double(bytes) * 8
    self.seconds += seconds
  }
}
