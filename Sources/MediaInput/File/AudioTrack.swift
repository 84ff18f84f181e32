internal import CLibav
internal import Codecs
internal import Media

/// The sound of a file: decoded a little ahead, as floating point in one or two channels, without a gap: where the file
/// has no sound, there is silence.
final class AudioTrack {
  /// What all blocks have.
  let format: AudioFormat
  let decoder: PacketDecoder
  /// Decoded and not played yet.
  private var blocks: [AudioBlock] = []
  private let sound: DecodedAudioConverter
  private var lastEnd: Int64?
  /// Where the samples played so far are counted from.
  private var base: Int64?
  private var playedCount: Int64 = 0

  /// The sound that is decoded ahead.
  private static let lookahead = MediaDuration.milliseconds(100)
  /// Timestamps of many formats are rounded to a millisecond and more: smaller gaps and overlaps are not taken for real.
  private static let tolerance: Int64 = 20_000_000

  init(stream: UnsafeMutablePointer<AVStream>, source: String) throws(VidiconError) {
    let decoder = try PacketDecoder(stream: stream, source: source)
    self.decoder = decoder
    self.format = try decoder.soundFormat(source: source)
    self.sound = DecodedAudioConverter(format: self.format)
  }

  /// Whether more is to be decoded.
  var isHungry: Bool {
    self.blocks.reduce(.zero) { $0 + $1.duration } < Self.lookahead
  }

  /// Whether there is nothing left to play or decode.
  var isDrained: Bool {
    self.blocks.isEmpty && self.decoder.isEmpty
  }

  /// Whether any sound has been decoded and not been played.
  var hasBlocks: Bool {
    !self.blocks.isEmpty
  }

  /// Decodes one packet; false when none waits.
  func decode() -> Bool {
    self.decoder.decodeNext { self.take($0) }
  }

  /// Forgets all sound.
  func reset() {
    self.decoder.reset()
    self.sound.reset()
    self.blocks = []
    self.lastEnd = nil
    self.base = nil
  }

  /// Says from where on there shall be sound or silence.
  func begin(at time: Int64) {
    guard self.base == nil else { return }
    self.base = time
    self.playedCount = 0
  }

  /// Where the sound played so far ends.
  private var position: Int64? {
    self.base.map { $0 + MediaDuration.ticks(self.playedCount, timescale: Int32(self.format.sampleRate)).nanoseconds }
  }

  /// When the next block is due.
  ///
  /// - Parameter isGap: Whether the file has no sound for now, as far as it was read.
  func nextTime(isGap: Bool) -> Int64? {
    guard let position = self.position else { return self.blocks.first?.timestamp.nanoseconds }
    return self.blocks.isEmpty && !isGap ? nil : position
  }

  /// The block that ``nextTime(isGap:)`` spoke of; nil when what was decoded had been played already.
  func takeNext(isGap: Bool) -> AudioBlock? {
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
    guard let samples = self.sound.samples(frame) else { return }
    var time = frame.pointee.best_effort_timestamp
    if time == vidicon_av_nopts_value { time = self.lastEnd ?? 0 }
    let block = AudioBlock(format: self.format, timestamp: MediaTime(nanoseconds: time), samples: samples)
    self.lastEnd = time &+ block.duration.nanoseconds
    self.blocks.append(block)
  }
}
