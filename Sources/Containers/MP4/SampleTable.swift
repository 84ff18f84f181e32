internal import NIOCore

/// Sample table of one track of a progressive file: the `stbl` box, ISO/IEC 14496-12 §8.5 to §8.7.
///
/// | box           | memory |
/// |---------------|----------|
/// | `stsz`        | 4 bytes per sample |
/// | `stts`        | 8 bytes per change of the duration: none at a constant rate, per sample at worst |
/// | `ctts`        | 8 bytes per change of the composition offset; none without reordering |
/// | `stss`        | 4 bytes per keyframe; omitted if all samples are |
/// | `stco`/`co64` | 8 bytes per chunk, which is a run of one fragment |
/// | `stsc`        | 12 bytes per change of the samples per chunk |
struct SampleTable {
  /// Number of samples.
  private(set) var count: UInt32 = 0
  /// Decoding time of the first sample, in ticks of the track.
  private(set) var start: UInt64 = 0
  /// End of the last sample, in ticks of the track.
  private(set) var end: UInt64 = 0
  /// Minimum composition offset, in ticks of the track.
  private(set) var minimumOffset = Int32.max

  private var sizes = ByteBuffer()
  private var durations = RunLengths()
  private var offsets = RunLengths()
  private var keyframes = ByteBuffer()
  private var chunks: [UInt64] = []
  private var samplesOfChunks = ByteBuffer()
  private var lastChunkLength: UInt32 = 0
  private var chunkRunCount: UInt32 = 0
  /// Duration of the last sample; extended when a gap follows.
  private var lastDuration: UInt64 = 0

  /// Ticks from the first decoding time to the end of the last sample.
  var duration: UInt64 { self.end - self.start }

  /// Appends a run of contiguous samples.
  ///
  /// - Parameters:
  ///   - fragment: At least one sample.
  ///   - position: Offset of the first byte from the start of the media data.
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
      self.minimumOffset = min(self.minimumOffset, sample.compositionOffset)
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
  ///   - description: The `stsd` box with header.
  ///   - data: Offsets of the media data in the file.
  ///   - usesLargeOffsets: Whether to write 64-bit chunk offsets (`co64`).
  func serialize(
    into buffer: inout ByteBuffer, description: ByteBuffer, data: MediaDataMap, usesLargeOffsets: Bool
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
        $0.writeInteger(UInt32(0))  // sample_size 0: individual sizes follow
        $0.writeInteger(self.count)
        $0.writeImmutableBuffer(self.sizes)
      }
      $0.writeFullBox(usesLargeOffsets ? "co64" : "stco") {
        $0.writeInteger(UInt32(clamping: self.chunks.count))
        for chunk in self.chunks {
          // No trap: media data are less than 2⁶³ bytes.
          let offset = data.offset(of: chunk)
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

/// Run-length encoded numbers of the `stts` and `ctts` boxes, ISO/IEC 14496-12 §8.6.1: sample_count and value.
struct RunLengths {
  /// Completed runs, 8 bytes each.
  private var runs = ByteBuffer()
  private var value: UInt32 = 0
  private var count: UInt32 = 0

  /// Whether every value is zero.
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
