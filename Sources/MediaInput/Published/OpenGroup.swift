internal import Bitstreams
internal import Media
internal import NIOCore

/// The access units of a publisher since its last keyframe, with their times on the stream's clock: a consumer that starts
/// amid a group of pictures needs all of it.
///
/// Bounded in samples and bytes: in a longer group, decoding begins at the next keyframe. Streams with intra refresh have none
/// after the first one: their group begins again at a recovery point before it is too long.
struct OpenGroup: Sendable {
  static let maximumCount = 600
  static let maximumByteCount = 16 << 20

  /// Samples since the keyframe; empty before the first one, and when the bounds were exceeded.
  private(set) var samples: [(sample: EncodedSample, times: SourceTimeline.Times)] = []
  private var byteCount = 0

  /// Appends the next access unit.
  mutating func append(_ sample: EncodedSample, times: SourceTimeline.Times) {
    let isLong = self.samples.isEmpty || self.samples.count >= Self.maximumCount / 2
    let isStart = sample.isKeyframe || isLong && H264AccessUnit.hasRecoveryPoint(in: sample.payload)
    if isStart { self.removeAll() }
    guard isStart || !self.samples.isEmpty else { return }
    self.byteCount += sample.payload.readableBytes
    guard self.samples.count < Self.maximumCount, self.byteCount <= Self.maximumByteCount else {
      return self.removeAll()
    }
    self.samples.append((sample, times))
  }

  /// Removes everything: the next sample that is kept is a keyframe.
  mutating func removeAll() {
    (self.samples, self.byteCount) = ([], 0)
  }
}
