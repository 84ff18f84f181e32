internal import Media
internal import NIOCore

/// Silence as AAC, for servers that accept no stream without audio. Pure.
///
/// Frames follow each other without gaps from the first time on: 48,000 Hz, two channels.
struct SilentAudio {
  /// AAC-LC, 48 kHz, two channels: ISO/IEC 14496-3 §1.6.2.1.
  static let description = AACDescription(
    audioSpecificConfig: [0x11, 0x90], format: AudioFormat(sampleRate: 48_000, channelCount: 2))
  /// A `raw_data_block` of a channel pair without spectral data, and the end.
  static let frame = ByteBuffer(bytes: [0x21, 0x10, 0x04, 0x60, 0x8C, 0x1C])
  /// Maximum number of frames at once: two seconds. A greater gap stays one.
  private static let maximumCount = 94

  private let start: MediaTime
  private var index: Int64 = 0

  init(start: MediaTime) {
    self.start = start
  }

  private func time(of index: Int64) -> MediaTime {
    self.start + (MediaTime(ticks: index * 1024, timescale: 48_000) - .zero)
  }

  /// The frames that begin before a time and were not returned yet.
  mutating func samples(before end: MediaTime) -> [EncodedSample] {
    guard self.time(of: self.index) < end else { return [] }
    let next = (end - self.start).ticks(timescale: 48_000) / 1024
    if next - self.index > Self.maximumCount { self.index = next }
    var samples: [EncodedSample] = []
    while self.time(of: self.index) < end {
      samples.append(
        EncodedSample(
          kind: .audio, payload: Self.frame, presentationTime: self.time(of: self.index),
          duration: self.time(of: self.index + 1) - self.time(of: self.index), isKeyframe: true))
      self.index += 1
    }
    return samples
  }
}
