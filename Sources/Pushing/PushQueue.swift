internal import Media
internal import NIOCore

/// Bounded queue of samples that wait for a push's connection. Pure: `now` is an argument.
///
/// The drop rule, in this order:
/// 1. Video that has waited for ``Limits/maximumVideoAge`` is dropped up to the newest keyframe that waits.
/// 2. Without a keyframe that waits, all video is dropped, and the video that comes until the next keyframe: one is to be
///    requested.
/// 3. Audio that has waited for ``Limits/maximumAge`` is dropped.
///
/// Audio is small, and a gap in it is heard: video makes room first. What is left can be decoded.
struct PushQueue {
  /// Maximum age and size of the queued samples.
  struct Limits: Hashable {
    /// Maximum time that a sample waits.
    var maximumAge = MediaDuration.seconds(2)
    /// Maximum time that video waits before it makes room for audio.
    var maximumVideoAge = MediaDuration.milliseconds(1500)
    /// Maximum number of bytes, for sources with extreme bitrates.
    var maximumByteCount = 16 << 20
  }

  /// Number of samples that a call has dropped, and its consequence.
  struct Drops: Hashable {
    var videoSamples = 0
    var audioSamples = 0
    /// Whether the video that comes is dropped until the next keyframe.
    var needsKeyframe = false

    static func += (sum: inout Drops, other: Drops) {
      sum.videoSamples += other.videoSamples
      sum.audioSamples += other.audioSamples
      sum.needsKeyframe = sum.needsKeyframe || other.needsKeyframe
    }
  }

  /// A sample with the time at which it was enqueued.
  struct Entry {
    var sample: EncodedSample
    var time: MediaTime
  }

  private let limits: Limits
  private var entries: [Entry] = []
  /// Number of entries at the front that were dequeued.
  private var head = 0
  private(set) var byteCount = 0
  /// Whether video is dropped until a keyframe: at the start, and after all video was dropped.
  private(set) var isSkippingToKeyframe = true

  init(limits: Limits = Limits()) {
    self.limits = limits
  }

  /// Time at which the oldest sample was enqueued; nil when none waits.
  var oldestTime: MediaTime? { self.head < self.entries.count ? self.entries[self.head].time : nil }

  /// Number of samples.
  var count: Int { self.entries.count - self.head }

  /// Appends a sample, and makes room for it.
  mutating func append(_ sample: EncodedSample, at now: MediaTime) -> Drops {
    var drops = self.dropExpired(at: now)
    if sample.kind == .video, self.isSkippingToKeyframe {
      guard sample.isKeyframe else {
        drops.videoSamples += 1
        return drops
      }
      self.isSkippingToKeyframe = false
    }
    self.entries.append(Entry(sample: sample, time: now))
    self.byteCount += sample.payload.readableBytes
    if self.byteCount > self.limits.maximumByteCount { drops += self.makeRoom() }
    return drops
  }

  /// Removes and returns the oldest sample.
  mutating func popFirst() -> Entry? {
    guard self.head < self.entries.count else { return nil }
    let entry = self.entries[self.head]
    self.byteCount -= entry.sample.payload.readableBytes
    self.head += 1
    // Amortized: each entry is moved once.
    if self.head * 2 >= self.entries.count {
      self.entries.removeFirst(self.head)
      self.head = 0
    }
    return entry
  }

  /// Removes everything; the next video is a keyframe.
  mutating func removeAll() {
    self.entries.removeAll()
    (self.head, self.byteCount, self.isSkippingToKeyframe) = (0, 0, true)
  }

  /// Drops what has waited too long.
  mutating func dropExpired(at now: MediaTime) -> Drops {
    var drops = Drops()
    // Samples are in the order of their times: none has waited too long before the oldest one has.
    guard let oldest = self.oldestTime,
      now - oldest >= min(self.limits.maximumAge, self.limits.maximumVideoAge)
    else { return drops }
    if let first = self.entries[self.head...].first(where: { $0.sample.kind == .video }),
      now - first.time >= self.limits.maximumVideoAge
    {
      drops += self.dropVideo(beforeNewestKeyframe: true)
      // The newest keyframe has waited for too long as well.
      if let next = self.entries[self.head...].first(where: { $0.sample.kind == .video }),
        now - next.time >= self.limits.maximumVideoAge
      {
        drops += self.dropVideo(beforeNewestKeyframe: false)
      }
    }
    let maximumAge = self.limits.maximumAge
    drops.audioSamples += self.remove { $0.sample.kind == .audio && now - $0.time >= maximumAge }
    return drops
  }

  /// Drops video, and then audio too, until the bytes are within their limit.
  private mutating func makeRoom() -> Drops {
    var drops = self.dropVideo(beforeNewestKeyframe: true)
    if self.byteCount > self.limits.maximumByteCount { drops += self.dropVideo(beforeNewestKeyframe: false) }
    if self.byteCount > self.limits.maximumByteCount { drops.audioSamples += self.remove { _ in true } }
    return drops
  }

  private mutating func dropVideo(beforeNewestKeyframe keepsNewest: Bool) -> Drops {
    let keyframe = self.entries[self.head...].lastIndex { $0.sample.kind == .video && $0.sample.isKeyframe }
    guard keepsNewest, let keyframe else {
      let count = self.remove { $0.sample.kind == .video }
      self.isSkippingToKeyframe = true
      return Drops(videoSamples: count, needsKeyframe: true)
    }
    var index = self.head
    let count = self.remove { entry in
      defer { index += 1 }
      return index < keyframe && entry.sample.kind == .video
    }
    return Drops(videoSamples: count)
  }

  /// Removes the entries for which a condition holds, called once for each in order; returns their number.
  private mutating func remove(_ condition: (Entry) -> Bool) -> Int {
    var kept: [Entry] = []
    kept.reserveCapacity(self.count)
    var removed = 0
    for entry in self.entries[self.head...] {
      if condition(entry) {
        removed += 1
        self.byteCount -= entry.sample.payload.readableBytes
      } else {
        kept.append(entry)
      }
    }
    guard removed > 0 else { return 0 }
    self.entries = kept
    self.head = 0
    return removed
  }
}
