/// A stretch of uncompressed sound.
public struct AudioBlock: Sendable {
  /// Sample rate and channels.
  public let format: AudioFormat
  /// When the first sample was captured, on the streams' clock.
  public var timestamp: MediaTime
  /// The samples, -1 to 1, the channels of one instant next to each other; a multiple of the channel count.
  public var samples: [Float] {
    didSet { self.packet = nil }
  }
  /// What the samples were decoded from, where that is one packet that holds exactly them; forgotten when they are changed.
  public var packet: AudioPacket?

  /// A block of sound.
  public init(format: AudioFormat, timestamp: MediaTime, samples: [Float], packet: AudioPacket? = nil) {
    precondition(samples.count.isMultiple(of: format.channelCount), "every instant has a sample of each channel")
    self.format = format
    self.timestamp = timestamp
    self.samples = samples
    self.packet = packet
  }

  /// Samples of each channel.
  public var sampleCount: Int {
    self.samples.count / self.format.channelCount
  }

  /// The time that the block takes.
  public var duration: MediaDuration {
    self.format.duration(ofSamples: self.sampleCount)
  }
}
