package import Media
internal import NIOCore

/// The samples of a stream since its last keyframe, for viewers that start with them. Pure: `now` is an argument.
///
/// Samples are packetized once there are viewers: those of the time before follow the packetized ones here.
package struct KeyframeGroup<Packets: SharedMedia> {
  /// Maximum number of payload bytes: ten seconds of 13 Mb/s. When there are more, nothing is kept up to the next keyframe.
  package static var maximumByteCount: Int { 16 << 20 }
  /// Time without samples after which the group is too old to start with.
  package static var maximumPause: MediaDuration { .seconds(2) }

  private var packetized: [SharedDelivery<Packets>] = []
  private var samples: [EncodedSample] = []
  private var byteCount = 0
  /// Time at which the last sample came.
  package private(set) var lastTime = MediaTime.zero
  /// Whether the first sample is a keyframe.
  private var isComplete = false

  /// Creates a group without samples.
  package init() {}

  /// Appends a sample that no viewer is sent.
  package mutating func append(_ sample: EncodedSample, at now: MediaTime) {
    if self.admit(
      byteCount: sample.payload.readableBytes, isKeyframe: sample.kind == .video && sample.isKeyframe, at: now)
    {
      self.samples.append(sample)
    }
  }

  /// Appends a delivery. ``takeSamples()`` precedes it.
  package mutating func append(_ delivery: SharedDelivery<Packets>, at now: MediaTime) {
    if self.admit(byteCount: delivery.byteCount, isKeyframe: delivery.video?.isKeyframe == true, at: now) {
      self.packetized.append(delivery)
    }
  }

  /// Removes the samples that are not packetized; they are to be appended as deliveries.
  package mutating func takeSamples() -> [EncodedSample] {
    defer { self.samples.removeAll() }
    for sample in self.samples { self.byteCount -= sample.payload.readableBytes }
    return self.samples
  }

  /// The deliveries to start with, the first of which has a keyframe; nil when there are none, or the last is too old.
  package func deliveries(at now: MediaTime) -> [SharedDelivery<Packets>]? {
    self.packetized.isEmpty || now - self.lastTime > Self.maximumPause ? nil : self.packetized
  }

  /// Removes everything, up to the next keyframe.
  package mutating func removeAll() {
    self.packetized.removeAll()
    self.samples.removeAll()
    self.byteCount = 0
    self.isComplete = false
  }

  /// Whether a sample is kept.
  private mutating func admit(byteCount: Int, isKeyframe: Bool, at now: MediaTime) -> Bool {
    if isKeyframe {
      self.removeAll()
      self.isComplete = true
    }
    guard self.isComplete else { return false }
    guard self.byteCount + byteCount <= Self.maximumByteCount else {
      self.removeAll()
      return false
    }
    self.byteCount += byteCount
    self.lastTime = now
    return true
  }
}
