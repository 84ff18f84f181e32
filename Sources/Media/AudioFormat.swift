/// The shape of sound: sample rate and number of channels. Samples are 32-bit floating point throughout.
public struct AudioFormat: Hashable, Sendable {
  /// Samples a second of one channel, such as 44 100 or 48 000; at least 1.
  public let sampleRate: Int
  /// 1 for mono, 2 for stereo (left first); at least 1.
  public let channelCount: Int

  /// A format; both values at least 1.
  public init(sampleRate: Int, channelCount: Int) {
    precondition(sampleRate > 0 && channelCount > 0, "sound has at least one sample a second and one channel")
    self.sampleRate = sampleRate
    self.channelCount = channelCount
  }

  /// The time that a number of samples of each channel takes.
  public func duration(ofSamples count: Int) -> MediaDuration {
    .ticks(Int64(count), timescale: Int32(self.sampleRate))
  }
}
