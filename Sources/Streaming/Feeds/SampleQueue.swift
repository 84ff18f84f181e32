internal import Bitstreams
internal import Capture
internal import Media
internal import NIOCore

/// Access units that wait for the pipeline.
///
/// Drop policy: when one has waited for two seconds, or 1200 samples or 32 MiB wait, all of them are dropped, and what follows up to
/// the next keyframe or recovery point: samples that refer to a missing one cannot be decoded. A stall of the source, after which
/// many come at once, is none of the pipeline.
///
/// ``VideoInputQueue`` calls it with its lock held: the source's thread appends, the pipeline's thread dequeues.
///
/// ```swift
/// let dropped = samples.append(sample, at: StreamClock.system.now())
/// let oldest = samples.popFirst()
/// ```
struct SampleQueue: Sendable {
  static let maximumWait = MediaDuration.seconds(2)
  static let maximumCount = 1_200
  static let maximumByteCount = 32 << 20

  private(set) var samples: CircularBuffer<SourceSample> = []
  private var arrivals: CircularBuffer<MediaTime> = []
  private var byteCount = 0
  private var needsKeyframe = false

  /// Enqueues a sample.
  ///
  /// - Returns: The dropped samples; may include the new one.
  mutating func append(_ sample: SourceSample, at now: MediaTime) -> [FrameDrop] {
    if self.needsKeyframe, !Self.isStart(sample.sample) { return [Self.drop(sample)] }
    self.needsKeyframe = false
    let wait = self.arrivals.first.map { now - $0 } ?? .zero
    var dropped: [FrameDrop] = []
    if wait > Self.maximumWait || self.samples.count >= Self.maximumCount
      || self.byteCount + sample.sample.payload.readableBytes > Self.maximumByteCount, !self.samples.isEmpty
    {
      dropped = self.removeAll()
      if !Self.isStart(sample.sample) {
        self.needsKeyframe = true
        return dropped + [Self.drop(sample)]
      }
    }
    self.samples.append(sample)
    self.arrivals.append(now)
    self.byteCount += sample.sample.payload.readableBytes
    return dropped
  }

  /// Dequeues the oldest sample.
  mutating func popFirst() -> SourceSample? {
    guard !self.samples.isEmpty else { return nil }
    let first = self.samples.removeFirst()
    self.arrivals.removeFirst()
    self.byteCount -= first.sample.payload.readableBytes
    return first
  }

  /// Drops all samples.
  mutating func removeAll() -> [FrameDrop] {
    defer { (self.samples, self.arrivals, self.byteCount) = ([], [], 0) }
    return self.samples.map(Self.drop)
  }

  private static func isStart(_ sample: EncodedSample) -> Bool {
    sample.isKeyframe || H264AccessUnit.hasRecoveryPoint(in: sample.payload)
  }

  private static func drop(_ sample: SourceSample) -> FrameDrop {
    FrameDrop(timestamp: sample.sample.presentationTime, reason: .late)
  }
}
