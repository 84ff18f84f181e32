public import Media
internal import Threading

/// Calls a synthesis closure every 10 ms on a thread of its own; the engine of all generated audio.
final class AudioGenerator: Sendable {
  /// Maximum number of missed blocks made up for after a late wake-up: one second.
  private static let maximumBurst: Int64 = 100

  let format: AudioFormat
  private let thread: WorkerThread
  private let samples: @Sendable (Range<Int64>) -> [Float]

  /// - Parameters:
  ///   - name: Name of the thread, at most 15 bytes on Linux.
  ///   - samples: Returns the interleaved samples of a range, counted from a whole second of wall-clock time.
  init(name: String, format: AudioFormat, samples: @escaping @Sendable (Range<Int64>) -> [Float]) {
    self.format = format
    self.thread = WorkerThread(name: name)
    self.samples = samples
  }

  var isStarted: Bool {
    self.thread.isStarted
  }

  func start(consumer: any AudioConsumer) throws(VidiconError) {
    let format = self.format
    let samples = self.samples
    try self.thread.start { signal in
      // A block of 10 ms is delivered when its last sample has passed, as by a microphone.
      let length = Int64(max(format.sampleRate / 100, 1))
      let rate = FrameRate(Int32(clamping: format.sampleRate), over: Int32(clamping: length))
      var pacer = FramePacer(rate: rate, signal: signal)
      var next: Int64?
      while let (index, _) = pacer.next() {
        // Unlike frames, missed audio is made up for, so that there is no gap.
        for block in max(next ?? index - 1, index - Self.maximumBurst)..<index {
          if signal.isStopped { return }
          let range = block * length..<(block + 1) * length
          let time = pacer.grid.anchor + .ticks(range.lowerBound, timescale: Int32(clamping: format.sampleRate))
          consumer.consume(AudioBlock(format: format, timestamp: time, samples: samples(range)))
        }
        next = index
      }
    }
  }

  func stop() {
    self.thread.stop()
  }
}

/// An audio capturer that forwards to its ``AudioGenerator``.
protocol GeneratedAudioCapturer: AudioCapturer {
  var generator: AudioGenerator { get }
}

extension GeneratedAudioCapturer {
  /// Sample rate and channel count that were passed to the initializer.
  public var format: AudioFormat {
    self.generator.format
  }

  /// True from a successful `start(consumer:)` until `stop()`.
  public var isStarted: Bool {
    self.generator.isStarted
  }

  /// Starts generating blocks of 10 ms without gaps; sample `n` has a timestamp of `n` / sample rate after a whole second
  /// of wall-clock time.
  ///
  /// - Throws: ``VidiconError`` with ``VidiconError/Code/failed`` when the system can start no thread.
  public func start(consumer: any AudioConsumer) throws(VidiconError) {
    try self.generator.start(consumer: consumer)
  }

  /// Stops generating and waits for the thread to end.
  public func stop() {
    self.generator.stop()
  }
}

/// Silence, for a stream that needs an audio track but has no audio source.
public final class SilenceCapturer: GeneratedAudioCapturer {
  let generator: AudioGenerator

  /// Silence of any sample rate and channel count.
  public init(format: AudioFormat = AudioFormat(sampleRate: 48_000, channelCount: 2)) {
    self.generator = AudioGenerator(name: "silence", format: format) {
      Array(repeating: 0, count: $0.count * format.channelCount)
    }
  }
}
