internal import Media

/// Silence or cut that makes a block of audio contiguous with the previous one: the encoder counts samples, while the
/// source timestamps blocks.
struct AudioAlignment: Hashable {
  /// Number of samples of silence to insert before the block.
  var silence = 0
  /// Number of samples to remove from the start of the block.
  var excess = 0
  /// Whether the block is contiguous with the previous one.
  var isNone: Bool { self.silence == 0 && self.excess == 0 }

  /// Maximum difference between a block's timestamp and the sample count that is neither a gap nor an overlap: above
  /// the jitter of a capturer that timestamps blocks on arrival, below the 40 ms of noticeable lip-sync error.
  static let tolerance = MediaDuration.milliseconds(20)

  /// Compares the timestamp of a block with the sample count.
  ///
  /// - Parameters:
  ///   - start: Timestamp of the block.
  ///   - expected: Time of the block by the sample count.
  ///   - tolerance: Zero for the first block of a source, which is unrelated to the previous block.
  init(start: MediaTime, expected: MediaTime, sampleRate: Int, tolerance: MediaDuration = Self.tolerance) {
    let gap = start - expected
    if gap > tolerance {
      self.silence = Int(gap.ticks(timescale: Int32(sampleRate)))
    } else if gap < MediaDuration.zero - tolerance {
      self.excess = Int((expected - start).ticks(timescale: Int32(sampleRate)))
    }
  }
}
