public import NIOCore

/// Consecutive samples of uncompressed audio, of any length, with the capture time of the first one.
public struct AudioBlock: Sendable {
  /// Sample rate in Hz and channel count of ``samples``.
  public let format: AudioFormat
  /// Capture time of the first sample, on the streams' clock.
  public var timestamp: MediaTime
  /// Samples from -1 to 1, channels interleaved; the count is a multiple of the channel count.
  public var samples: [Float] {
    didSet { self.packet = nil }
  }
  /// The AAC packet that decodes to exactly these samples, for passing it through; nil once the samples are modified.
  public var packet: AudioPacket?

  /// Creates a block.
  ///
  /// - Parameter samples: Traps unless the count is a multiple of the channel count.
  public init(format: AudioFormat, timestamp: MediaTime, samples: [Float], packet: AudioPacket? = nil) {
    precondition(samples.count.isMultiple(of: format.channelCount), "each instant has a sample of each channel")
    self.format = format
    self.timestamp = timestamp
    self.samples = samples
    self.packet = packet
  }

  /// Number of samples of each channel.
  public var sampleCount: Int {
    self.samples.count / self.format.channelCount
  }

  /// Playing time at the format's sample rate, rounded down to a nanosecond.
  public var duration: MediaDuration {
    self.format.duration(ofSamples: self.sampleCount)
  }
}

/// Sample rate and channel count of uncompressed audio. Samples are 32-bit floating point throughout.
public struct AudioFormat: Hashable, Sendable {
  /// Samples per second of one channel, such as 44,100 or 48,000; at least 1.
  public let sampleRate: Int
  /// Number of channels: 1 is mono, 2 is stereo (left first); at least 1.
  public let channelCount: Int

  /// Creates a format; traps unless both values are at least 1.
  public init(sampleRate: Int, channelCount: Int) {
    precondition(sampleRate > 0 && channelCount > 0, "audio has at least one sample per second and one channel")
    self.sampleRate = sampleRate
    self.channelCount = channelCount
  }

  /// Playing time of `count` samples of each channel, rounded down to a nanosecond.
  public func duration(ofSamples count: Int) -> MediaDuration {
    .ticks(Int64(count), timescale: Int32(self.sampleRate))
  }
}

/// The AAC packet that an ``AudioBlock`` was decoded from, for streams that pass it through.
public struct AudioPacket: Sendable {
  /// One `raw_data_block` (ISO/IEC 14496-3), without ADTS header.
  public var payload: ByteBuffer
  /// AAC configuration with which a decoder decodes ``payload``.
  public var description: AACDescription

  /// Creates a packet from its payload and decoder configuration.
  public init(payload: ByteBuffer, description: AACDescription) {
    self.payload = payload
    self.description = description
  }
}
