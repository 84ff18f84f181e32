public import NIOCore

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

/// The packet of AAC that a block of sound was decoded from, for a stream that can send it as it came.
public struct AudioPacket: Sendable {
  /// One `raw_data_block` (ISO/IEC 14496-3), without ADTS header.
  public var payload: ByteBuffer
  /// What a decoder of it must know.
  public var description: AACDescription

  /// A packet.
  public init(payload: ByteBuffer, description: AACDescription) {
    self.payload = payload
    self.description = description
  }
}
