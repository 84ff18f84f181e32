internal import Media

/// Fills the place of lost audio packets with what was heard before them, backward and fading, so that what follows keeps its time. Pure.
///
/// A stream counts samples, and takes a block that is late by a packet for one whose timestamp has jitter: it would close the gap, so that all
/// that follows is heard too early. It fills a longer gap with silence itself.
///
/// Backward, the fill begins with the value at which the audio broke off, and has its pitch; no decoder needs to take part.
struct LossConcealment {
  /// Minimum length of a gap: less than packets of any sender have, 10 ms, and more than timestamps are rounded by.
  static let minimumGap = MediaDuration.milliseconds(5)
  /// Maximum length of a gap: three packets of 20 ms.
  static let maximumGap = MediaDuration.milliseconds(60)

  /// Maximum distance of a timestamp from the count of samples that is jitter: that of a stream.
  static let jitter = MediaDuration.milliseconds(20)

  /// The block before.
  private var last: AudioBlock?
  /// Time behind it, by the count of samples.
  private var end = MediaTime.zero

  /// A block with what is missing before it.
  mutating func filled(_ block: AudioBlock) -> AudioBlock {
    let (last, end) = (self.last, self.end)
    (self.last, self.end) = (block, block.timestamp + block.duration)
    guard let last, last.format == block.format else { return block }
    let gap = block.timestamp - end
    guard gap >= Self.minimumGap, gap <= Self.maximumGap else {
      if gap <= Self.jitter, end - block.timestamp <= Self.jitter { self.end = end + block.duration }
      return block
    }
    let channels = block.format.channelCount
    let count = Int(gap.ticks(timescale: Int32(block.format.sampleRate)))
    let faded = min(count, last.sampleCount)
    var samples: [Float] = []
    samples.reserveCapacity(count * channels + block.samples.count)
    for index in 0..<faded {
      let level = 1 - Float(index) / Float(faded)
      let instant = (last.sampleCount - 1 - index) * channels
      for channel in 0..<channels { samples.append(last.samples[instant + channel] * level) }
    }
    samples.append(contentsOf: repeatElement(0, count: (count - faded) * channels))
    samples.append(contentsOf: block.samples)
    return AudioBlock(format: block.format, timestamp: end, samples: samples)
  }
}
