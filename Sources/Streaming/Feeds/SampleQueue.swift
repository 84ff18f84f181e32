internal import Capture
internal import Media
internal import NIOCore

/// Compressed pictures that wait.
///
/// Drop rule: when two seconds, 300 pictures or 16 MiB wait, all of them are dropped, and what follows up to the next
/// keyframe: what depends on a picture that is missing is of no use.
struct SampleQueue: Sendable {
  static let longestSpan = MediaDuration.seconds(2)
  static let maximumCount = 300
  static let maximumByteCount = 16 << 20

  private(set) var samples: [SourceSample] = []
  private var byteCount = 0
  private var needsKeyframe = false

  /// Adds a picture.
  ///
  /// - Returns: Those that are dropped, it itself perhaps among them.
  mutating func append(_ sample: SourceSample) -> [FrameDrop] {
    if self.needsKeyframe, !sample.sample.isKeyframe { return [Self.drop(sample)] }
    self.needsKeyframe = false
    let span = self.samples.first.map { sample.sample.decodeTime - $0.sample.decodeTime } ?? .zero
    var dropped: [FrameDrop] = []
    if span > Self.longestSpan || self.samples.count >= Self.maximumCount
      || self.byteCount + sample.sample.payload.readableBytes > Self.maximumByteCount, !self.samples.isEmpty
    {
      dropped = self.removeAll()
      if !sample.sample.isKeyframe {
        self.needsKeyframe = true
        return dropped + [Self.drop(sample)]
      }
    }
    self.samples.append(sample)
    self.byteCount += sample.sample.payload.readableBytes
    return dropped
  }

  /// Takes the oldest one out.
  mutating func popFirst() -> SourceSample? {
    guard !self.samples.isEmpty else { return nil }
    let first = self.samples.removeFirst()
    self.byteCount -= first.sample.payload.readableBytes
    return first
  }

  /// Drops all.
  mutating func removeAll() -> [FrameDrop] {
    defer { (self.samples, self.byteCount) = ([], 0) }
    return self.samples.map(Self.drop)
  }

  private static func drop(_ sample: SourceSample) -> FrameDrop {
    FrameDrop(timestamp: sample.sample.presentationTime, reason: .late)
  }
}
