public import Media

/// Silence, for a stream that is to have a sound track but has no sound.
public final class SilenceCapturer: AudioCapturer {
  private let generator: SoundGenerator

  /// Silence in any format.
  public init(format: AudioFormat = AudioFormat(sampleRate: 48_000, channelCount: 2)) {
    self.generator = SoundGenerator(name: "silence", format: format) {
      Array(repeating: 0, count: $0.count * format.channelCount)
    }
  }

  /// The format that was asked for.
  public var format: AudioFormat {
    self.generator.format
  }

  /// Whether blocks are being made.
  public var isStarted: Bool {
    self.generator.isStarted
  }

  /// Begins to make blocks of 10 ms without gaps.
  public func start(consumer: any AudioConsumer) throws(VidiconError) {
    try self.generator.start(consumer: consumer)
  }

  /// Ends it.
  public func stop() {
    self.generator.stop()
  }
}
