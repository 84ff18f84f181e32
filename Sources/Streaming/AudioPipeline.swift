internal import Codecs
internal import Media
internal import NIOCore
internal import Synchronization
internal import Threading

/// The way of the sound from its inputQueue through the resampler into the encoder. It lives on one thread.
///
/// The encoder counts samples, so that its timestamps are even; where the source leaves a gap, silence fills it, and
/// where it overlaps, the excess is cut. Packets of a source that compresses itself go past it where they can, see
/// ``AACPassthrough``. A track that was announced never falls silent on the wire: players such as OBS
/// show nothing before every track flows.
final class AudioPipeline {
  private let inputQueue: AudioInputQueue
  private let shared: StreamState
  private let format: AudioFormat
  private let encoder: LibavAACEncoder
  private let emit: (EncodedSample) -> Void
  private let clock = StreamClock.system
  private let startTime: MediaTime
  /// Where the last block came from.
  private var feed: AudioFeed
  /// Whether the source has ended and given nothing since.
  private var hasSourceEnded = false
  /// When sound came last.
  private var lastArrival: MediaTime
  /// Of the present source.
  private var resampler: AudioResampler?
  private var meter = AudioLevelMeter()
  private var passage: AACPassthrough
  /// How long the source may be late before silence takes its place.
  private var patience: MediaDuration
  /// How long one may be late that was not later yet.
  private let leastPatience: MediaDuration

  /// How long one may be late that always is: all of the sound then comes that much later.
  private static let mostPatience = MediaDuration.seconds(2)
  /// How long a source may give nothing that counts as being there.
  private static let longestSilence = MediaDuration.seconds(1)

  /// Opens the encoder for a started source.
  init(
    source: AudioFormat,
    feed: AudioFeed,
    inputQueue: AudioInputQueue,
    settings: AudioSettings,
    shared: StreamState,
    emit: @escaping (EncodedSample) -> Void
  ) throws(VidiconError) {
    self.inputQueue = inputQueue
    self.feed = feed
    self.shared = shared
    self.format = settings.format(for: source)
    self.leastPatience = settings.patience
    self.patience = settings.patience
    self.encoder = try LibavAACEncoder(format: self.format, bitrate: settings.bitrate)
    self.passage = AACPassthrough(
      self.encoder.description, isWanted: settings.bitrate == AudioSettings.defaultBitrate)
    self.emit = emit
    self.startTime = self.clock.now()
    self.lastArrival = self.startTime
    shared.statistics.withLock { $0.audioEncoders += 1 }
  }

  deinit {
    self.shared.audioLevel = .silence
    self.shared.statistics.withLock { $0.audioEncoders -= 1 }
  }

  /// The time of the sound that comes next, by the count of samples; nil before the first.
  private var nextTime: MediaTime? {
    self.passage.nextTime ?? self.encoder.nextTime
  }

  /// What a decoder must know.
  var description: AACDescription {
    self.encoder.description
  }

  /// Runs until the inputQueue is closed.
  func run() throws(VidiconError) {
    while true {
      let expected = self.nextTime ?? self.startTime
      switch self.inputQueue.next(until: expected + self.patience) {
      case .closed: return
      case .ended(let error):
        self.hasSourceEnded = true
        self.shared.statistics.withLock { $0.isSoundMissing = true }
        self.shared.report(.sourceEnded(.audio, error))
      case .sound(let sound): try self.handle(sound)
      case nil:
        let now = self.clock.now()
        if now - self.lastArrival > Self.longestSilence {
          self.shared.statistics.withLock { $0.isSoundMissing = true }
        }
        // As far behind the present as the source is.
        let missing = now - (self.patience - self.leastPatience / 2) - expected
        try self.fill(count: Int(missing.ticks(timescale: Int32(self.format.sampleRate))), at: expected)
      }
    }
  }

  private func handle(_ sound: SourceSound) throws(VidiconError) {
    let now = self.clock.now()
    self.lastArrival = now
    let isCut = sound.feed !== self.feed
    if isCut { self.change(to: sound.feed) }
    self.shared.statistics.withLock { $0.isSoundMissing = false }
    if self.hasSourceEnded {
      self.hasSourceEnded = false
      self.shared.report(.sourceBack(.audio))
    }
    var block = sound.block
    block.timestamp = block.timestamp.checked(at: now)
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
    let passed = self.passage.samples(
      for: block, at: expected, follows: !isCut && alignment.isNone, isMuted: isMuted)
    guard passed.isEmpty else { return self.pass(passed) }
    try self.fill(count: alignment.silence, at: expected)
    if alignment.excess >= block.sampleCount { self.wait(for: block, at: now) }
    block.samples.removeFirst(min(alignment.excess, block.sampleCount) * self.format.channelCount)
    if isMuted { block.samples = [Float](repeating: 0, count: block.samples.count) }
    try self.encode(block)
  }

  /// Another source has taken over: nothing of the earlier one is to be heard in it.
  private func change(to feed: AudioFeed) {
    self.feed = feed
    self.resampler = nil
    self.patience = self.leastPatience
    self.shared.report(.sourceSwitched(.audio))
  }

  /// A block came so late that something else stands in its place: from now on such a delay is waited for, so that a
  /// source with a long way is not replaced by silence for ever.
  private func wait(for block: AudioBlock, at now: MediaTime) {
    let delay = min(now - block.timestamp + self.leastPatience / 2, Self.mostPatience)
    self.patience = max(self.patience, delay)
  }

  /// Puts in silence; after a gap of more than a second, as when the machine slept, the time moves on instead.
  private func fill(count: Int, at time: MediaTime) throws(VidiconError) {
    guard count > 0 else { return }
    self.passage.unsettle()
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

  /// Lets packets out as they came.
  private func pass(_ samples: [EncodedSample]) {
    self.shared.statistics.withLock {
      $0.audioFramesPassedThrough += samples.count
      $0.audioBytes += samples.reduce(0) { $0 + $1.payload.readableBytes }
    }
    for sample in samples { self.emit(sample) }
  }

  /// The encoder goes on where packets were passed through.
  private func prepareEncoder() {
    if let time = self.passage.encoderTakesOver() { self.encoder.restart(at: time) }
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
      self.passage.encoded(sample)
      self.emit(sample)
      start = self.clock.now()
    }
  }
}
