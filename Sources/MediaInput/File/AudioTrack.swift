internal import CLibav
internal import Codecs
internal import Media

/// Audio track of a file, decoded ahead as 32-bit float in one or two channels. Gaps in the file become silence.
final class AudioTrack {
  /// Format of all blocks.
  let format: AudioFormat
  let decoder: DecoderSequence
  /// Decoded blocks that have not been dequeued yet.
  private var blocks: [AudioBlock] = []
  private let converter: DecodedAudioConverter
  private var lastEnd: Int64?
  /// Timeline position of the first played sample, in nanoseconds.
  private var base: Int64?
  private var playedCount: Int64 = 0

  /// Duration of audio that is decoded ahead.
  private static let lookahead = MediaDuration.milliseconds(100)
  /// Gaps and overlaps up to this many nanoseconds are ignored: many formats round timestamps to milliseconds.
  private static let tolerance: Int64 = 20_000_000

  init(stream: UnsafeMutablePointer<AVStream>, source: String) throws(VidiconError) {
    let decoder = try PacketDecoder(stream: stream, source: source)
    self.decoder = DecoderSequence(decoder)
    self.format = try decoder.audioFormat(presumed: .presumed, source: source)
    self.converter = DecodedAudioConverter(format: self.format)
  }

  /// Continues with another stream, once the packets before have been decoded. Its samples are converted to the format.
  func replace(by stream: UnsafeMutablePointer<AVStream>, source: String) throws(VidiconError) {
    self.decoder.append(try PacketDecoder(stream: stream, source: source))
  }

  /// Whether less than ``lookahead`` is decoded, so that the next packet should be decoded.
  var needsBlocks: Bool {
    self.blocks.reduce(.zero) { $0 + $1.duration } < Self.lookahead
  }

  /// Whether no decoded block and no queued packet is left.
  var isDrained: Bool {
    self.blocks.isEmpty && self.decoder.isEmpty
  }

  /// Whether decoded blocks wait to be played.
  var hasBlocks: Bool {
    !self.blocks.isEmpty
  }

  /// Decodes one packet; returns false when none is queued.
  func decode() -> Bool {
    self.decoder.decodeNext { self.take($0) }
  }

  /// Discards all queued packets and decoded blocks.
  func reset() {
    self.decoder.reset()
    self.converter.reset()
    self.blocks = []
    self.lastEnd = nil
    self.base = nil
  }

  /// Sets the timeline position at which audio, or silence, begins; ignored when it is set.
  func begin(at time: Int64) {
    guard self.base == nil else { return }
    self.base = time
    self.playedCount = 0
  }

  /// Timeline position after the last played sample, in nanoseconds.
  private var position: Int64? {
    self.base.map { $0 + MediaDuration.ticks(self.playedCount, timescale: Int32(self.format.sampleRate)).nanoseconds }
  }

  /// Timeline position of the next block, in nanoseconds; nil when none is decoded yet.
  ///
  /// - Parameter isGap: Whether the file has no audio at this position, as far as it was read.
  func nextTime(isGap: Bool) -> Int64? {
    guard let position = self.position else { return self.blocks.first?.timestamp.nanoseconds }
    return self.blocks.isEmpty && !isGap ? nil : position
  }

  /// Dequeues the block at ``nextTime(isGap:)``; nil when its samples overlap what was played.
  func dequeueNext(isGap: Bool) -> AudioBlock? {
    guard let time = self.nextTime(isGap: isGap) else { return nil }
    self.begin(at: time)
    let rate = Int64(self.format.sampleRate)
    var block: AudioBlock
    let distance = self.blocks.first.map { $0.timestamp.nanoseconds - time } ?? .max
    if distance > Self.tolerance {
      let missing = MediaDuration(nanoseconds: min(distance, 20_000_000)).ticks(timescale: Int32(rate))
      block = AudioBlock(
        format: self.format, timestamp: MediaTime(nanoseconds: time),
        samples: Array(repeating: 0, count: Int(max(missing, 1)) * self.format.channelCount))
    } else {
      block = self.blocks.removeFirst()
      if distance < -Self.tolerance {
        let played = MediaDuration(nanoseconds: -max(distance, -.max)).ticks(timescale: Int32(rate))
        guard played < block.sampleCount else { return nil }
        block.samples.removeFirst(Int(played) * self.format.channelCount)
      }
      block.timestamp = MediaTime(nanoseconds: time)
    }
    self.playedCount += Int64(block.sampleCount)
    return block
  }

  private func take(_ frame: UnsafeMutablePointer<AVFrame>) {
    guard let samples = self.converter.samples(frame) else { return }
    var time = frame.pointee.best_effort_timestamp
    if time == vidicon_av_nopts_value { time = self.lastEnd ?? 0 }
    let block = AudioBlock(format: self.format, timestamp: MediaTime(nanoseconds: time), samples: samples)
    self.lastEnd = time &+ block.duration.nanoseconds
    self.blocks.append(block)
  }
}

extension AudioFormat {
  /// Format of audio that begins so late that the opening of its file or connection has not seen it.
  static let presumed = AudioFormat(sampleRate: 48_000, channelCount: 2)
}
