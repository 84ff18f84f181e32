internal import Media
internal import Threading

/// What the capturers have in common that make their sound: the thread and its pace.
final class SoundGenerator: Sendable {
  let format: AudioFormat
  private let thread: WorkerThread
  private let samples: @Sendable (Range<Int64>) -> [Float]

  /// - Parameters:
  ///   - name: The thread's name.
  ///   - samples: Makes the samples of all channels of a stretch of time, counted from a whole second of the time of
  ///     day.
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
      // Blocks of 10 ms, handed over when their last sample has passed, as a microphone would.
      let length = Int64(max(format.sampleRate / 100, 1))
      let rate = FrameRate(Int32(clamping: format.sampleRate), over: Int32(clamping: length))
      var pacer = FramePacer(rate: rate, signal: signal)
      var next: Int64?
      while let (index, _) = pacer.next() {
        // Unlike a picture, sound that was missed is made up for, so that there is no gap; but not for ever.
        for block in max(next ?? index - 1, index - 100)..<index {
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
