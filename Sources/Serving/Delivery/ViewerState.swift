package import Media

/// Decides what one viewer of a stream is sent: nothing, everything, or nothing until the next keyframe. Pure: `now` is an
/// argument.
///
/// ```
///              keyframe             unsent for maximumAge
///   waiting ────────────▶ playing ────────────────────────▶ skipping
///                            ▲                                  │
///                            └────── sent, then a keyframe ─────┘
/// ```
///
/// A viewer is judged by the age of its oldest unsent delivery, not by bytes: while the connection has unsent bytes,
/// deliveries are queued; when the oldest is ``Limits/maximumAge`` old, all that are queued are dropped, and the viewer
/// resumes at the first keyframe after the connection has sent the rest. A viewer whose connection sends nothing for
/// ``Limits/stallTimeout`` is closed.
///
/// A viewer with audio only starts at any delivery, and resumes as soon as the rest is sent.
///
/// The connection passes each delivery and each change of its write buffer in, and performs the returned action.
package struct ViewerState: Sendable {
  /// Time limits of slow viewers.
  package struct Limits: Hashable, Sendable {
    /// Age of the oldest unsent delivery from which nothing is queued; 1 s by default.
    package var maximumAge = MediaDuration.seconds(1)
    /// Time without progress after which the connection is closed; 10 s by default.
    package var stallTimeout: MediaDuration

    /// Limits, by default of 1 s and 10 s.
    package init(stallTimeout: MediaDuration = .seconds(10)) {
      self.stallTimeout = stallTimeout
    }
  }

  /// Contents of a delivery for the tracks that the viewer has set up.
  package struct Delivery: Hashable, Sendable {
    /// Kinds of access units by what decoding needs before them.
    package enum Video: Hashable, Sendable {
      /// Decoding can start with it.
      case keyframe
      /// Decoding needs the access unit before it.
      case dependent
    }

    /// Whether there are audio frames.
    package var hasAudio: Bool
    /// The access unit, at most one.
    package var video: Video?

    /// A delivery of audio frames, an access unit, or both.
    package init(hasAudio: Bool = false, video: Video? = nil) {
      self.hasAudio = hasAudio
      self.video = video
    }

    /// The same for a viewer with these tracks.
    package func limited(toVideo hasVideo: Bool, audio hasAudio: Bool) -> Delivery {
      Delivery(hasAudio: self.hasAudio && hasAudio, video: hasVideo ? self.video : nil)
    }
  }

  /// Treatment of a delivery to one viewer.
  package enum Action: Hashable, Sendable {
    /// The viewer does not play yet, or has set up none of the delivery's tracks.
    case ignore
    /// Send what precedes media, then the access unit, or the audio to a viewer without video.
    case start
    /// Send all of it.
    case send
    /// Send the audio; the access unit depends on one that was skipped.
    case sendAudio
    /// Keep it behind all that are queued.
    case enqueue
    /// Drop it and all that are queued: this number of access units in all.
    case skip(frames: Int)
  }

  /// Next step when the connection has sent everything.
  package enum DrainAction: Hashable, Sendable {
    /// No step: the queue is empty.
    case none
    /// Send the oldest queued delivery.
    case sendQueued
    /// Drop all that are queued, this number of access units, and request a keyframe if the viewer has video.
    case resume(frames: Int, requestsKeyframe: Bool)
  }

  /// Next step when the timer fires.
  package enum TimerAction: Hashable, Sendable {
    /// The viewer stays.
    case none
    /// Close the connection: the client reads nothing.
    case close
  }

  private enum Phase {
    case waiting
    case playing
    case skipping
  }

  /// A connection with unsent bytes.
  private struct Blockage {
    /// Time at which the oldest unsent delivery was passed in.
    var since: MediaTime
    /// Unsent bytes at the last check.
    var byteCount: Int
    var lastProgress: MediaTime
    var nextCheck: MediaTime
  }

  private struct Queued {
    var time: MediaTime
    var hasVideo: Bool
  }

  /// Interval between two checks of progress.
  private static let checkInterval = MediaDuration.seconds(1)

  private let limits: Limits
  private let startsAtKeyframe: Bool
  private let skipsToKeyframe: Bool
  private var phase = Phase.waiting
  private var blockage: Blockage?
  private var queue: [Queued] = []
  /// Time at which the last sent delivery was passed in.
  private var lastSent: MediaTime?

  /// A viewer that has asked to play.
  ///
  /// - Parameters:
  ///   - startsAtKeyframe: Whether video is set up, over any transport.
  ///   - skipsToKeyframe: Whether video is set up over the connection.
  package init(limits: Limits = Limits(), startsAtKeyframe: Bool, skipsToKeyframe: Bool) {
    self.limits = limits
    self.startsAtKeyframe = startsAtKeyframe
    self.skipsToKeyframe = skipsToKeyframe
  }

  /// Whether the first delivery was sent.
  package var isStarted: Bool { self.phase != .waiting }

  /// Whether the connection has unsent bytes.
  package var isBlocked: Bool { self.blockage != nil }

  /// Whether reports may be sent: none before the start, and none while bytes are unsent that are too old.
  package var acceptsReports: Bool {
    switch self.phase {
    case .waiting: false
    case .playing: true
    case .skipping: !self.isBlocked
    }
  }

  /// Decides what becomes of a delivery.
  package mutating func handle(_ delivery: Delivery, at now: MediaTime) -> Action {
    guard delivery.hasAudio || delivery.video != nil else { return .ignore }
    switch self.phase {
    case .waiting:
      guard !self.startsAtKeyframe || delivery.video == .keyframe else { return .ignore }
      self.phase = .playing
      self.lastSent = now
      return .start
    case .playing:
      guard let blockage else {
        self.lastSent = now
        return .send
      }
      guard now - blockage.since < self.limits.maximumAge else { return self.skip(delivery) }
      self.queue.append(Queued(time: now, hasVideo: delivery.video != nil))
      return .enqueue
    case .skipping:
      guard !self.isBlocked else { return self.skip(delivery) }
      self.lastSent = now
      switch delivery.video {
      case .keyframe:
        self.phase = .playing
        return .send
      case .dependent: return delivery.hasAudio ? .sendAudio : .skip(frames: 1)
      case nil: return .send
      }
    }
  }

  /// Decides on several deliveries at once: whether all of them are sent, as while the viewer plays and nothing is unsent. If so,
  /// they are passed in; otherwise ``handle(_:at:)`` decides on each.
  package mutating func handleTogether(at now: MediaTime) -> Bool {
    guard self.phase == .playing, self.blockage == nil else { return false }
    self.lastSent = now
    return true
  }

  /// Records that access units were dropped outside the queue: a viewer with video over the connection goes on at a keyframe.
  package mutating func skipToKeyframe() {
    if self.isStarted, self.skipsToKeyframe { self.phase = .skipping }
  }

  /// Records that the connection could not send everything at once; without effect while it is known.
  ///
  /// - Parameter byteCount: Number of unsent bytes.
  package mutating func handleBlocked(byteCount: Int, at now: MediaTime) {
    guard self.blockage == nil else { return }
    self.blockage = Blockage(
      since: self.lastSent ?? now, byteCount: byteCount, lastProgress: now, nextCheck: now + Self.checkInterval)
  }

  /// Decides what follows when the connection has sent everything.
  package mutating func handleDrained(at now: MediaTime) -> DrainAction {
    self.blockage = nil
    if let first = self.queue.first {
      guard now - first.time < self.limits.maximumAge else { return self.resume() }
      self.queue.removeFirst()
      self.lastSent = first.time
      return .sendQueued
    }
    return self.phase == .skipping ? self.resume() : .none
  }

  /// Time at which ``handleTimer(byteCount:at:)`` is due; nil while everything is sent.
  package var nextDeadline: MediaTime? { self.blockage?.nextCheck }

  /// Checks the progress of a connection with unsent bytes. Without effect before ``nextDeadline``.
  ///
  /// - Parameter byteCount: Number of unsent bytes.
  package mutating func handleTimer(byteCount: Int, at now: MediaTime) -> TimerAction {
    guard var blockage, blockage.nextCheck <= now else { return .none }
    if byteCount < blockage.byteCount {
      blockage.lastProgress = now
    } else if now - blockage.lastProgress >= self.limits.stallTimeout {
      return .close
    }
    blockage.byteCount = byteCount
    blockage.nextCheck = now + Self.checkInterval
    self.blockage = blockage
    return .none
  }

  private mutating func skip(_ delivery: Delivery) -> Action {
    if self.skipsToKeyframe { self.phase = .skipping }
    return .skip(frames: self.dropQueue() + (delivery.video == nil ? 0 : 1))
  }

  private mutating func resume() -> DrainAction {
    if self.skipsToKeyframe { self.phase = .skipping }
    return .resume(frames: self.dropQueue(), requestsKeyframe: self.skipsToKeyframe)
  }

  /// Empties the queue, and returns the number of access units in it.
  private mutating func dropQueue() -> Int {
    defer { self.queue.removeAll() }
    return self.queue.count { $0.hasVideo }
  }
}
