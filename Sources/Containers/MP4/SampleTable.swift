internal import NIOCore

/// The samples of one track of a plain file: the `stbl` box, ISO/IEC 14496-12 §8.5 to §8.7, as it grows.
///
/// | box           | grows by |
/// |---------------|----------|
/// | `stsz`        | 4 bytes a sample |
/// | `stts`        | 8 bytes where the duration changes: nothing at an even rate, each sample at worst |
/// | `ctts`        | 8 bytes where the composition offset changes; none without reordering |
/// | `stss`        | 4 bytes a keyframe; none when all are |
/// | `stco`/`co64` | 8 bytes a chunk, which is a run of one fragment |
/// | `stsc`        | 12 bytes where the samples of a chunk change in number |
struct SampleTable {
  /// Samples so far.
  private(set) var count: UInt32 = 0
  /// The decoding time of the first sample, in ticks of the track.
  private(set) var start: UInt64 = 0
  /// Where the last sample ends.
  private(set) var end: UInt64 = 0
  /// The least composition offset.
  private(set) var leastOffset = Int32.max

  private var sizes = ByteBuffer()
  private var durations = RunLengths()
  private var offsets = RunLengths()
  private var keyframes = ByteBuffer()
  private var chunks: [UInt64] = []
  private var samplesOfChunks = ByteBuffer()
  private var lastChunkLength: UInt32 = 0
  private var chunkRunCount: UInt32 = 0
  /// Of the last sample, which lasts longer when a gap follows.
  private var lastDuration: UInt64 = 0

  /// The ticks from the first sample's decoding to the last one's end.
  var duration: UInt64 { self.end - self.start }

  /// Adds a run that lies in one piece.
  ///
  /// - Parameters:
  ///   - fragment: At least one sample.
  ///   - position: Of the first byte, counted from the start of the media data.
  mutating func append(_ fragment: TrackFragment, at position: UInt64) {
    if self.count == 0 {
      self.start = fragment.baseDecodeTime
      self.end = fragment.baseDecodeTime
    } else if fragment.baseDecodeTime > self.end {
      self.lastDuration += fragment.baseDecodeTime - self.end
      self.end = fragment.baseDecodeTime
    }
    for sample in fragment.samples {
      if self.count > 0 { self.durations.append(UInt32(clamping: self.lastDuration)) }
      self.count += 1
      self.lastDuration = UInt64(sample.duration)
      self.end += self.lastDuration
      self.sizes.writeInteger(sample.size)
      self.offsets.append(UInt32(bitPattern: sample.compositionOffset))
      self.leastOffset = min(self.leastOffset, sample.compositionOffset)
      if sample.flags.isSync { self.keyframes.writeInteger(self.count) }
    }
    self.chunks.append(position)
    let length = UInt32(clamping: fragment.samples.count)
    if length != self.lastChunkLength {
      self.lastChunkLength = length
      self.chunkRunCount += 1
      self.samplesOfChunks.writeMultipleIntegers(UInt32(clamping: self.chunks.count), length, UInt32(1))
    }
  }

  /// Appends the box.
  ///
  /// - Parameters:
  ///   - description: The `stsd` box, header included.
  ///   - dataStart: Where the media data start in the file.
  ///   - usesLargeOffsets: Whether the file is too large for offsets of 32 bits.
  func serialize(
    into buffer: inout ByteBuffer, description: ByteBuffer, dataStart: UInt64, usesLargeOffsets: Bool
  ) {
    buffer.writeBox("stbl") {
      $0.writeImmutableBuffer(description)
      var durations = self.durations
      durations.append(UInt32(clamping: self.lastDuration))
      $0.writeFullBox("stts") { durations.write(to: &$0) }
      if !self.offsets.isAllZero {
        $0.writeFullBox("ctts", version: 1) { self.offsets.write(to: &$0) }
      }
      if self.keyframes.readableBytes < self.sizes.readableBytes {
        $0.writeFullBox("stss") {
          $0.writeInteger(UInt32(clamping: self.keyframes.readableBytes / 4))
          $0.writeImmutableBuffer(self.keyframes)
        }
      }
      $0.writeFullBox("stsc") {
        $0.writeInteger(self.chunkRunCount)
        $0.writeImmutableBuffer(self.samplesOfChunks)
      }
      $0.writeFullBox("stsz") {
        $0.writeInteger(UInt32(0))  // sample_size: they differ
        $0.writeInteger(self.count)
        $0.writeImmutableBuffer(self.sizes)
      }
      $0.writeFullBox(usesLargeOffsets ? "co64" : "stco") {
        $0.writeInteger(UInt32(clamping: self.chunks.count))
        for chunk in self.chunks {
          // No trap: the movie's data are less than 2⁶³ bytes.
          let offset = dataStart + chunk
          if usesLargeOffsets {
            $0.writeInteger(offset)
          } else {
            $0.writeInteger(UInt32(clamping: offset))
          }
        }
      }
    }
  }
}

/// A sequence of numbers as the tables `stts` and `ctts` have it, ISO/IEC 14496-12 §8.6.1: how often, and what.
struct RunLengths {
  /// Runs that have ended, 8 bytes each.
  private var runs = ByteBuffer()
  private var value: UInt32 = 0
  private var count: UInt32 = 0

  /// Whether there is nothing but zeros.
  var isAllZero: Bool { self.runs.readableBytes == 0 && (self.count == 0 || self.value == 0) }

  mutating func append(_ value: UInt32) {
    if value != self.value || self.count == .max {
      if self.count > 0 { self.runs.writeMultipleIntegers(self.count, self.value) }
      self.value = value
      self.count = 0
    }
    self.count += 1
  }

  /// Writes entry_count and the entries.
  func write(to buffer: inout ByteBuffer) {
    buffer.writeInteger(UInt32(clamping: self.runs.readableBytes / 8 + (self.count > 0 ? 1 : 0)))
    buffer.writeImmutableBuffer(self.runs)
    if self.count > 0 { buffer.writeMultipleIntegers(self.count, self.value) }
  }
}
