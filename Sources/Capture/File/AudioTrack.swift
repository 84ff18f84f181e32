internal import CLibav
internal import Media

/// The sound of a file: decoded a little ahead, as floating point in one or two channels, without a gap: where the file
/// has no sound, there is silence.
final class AudioTrack {
  /// What all blocks have.
  let format: AudioFormat
  let decoder: PacketDecoder
  /// Decoded and not played yet.
  private var blocks: [AudioBlock] = []
  private var resampler: OpaquePointer?
  /// What the resampler was made for.
  private var inputRate: Int32 = 0
  private var inputFormat: Int32 = -1
  private var inputChannels: Int32 = 0
  private var lastEnd: Int64?
  /// Where the samples played so far are counted from.
  private var base: Int64?
  private var playedCount: Int64 = 0

  /// The sound that is decoded ahead.
  private static let lookahead = MediaDuration.milliseconds(100)
  /// Timestamps of many formats are rounded to a millisecond and more: smaller gaps and overlaps are not taken for real.
  private static let tolerance: Int64 = 20_000_000

  init(stream: UnsafeMutablePointer<AVStream>, source: String) throws(CaptureError) {
    let decoder = try PacketDecoder(stream: stream, source: source)
    let rate = decoder.context.pointee.sample_rate
    let channels = decoder.context.pointee.ch_layout.nb_channels
    guard (1_000...768_000).contains(rate), channels > 0 else {
      throw CaptureError(
        .invalidData, source: source, cause: "its sound has \(rate) samples a second in \(channels) channels",
        nextStep: "convert it with: ffmpeg -i \(source) -ar 48000 -ac 2 out.mp4")
    }
    self.decoder = decoder
    self.format = AudioFormat(sampleRate: Int(rate), channelCount: Int(min(channels, 2)))
  }

  deinit {
    swr_free(&self.resampler)
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
    swr_free(&self.resampler)
    self.inputFormat = -1
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
    let count = frame.pointee.nb_samples
    guard count > 0, self.prepareResampler(for: frame), let resampler = self.resampler else { return }
    let capacity = swr_get_out_samples(resampler, count)
    guard capacity > 0 else { return }
    let channels = self.format.channelCount
    var isConverted = false
    let samples = [Float](unsafeUninitializedCapacity: Int(capacity) * channels) { buffer, written in
      written = 0
      var output = UnsafeMutableRawPointer(buffer.baseAddress)?.assumingMemoryBound(to: UInt8.self)
      let input = UnsafeMutableRawPointer(frame.pointee.extended_data)?
        .assumingMemoryBound(to: UnsafePointer<UInt8>?.self)
      let converted = swr_convert(resampler, &output, capacity, input, count)
      guard converted > 0 else { return }
      written = Int(converted) * channels
      isConverted = true
    }
    guard isConverted else { return }
    var time = frame.pointee.best_effort_timestamp
    if time == vidicon_av_nopts_value { time = self.lastEnd ?? 0 }
    let block = AudioBlock(format: self.format, timestamp: MediaTime(nanoseconds: time), samples: samples)
    self.lastEnd = time &+ block.duration.nanoseconds
    self.blocks.append(block)
  }

  /// Sets up the conversion, anew when the decoder's output has changed.
  private func prepareResampler(for frame: UnsafeMutablePointer<AVFrame>) -> Bool {
    let channels = frame.pointee.ch_layout.nb_channels
    if self.resampler != nil, self.inputRate == frame.pointee.sample_rate, self.inputFormat == frame.pointee.format,
      self.inputChannels == channels
    {
      return true
    }
    swr_free(&self.resampler)
    guard frame.pointee.sample_rate > 0, channels > 0 else { return false }
    var input = AVChannelLayout()
    if frame.pointee.ch_layout.order == AV_CHANNEL_ORDER_UNSPEC {
      av_channel_layout_default(&input, channels)
    } else if av_channel_layout_copy(&input, &frame.pointee.ch_layout) < 0 {
      return false
    }
    defer { av_channel_layout_uninit(&input) }
    var output = AVChannelLayout()
    av_channel_layout_default(&output, Int32(self.format.channelCount))
    let status = swr_alloc_set_opts2(
      &self.resampler, &output, AV_SAMPLE_FMT_FLT, Int32(self.format.sampleRate), &input,
      AVSampleFormat(frame.pointee.format), frame.pointee.sample_rate, 0, nil)
    guard status >= 0, swr_init(self.resampler) >= 0 else {
      swr_free(&self.resampler)
      return false
    }
    self.inputRate = frame.pointee.sample_rate
    self.inputFormat = frame.pointee.format
    self.inputChannels = channels
    return true
  }
}
