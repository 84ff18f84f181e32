package import Media
internal import NIOCore

/// Spreads the packets to one client over time, so that a keyframe does not fill the queues of the path, and decides which
/// frames are not sent.
///
/// Pure: time is an argument. Items are what the caller sends, such as the packets of a frame that all viewers share; the
/// pacer knows their numbers and lengths only. ``release(at:)`` returns them in this order:
///
/// 1. Audio, at once.
/// 2. Retransmissions, up to half of the bitrate and half a second's worth at once: a client that asks for everything again
///    delays its own video only.
/// 3. Video, in order. A frame that waits longer than ``maximumDelay`` is dropped, with all up to the next keyframe; one that
///    has begun is finished.
/// 4. Padding, during a probe.
///
/// Video goes out at ``rateFactor`` × the bitrate: a frame of average size in less than half of its interval.
package struct Pacer<Item> {
  /// Kinds of items, by their precedence.
  package enum Kind: Hashable, Sendable {
    case audio
    case retransmission
    case video(isKeyframe: Bool)
  }

  /// Packets or padding whose time to be sent has come.
  package enum Release {
    /// Some packets of an item: all at the same time, such as by segmentation offload.
    ///
    /// `probe` is the probe cluster that they belong to, 0 for none.
    case packets(Item, Kind, Range<Int>, probe: UInt32)
    /// Padding or retransmissions of about this length in bytes, for a probe cluster.
    case padding(byteCount: Int, probe: UInt32)
  }

  /// Frames and packets that were not sent.
  package struct DropCounts: Hashable, Sendable {
    /// Video frames that waited too long, or for a keyframe.
    package var frames = 0
    /// Retransmissions that were too many, or waited too long.
    package var retransmissions = 0
    /// Audio packets that were too many.
    package var audio = 0
  }

  private struct Entry {
    let item: Item
    let kind: Kind
    let byteCount: Int
    let packetCount: Int
    let enqueued: MediaTime
    var nextPacket = 0
  }

  /// Factor of the bitrate at which video is sent.
  package static var rateFactor: Double { 2.5 }
  /// The same while the queue of the path is being emptied.
  private static var drainingFactor: Double { 1.1 }
  /// Time that a frame may wait, at most.
  package static var maximumDelay: MediaDuration { .milliseconds(250) }
  /// Time that a keyframe may wait for its first packet: without it nothing can be decoded.
  private static var maximumKeyframeDelay: MediaDuration { .milliseconds(1000) }
  /// Time after which a retransmission is of no use.
  private static var retransmissionLifetime: MediaDuration { .milliseconds(500) }
  /// Maximum number of retransmissions that wait.
  private static var maximumRetransmissions: Int { 256 }
  /// Maximum number of audio packets that wait, and of video frames.
  private static var maximumAudio: Int { 32 }
  private static var maximumFrames: Int { 64 }
  /// Time by which timers are late, which does not lower the bitrate of a probe.
  private static var timerTolerance: MediaDuration { .milliseconds(2) }
  /// Span that is sent ahead, so that a client costs one call in this time.
  private static var quantum: MediaDuration { .milliseconds(5) }

  // Most paths have nothing that waits for long: memory for more is allocated when it is needed.
  private var audio = CircularBuffer<Entry>(initialCapacity: 2)
  private var retransmissions = CircularBuffer<Entry>(initialCapacity: 2)
  private var video = CircularBuffer<Entry>(initialCapacity: 2)
  /// Bits per second that the path carries; nil while unknown: nothing waits.
  private var bitrate: Double?
  /// Bits per second that the path carries while its queue is being emptied at ``bitrate``; else the same.
  private var capacity = 0.0
  /// Time at which the packets that were sent have left, at the pace.
  private var busyUntil: MediaTime?
  /// Time at which the last release began; up to ``quantum`` goes out at that time.
  private var burst: MediaTime?
  /// Retransmissions allowed, in bytes.
  private var retransmissionCredit = 0.0
  private var lastCredit: MediaTime?
  private var probe: (cluster: ProbeCluster, remaining: Int)?
  /// Whether video waits for a keyframe, after frames were dropped or at the start.
  package private(set) var needsKeyframe = true
  /// Items that were dropped instead of sent.
  package private(set) var dropCounts = DropCounts()

  /// Creates a pacer without a bitrate: everything goes at once.
  package init() {}

  /// Number of video frames that wait.
  package var frameCount: Int { self.video.count }

  /// Age of the oldest video frame that waits; zero without one.
  package func delay(at now: MediaTime) -> MediaDuration {
    self.video.first.map { now - $0.enqueued } ?? .zero
  }

  /// Time at which ``release(at:)`` may have something; nil while nothing waits.
  @inline(__always)
  package var nextDeadline: MediaTime? {
    if let first = self.audio.first { return first.enqueued }
    guard let first = self.retransmissions.first ?? self.video.first else {
      return self.probe == nil ? nil : self.busyUntil ?? .zero
    }
    let deadline = max(self.busyUntil ?? first.enqueued, first.enqueued)
    guard first.kind == .retransmission, self.video.isEmpty, let bitrate, let lastCredit else { return deadline }
    let lacking = Double(first.byteCount) - self.retransmissionCredit
    return max(deadline, lastCredit + MediaDuration(nanoseconds: Int64(max(0, lacking) * 16 / bitrate * 1e9) + 1000))
  }

  /// Sets the rates of an estimate: ``BandwidthEstimator/bitrate`` and ``BandwidthEstimator/capacity``.
  ///
  /// - Parameters:
  ///   - bitrate: In bits per second, above 0; nil while unknown.
  ///   - capacity: What the path carries; more than `bitrate` while its queue is being emptied.
  package mutating func setBitrate(_ bitrate: Int?, capacity: Int? = nil) {
    self.bitrate = bitrate.map { Double(max(1, $0)) }
    self.capacity = max(Double(capacity ?? 0), self.bitrate ?? 0)
  }

  /// Starts a probe; a running one ends.
  package mutating func start(_ cluster: ProbeCluster, at now: MediaTime) {
    self.probe = (cluster, cluster.byteCount)
    self.busyUntil = now
  }

  /// Adds an item, or drops it.
  ///
  /// - Parameters:
  ///   - byteCount: Length of all of its datagrams.
  ///   - packetCount: Number of its datagrams, at least 1; they have about the same length.
  /// - Returns: Whether it will be sent as far as known now.
  @discardableResult
  package mutating func enqueue(
    _ item: Item, _ kind: Kind, byteCount: Int, packetCount: Int = 1, at now: MediaTime
  ) -> Bool {
    precondition(packetCount > 0, "an item has a packet")
    let entry = Entry(item: item, kind: kind, byteCount: byteCount, packetCount: packetCount, enqueued: now)
    switch kind {
    case .audio:
      if self.audio.count >= Self.maximumAudio {
        self.audio.removeFirst()
        self.dropCounts.audio += 1
      }
      self.audio.append(entry)
      return true
    case .retransmission:
      guard self.retransmissions.count < Self.maximumRetransmissions else {
        self.dropCounts.retransmissions += 1
        return false
      }
      self.retransmissions.append(entry)
      return true
    case .video(let isKeyframe):
      if isKeyframe { self.dropFrames(at: now, before: true) } else { self.dropFrames(at: now) }
      guard isKeyframe || !self.needsKeyframe, self.video.count < Self.maximumFrames else {
        self.dropCounts.frames += 1
        self.needsKeyframe = true
        return false
      }
      if isKeyframe { self.needsKeyframe = false }
      self.video.append(entry)
      return true
    }
  }

  /// Drops frames that have not begun: another rendition follows with its keyframe.
  package mutating func dropVideo() {
    self.removeFrames { _ in true }
    self.needsKeyframe = true
  }

  /// Drops all video and all retransmissions, also the rest of a frame that has begun: they must not be shown any more.
  package mutating func discard() {
    guard !self.video.isEmpty || !self.retransmissions.isEmpty else { return }
    if !self.video.isEmpty { self.needsKeyframe = true }
    self.dropCounts.frames += self.video.count
    self.video.removeAll()
    self.retransmissions.removeAll()
  }

  /// Returns what is to be sent next; call it until it returns nil, then at ``nextDeadline``.
  package mutating func release(at now: MediaTime) -> Release? {
    if let entry = self.audio.popFirst() { return self.release(entry, 0..<entry.packetCount, at: now) }
    guard self.mayRelease(at: now) else { return nil }
    self.addCredit(at: now)
    while let first = self.retransmissions.first {
      guard now - first.enqueued <= Self.retransmissionLifetime else {
        self.retransmissions.removeFirst()
        self.dropCounts.retransmissions += 1
        continue
      }
      guard self.bitrate == nil || self.retransmissionCredit >= Double(first.byteCount) else { break }
      self.retransmissions.removeFirst()
      self.retransmissionCredit -= Double(first.byteCount)
      return self.release(first, 0..<first.packetCount, at: now)
    }
    self.dropFrames(at: now)
    if let first = self.video.first { return self.releaseVideo(first, at: now) }
    guard let probe = self.probe else { return nil }
    let byteCount = min(max(probe.remaining, 200), 1200)
    self.count(byteCount, at: now)
    return .padding(byteCount: byteCount, probe: probe.cluster.id)
  }

  /// Bits per second at which packets leave now; nil for no limit.
  private var pace: Double? {
    if let probe = self.probe { return Double(probe.cluster.bitrate) }
    guard let bitrate else { return nil }
    guard bitrate < self.capacity else { return bitrate * Self.rateFactor }
    // A frame that has begun must end: without its rest it is of no use.
    return (self.video.first?.nextPacket ?? 0) > 0 ? self.capacity : bitrate * Self.drainingFactor
  }

  private mutating func mayRelease(at now: MediaTime) -> Bool {
    guard self.pace != nil, let busyUntil = self.busyUntil, busyUntil > now else {
      self.burst = now
      return true
    }
    // A probe is measured by its even spacing.
    return self.probe == nil && self.burst == now && busyUntil - now < Self.quantum
  }

  /// Releases as many packets of the first frame as the pace allows for now.
  private mutating func releaseVideo(_ first: Entry, at now: MediaTime) -> Release {
    var end = first.packetCount
    if let pace = self.pace {
      let ahead = Self.quantum - (max(self.busyUntil ?? now, now) - now)
      let byteCount = max(0, ahead.seconds) * pace / 8
      let count = Int(byteCount / (Double(first.byteCount) / Double(first.packetCount)))
      end = min(end, first.nextPacket + max(1, self.probe == nil ? count : 1))
    }
    let packets = first.nextPacket..<end
    if end == first.packetCount {
      self.video.removeFirst()
    } else {
      self.video[self.video.startIndex].nextPacket = end
    }
    return self.release(first, packets, at: now)
  }

  private mutating func release(_ entry: Entry, _ packets: Range<Int>, at now: MediaTime) -> Release {
    let id = self.probe?.cluster.id ?? 0
    self.count(entry.byteCount * packets.count / entry.packetCount, at: now)
    return .packets(entry.item, entry.kind, packets, probe: id)
  }

  private mutating func count(_ byteCount: Int, at now: MediaTime) {
    if let pace = self.pace {
      // Unused time is not saved for later, except for the inaccuracy of a timer during a probe.
      var start = max(self.busyUntil ?? now, now)
      if self.probe != nil, let busyUntil, now - busyUntil < Self.timerTolerance { start = busyUntil }
      self.busyUntil = start + MediaDuration(nanoseconds: Int64(Double(byteCount) * 8 / pace * 1e9))
    }
    guard let probe = self.probe else { return }
    let remaining = probe.remaining - byteCount
    self.probe = remaining > 0 ? (probe.cluster, remaining) : nil
    if remaining <= 0 { self.busyUntil = now }
  }

  private mutating func addCredit(at now: MediaTime) {
    guard let bitrate = self.bitrate else { return }
    let seconds = self.lastCredit.map { max(now - $0, .zero).seconds } ?? 0.5
    self.lastCredit = now
    let limit = max(bitrate / 8 * 0.5, 6000)
    self.retransmissionCredit = min(self.retransmissionCredit + seconds * bitrate / 8 / 2, limit)
  }

  /// Applies the drop rule.
  ///
  /// - Parameter isBeforeKeyframe: Whether a keyframe comes: frames that are late at half of the delay give way.
  private mutating func dropFrames(at now: MediaTime, before isBeforeKeyframe: Bool = false) {
    guard !self.video.isEmpty, let first = self.video.first(where: { $0.nextPacket == 0 }) else { return }
    let limit =
      first.kind == .video(isKeyframe: true)
      ? Self.maximumKeyframeDelay : isBeforeKeyframe ? Self.maximumDelay / 2 : Self.maximumDelay
    guard now - first.enqueued > limit else { return }
    var hasKeyframe = false
    self.removeFrames { entry in
      if entry.kind == .video(isKeyframe: true), now - entry.enqueued <= Self.maximumKeyframeDelay {
        hasKeyframe = true
      }
      return !hasKeyframe
    }
    if !hasKeyframe { self.needsKeyframe = true }
  }

  /// Removes frames that have not begun.
  private mutating func removeFrames(_ isRemoved: (Entry) -> Bool) {
    let count = self.video.count
    self.video.removeAll { $0.nextPacket == 0 && isRemoved($0) }
    self.dropCounts.frames += count - self.video.count
  }
}
