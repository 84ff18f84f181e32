internal import Media

/// Fits a block of audio to the previous one: the encoder counts samples, the source timestamps blocks.
struct AudioAlignment: Hashable {
  /// Samples of silence to put in front of the block.
  var silence = 0
  /// Samples to cut off its start.
  var excess = 0
  /// Whether the block is contiguous with the previous one.
  var isNone: Bool { self.silence == 0 && self.excess == 0 }

  /// How far the source's timestamps may be off what the sample count says before it is a gap or an overlap: below the
  /// 40 ms at which ear and eye part, above the jitter of a capturer that stamps its blocks on arrival.
  static let tolerance = MediaDuration.milliseconds(20)

  /// The fit of a block that starts at `start`, where the sample count says `expected`.
  ///
  /// - Parameter tolerance: Zero for the first block of a source, which nothing connects with what came before it.
  init(start: MediaTime, expected: MediaTime, sampleRate: Int, tolerance: MediaDuration = Self.tolerance) {
    let gap = start - expected
    if gap > tolerance {
      self.silence = Int(gap.ticks(timescale: Int32(sampleRate)))
    } else if gap < MediaDuration.zero - tolerance {
      self.excess = Int((expected - start).ticks(timescale: Int32(sampleRate)))
    }
  }
}
