internal import Codecs
internal import Media
internal import NIOCore
internal import Synchronization
internal import Threading

/// Pipeline of audio from its input queue through the resampler to the encoder, on one thread.
///
/// The encoder counts samples, so that its timestamps are contiguous; silence fills gaps of the source, and overlaps
/// are cut. Packets of a source that compresses its audio bypass the encoder where ``AACPassthrough`` allows it. An
/// announced track never stops: players such as OBS show nothing before every track delivers.
final class AudioPipeline {
  private let inputQueue: AudioInputQueue
  private let shared: StreamState
  private let format: AudioFormat
  private let encoder: LibavAACEncoder
  private let clock = StreamClock.system
  private let startTime: MediaTime
  /// The source of the last block.
  private var feed: AudioFeed
  /// Whether the source has ended and delivered nothing since.
  private var hasSourceEnded = false
  /// Arrival of the last block.
  private var lastArrival: MediaTime
  /// Resampler of the current source; nil where its format is the encoder's.
  private var resampler: AudioResampler?
  private var meter = AudioLevelMeter()
  private var passthrough: AACPassthrough
  private var timeout: AudioTimeout

  /// Time without a block after which the audio counts as missing.
  private static let maximumSilence = MediaDuration.seconds(1)

  /// Opens the encoder for a started source.
  init(
    source: AudioFormat,
    feed: AudioFeed,
    inputQueue: AudioInputQueue,
    settings: AudioSettings,
    shared: StreamState
  ) throws(VidiconError) {
    self.inputQueue = inputQueue
    self.feed = feed
    self.shared = shared
    self.format = settings.format(for: source)
    self.timeout = AudioTimeout(settings.timeout)
    self.encoder = try LibavAACEncoder(format: self.format, bitrate: settings.bitrate)
    self.passthrough = AACPassthrough(
      self.encoder.description, isWanted: settings.bitrate == AudioSettings.defaultBitrate)
    self.startTime = self.clock.now()
    self.lastArrival = self.startTime
    shared.statistics.withLock { $0.audioEncoders += 1 }
  }

  deinit {
    self.shared.audioLevel = .silence
    self.shared.statistics.withLock { $0.audioEncoders -= 1 }
  }

  /// Expected time of the next block by the count of samples; nil before the first.
  private var nextTime: MediaTime? {
    self.passthrough.nextTime ?? self.encoder.nextTime
  }

  /// The encoder's configuration.
  var description: AACDescription {
    self.encoder.description
  }

  /// Runs until the input queue is closed.
  func run() throws(VidiconError) {
    while true {
      let expected = self.nextTime ?? self.startTime
      switch self.inputQueue.next(until: self.timeout.deadline(expected: expected)) {
      case .closed: return
      case .ended(let error):
        self.hasSourceEnded = true
        self.shared.statistics.withLock { $0.isAudioMissing = true }
        self.shared.report(.sourceEnded(.audio, error))
      case .audio(let audio): try self.handle(audio)
      case nil:
        let now = self.clock.now()
        if now - self.lastArrival > Self.maximumSilence {
          self.shared.statistics.withLock { $0.isAudioMissing = true }
        }
        let missing = self.timeout.silence(expected: expected, at: now)
        try self.fill(count: Int(missing.ticks(timescale: Int32(self.format.sampleRate))), at: expected)
      }
    }
  }

  private func handle(_ audio: SourceAudio) throws(VidiconError) {
    let now = self.clock.now()
    self.lastArrival = now
    let isCut = audio.feed !== self.feed
    if isCut { self.change(to: audio.feed) }
    self.shared.statistics.withLock { $0.isAudioMissing = false }
    if self.hasSourceEnded {
      self.hasSourceEnded = false
      self.shared.report(.sourceBack(.audio))
    }
    var block = audio.block
    block.timestamp = block.timestamp.checked(at: now, timeout: self.timeout.limit)
    self.shared.audioLevel = self.meter.measure(block)
    if block.format != self.format {
      if self.resampler?.input != block.format {
        self.resampler = try AudioResampler(from: block.format, to: self.format)
      }
      block = self.resampler?.resample(block) ?? block
    }
    let (expected, isMuted) = (self.nextTime ?? block.timestamp, self.shared.isMuted)
    let alignment = AudioAlignment(
      start: block.timestamp, expected: expected, sampleRate: self.format.sampleRate,
      tolerance: isCut ? .zero : AudioAlignment.tolerance)
    if alignment.excess < block.sampleCount {
      self.timeout.handleUse(at: now)
    } else {
      self.timeout.handleCut(block.duration, latency: now - block.timestamp, at: now)
    }
    let passed = self.passthrough.samples(
      for: block, at: expected, follows: !isCut && alignment.isNone, isMuted: isMuted)
    guard passed.isEmpty else { return self.pass(passed) }
    try self.fill(count: alignment.silence, at: expected)
    block.samples.removeFirst(min(alignment.excess, block.sampleCount) * self.format.channelCount)
    if isMuted { block.samples = [Float](repeating: 0, count: block.samples.count) }
    try self.encode(block)
  }

  /// Switches to another source and drops the resampler's rest of the previous one.
  private func change(to feed: AudioFeed) {
    self.feed = feed
    self.resampler = nil
    self.timeout.reset()
    self.shared.report(.sourceSwitched(.audio))
  }

  /// Encodes silence; after a gap of more than a second, such as a suspended machine, advances the time instead.
  private func fill(count: Int, at time: MediaTime) throws(VidiconError) {
    guard count > 0 else { return }
    self.passthrough.reset()
    self.prepareEncoder()
    guard count <= self.format.sampleRate || self.encoder.nextTime == nil else {
      return self.encoder.advance(by: self.format.duration(ofSamples: count))
    }
    self.shared.statistics.withLock { $0.silentSamples += count }
    let count = min(count, self.format.sampleRate)
    let silence = AudioBlock(
      format: self.format, timestamp: time,
      samples: [Float](repeating: 0, count: count * self.format.channelCount))
    self.shared.audioLevel = self.meter.measure(silence)
    try self.encode(silence)
  }

  /// Outputs packets unchanged.
  private func pass(_ samples: [EncodedSample]) {
    self.shared.statistics.withLock {
      $0.audioFramesPassedThrough += samples.count
      $0.audioBytes += samples.reduce(0) { $0 + $1.payload.readableBytes }
    }
    for sample in samples { self.shared.consumeAudio(sample) }
  }

  /// Continues the encoder after packets that were passed through.
  private func prepareEncoder() {
    if let time = self.passthrough.switchToEncoder() { self.encoder.restart(at: time) }
  }

  private func encode(_ block: AudioBlock) throws(VidiconError) {
    self.prepareEncoder()
    var start = self.clock.now()
    try self.encoder.encode(block) { sample in
      let end = self.clock.now()
      self.shared.statistics.withLock {
        $0.audioBytes += sample.payload.readableBytes
        $0.audioEncodeTime = $0.audioEncodeTime + (end - start)
      }
      self.passthrough.encoded(sample)
      self.shared.consumeAudio(sample)
      start = self.clock.now()
    }
  }
}
