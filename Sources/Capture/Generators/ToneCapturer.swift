public import Media

/// A beep each second: 100 ms of 1 kHz at -12 dBFS on each whole second of the time of day, faded in and out over 2 ms;
/// silence in between.
public final class ToneCapturer: AudioCapturer {
  private let generator: SoundGenerator

  /// A tone in any format; the same on all channels.
  public init(format: AudioFormat = AudioFormat(sampleRate: 48_000, channelCount: 2)) {
    let beep = Beep(format: format)
    self.generator = SoundGenerator(name: "tone", format: format) { beep.samples($0) }
  }

  /// The format that was asked for.
  public var format: AudioFormat {
    self.generator.format
  }

  /// Whether sound is being made.
  public var isStarted: Bool {
    self.generator.isStarted
  }

  /// Begins to make sound, in blocks of 10 ms without gaps; sample `n` is taken exactly `n` / rate after a whole second
  /// of the time of day.
  public func start(consumer: any AudioConsumer) throws(VidiconError) {
    try self.generator.start(consumer: consumer)
  }

  /// Ends it.
  public func stop() {
    self.generator.stop()
  }
}
