internal import Bitstreams
internal import Capture
internal import Media
internal import NIOCore

/// Access units that wait for the pipeline.
///
/// Drop policy: when two seconds, 300 samples or 16 MiB wait, all of them are dropped, and what follows up to the next
/// keyframe or recovery point: samples that refer to a missing one cannot be decoded.
struct SampleQueue: Sendable {
  static let maximumSpan = MediaDuration.seconds(2)
  static let maximumCount = 300
  static let maximumByteCount = 16 << 20

  private(set) var samples: [SourceSample] = []
  private var byteCount = 0
  private var needsKeyframe = false

  /// Enqueues a sample.
  ///
  /// - Returns: The dropped samples; may include the new one.
  mutating func append(_ sample: SourceSample) -> [FrameDrop] {
    if self.needsKeyframe, !Self.isStart(sample.sample) { return [Self.drop(sample)] }
    self.needsKeyframe = false
    let span = self.samples.first.map { sample.sample.decodeTime - $0.sample.decodeTime } ?? .zero
    var dropped: [FrameDrop] = []
    if span > Self.maximumSpan || self.samples.count >= Self.maximumCount
      || self.byteCount + sample.sample.payload.readableBytes > Self.maximumByteCount, !self.samples.isEmpty
    {
      dropped = self.removeAll()
      if !Self.isStart(sample.sample) {
        self.needsKeyframe = true
        return dropped + [Self.drop(sample)]
      }
    }
    self.samples.append(sample)
    self.byteCount += sample.sample.payload.readableBytes
    return dropped
  }

  /// Dequeues the oldest sample.
  mutating func popFirst() -> SourceSample? {
    guard !self.samples.isEmpty else { return nil }
    let first = self.samples.removeFirst()
    self.byteCount -= first.sample.payload.readableBytes
    return first
  }

  /// Drops all samples.
  mutating func removeAll() -> [FrameDrop] {
    defer { (self.samples, self.byteCount) = ([], 0) }
    return self.samples.map(Self.drop)
  }

  private static func isStart(_ sample: EncodedSample) -> Bool {
    sample.isKeyframe || H264AccessUnit.hasRecoveryPoint(in: sample.payload)
  }

  private static func drop(_ sample: SourceSample) -> FrameDrop {
    FrameDrop(timestamp: sample.sample.presentationTime, reason: .late)
  }
}
