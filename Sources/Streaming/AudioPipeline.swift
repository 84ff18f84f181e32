internal import Capture
internal import Codecs
internal import Media
internal import NIOCore
internal import Synchronization

/// The way of the sound from its mailbox through the resampler into the encoder. It lives on one thread.
///
/// The encoder counts samples, so that its timestamps are even; where the source leaves a gap, silence fills it, and
/// where it overlaps, the excess is cut. A track that was announced never falls silent on the wire: players such as OBS
/// show nothing before every track flows.
final class AudioPipeline {
  private let mailbox: AudioMailbox
  private let shared: StreamState
  private let format: AudioFormat
  private let encoder: LibavAACEncoder
  private let emit: (EncodedSample) -> Void
  private let clock = StreamClock.system
  private let startTime: MediaTime
  private var resampler: AudioResampler?

  /// How long the source may be late before silence takes its place.
  static let patience = MediaDuration.milliseconds(300)

  /// Opens the encoder for a started source.
  init(
    source: AudioFormat,
    mailbox: AudioMailbox,
    settings: AudioSettings,
    shared: StreamState,
    emit: @escaping (EncodedSample) -> Void
  ) throws(CodecError) {
    self.mailbox = mailbox
    self.shared = shared
    self.format = settings.format(for: source)
    self.encoder = try LibavAACEncoder(format: self.format, bitrate: settings.bitrate)
    self.emit = emit
    self.startTime = self.clock.now()
    shared.statistics.withLock { $0.audioEncoders += 1 }
  }

  deinit {
    self.shared.statistics.withLock { $0.audioEncoders -= 1 }
  }

  /// What a decoder must know.
  var description: AACDescription {
    self.encoder.description
  }

  /// Runs until the mailbox is closed.
  func run() throws(StreamError) {
    while true {
      let expected = self.encoder.nextTime ?? self.startTime
      do throws(CodecError) {
        switch self.mailbox.next(until: expected + Self.patience) {
        case .closed: return
        case .ended(let error): self.shared.report(.sourceEnded(.audio, error))
        case .block(let block): try self.handle(block)
        case nil:
          let missing = self.clock.now() - Self.patience / 2 - expected
          try self.fill(count: Int(missing.ticks(timescale: Int32(self.format.sampleRate))), at: expected)
        }
      } catch {
        throw .codec(error)
      }
    }
  }

  private func handle(_ block: AudioBlock) throws(CodecError) {
    let now = self.clock.now()
    var block = block
    block.timestamp = block.timestamp.checked(at: now)
    if block.format != self.format {
      if self.resampler?.input != block.format {
        self.resampler = try AudioResampler(from: block.format, to: self.format)
      }
      block = self.resampler?.resample(block) ?? block
    }
    if let expected = self.encoder.nextTime {
      let alignment = AudioAlignment(start: block.timestamp, expected: expected, sampleRate: self.format.sampleRate)
      try self.fill(count: alignment.silence, at: expected)
      block.samples.removeFirst(min(alignment.excess, block.sampleCount) * self.format.channelCount)
    }
    try self.encode(block)
  }

  /// Puts in silence; after a gap of more than a second, as when the machine slept, the time moves on instead.
  private func fill(count: Int, at time: MediaTime) throws(CodecError) {
    guard count > 0 else { return }
    guard count <= self.format.sampleRate || self.encoder.nextTime == nil else {
      return self.encoder.advance(by: self.format.duration(ofSamples: count))
    }
    self.shared.statistics.withLock { $0.silentSamples += count }
    let count = min(count, self.format.sampleRate)
    let silence = [Float](repeating: 0, count: count * self.format.channelCount)
    try self.encode(AudioBlock(format: self.format, timestamp: time, samples: silence))
  }

  private func encode(_ block: AudioBlock) throws(CodecError) {
    var start = self.clock.now()
    try self.encoder.encode(block) { sample in
      let end = self.clock.now()
      self.shared.statistics.withLock {
        $0.audioBytes += sample.payload.readableBytes
        $0.audioEncodeTime = $0.audioEncodeTime + (end - start)
      }
      self.emit(sample)
      start = self.clock.now()
    }
  }
}
