package import Media
internal import NIOCore

/// Sends a stream to a server and stays there: connects, sends, notices congestion, drops, adapts, and connects again for
/// ever. Shared by the pushes of all protocols, which perform its actions. Pure: `now` is an argument.
///
/// ```
///            start                    accepted
///   stopped ──────▶ connecting ─────────────────────▶ sending
///                    ▲      │ failed                     │ ended, stalled
///                    │      ▼                            │
///                    └── waiting 0.5, 1, 2 … 30 s ◀──────┘
/// ```
///
/// Samples wait in a bounded queue, and only a quarter second of them is passed to the connection at a time, and what is on its
/// way during a round trip: what waits in the system's buffer cannot be dropped. Congestion is judged by the age of what has not
/// left, without the round-trip time, for which the acknowledgement of what has left is awaited.
///
/// A push sends the stream's own encoding. When its link falls short and ``PushSettings/minimumBitrate`` allows, it requests
/// an encoding of its own (``Action/requestEncoding(bitrate:)``) whose bitrate follows the link, and releases it when the
/// link carries the stream again. No other viewer of the stream is affected. Without one, frames are dropped by the queue's
/// rule, and sending goes on with the next keyframe: one is requested only when none has come for
/// ``PushSettings/keyframeInterval``, since keyframes of the stream are those of all its viewers.
///
/// `Push` has one on the event loop of its connection, calls it with samples, the connection's events and the timer of ``nextDeadline``,
/// and performs what it returns:
///
/// ```swift
/// var sender = PushSender(settings: settings, makeRandom: { .random(in: 0...UInt64.max) })
/// self.perform(sender.start(now: clock.now()))             // [.connect]
/// self.perform(sender.enqueue(sample, now: clock.now()))   // .send, while it is connected
/// ```
package struct PushSender: ~Copyable {
  enum State {
    case stopped
    case connecting(since: MediaTime)
    case waiting(until: MediaTime)
    case sending(Connection)
  }

  /// Minimum and maximum delay before a new connection, without jitter: with it, none is longer than 29 s.
  private static let delays = (minimum: MediaDuration.milliseconds(500), maximum: MediaDuration.seconds(24))
  /// Interval between two decisions, and between two measurements while something has not left.
  private static let checkInterval = MediaDuration.milliseconds(100)
  private static let measurementInterval = MediaDuration.milliseconds(20)
  /// Minimum of the bytes passed to the connection that have not left.
  private static let minimumWindow: Int64 = 16 << 10
  /// Maximum round-trip time that is accounted for: samples in flight cannot be dropped.
  static let maximumRoundTripTime = MediaDuration.seconds(1)
  /// Maximum time in the connection that shortens the time in the queue: enough of that remains for a keyframe.
  static let maximumTransit = MediaDuration.seconds(1)

  var settings: PushSettings
  private let makeRandom: @Sendable () -> UInt64
  var state = State.stopped
  var queue: PushQueue
  var encoding = Encoding.stream
  private var delay = delays.minimum
  var keyframes = PushKeyframes()
  /// Whether no encoding of its own is requested any more, since one has failed.
  var isEncodingUnusable = false
  private var connectionCount = 0
  var counters = PushStatus()

  /// A push that is not started.
  ///
  /// - Parameter makeRandom: Returns random numbers, for the jitter of delays.
  package init(settings: PushSettings, makeRandom: @escaping @Sendable () -> UInt64) {
    self.settings = settings
    self.makeRandom = makeRandom
    self.queue = PushQueue()
    self.counters.bitrate = settings.bitrate
  }

  /// State and counters at a time, from which the age of the oldest queued sample is computed.
  package func status(at now: MediaTime) -> PushStatus {
    var status = self.counters
    status.hasOwnEncoding = if case .own = self.encoding { true } else { false }
    status.isWaitingForEncoding = self.encoding == .requested
    if !status.hasOwnEncoding { status.bitrate = self.settings.sharedBitrate ?? self.settings.bitrate }
    switch self.state {
    case .stopped: status.phase = .stopped
    case .connecting: status.phase = .connecting
    case .waiting(let time): status.phase = .waiting(until: time)
    case .sending(let connection):
      status.phase = .sending
      status.sentBitrate = connection.meter.bitrate
      status.queueAge = self.oldestUnsentAge(connection, at: now)
    }
    return status
  }

  /// Time at which ``update(unsentByteCount:roundTripTime:estimate:now:)`` is due; nil while the push is stopped.
  package var nextDeadline: MediaTime? {
    switch self.state {
    case .stopped: nil
    case .connecting(let since): since + self.settings.attemptTimeout
    case .waiting(let time): time
    case .sending(let connection):
      connection.unsent.isEmpty
        ? connection.nextCheck : min(connection.nextCheck, connection.lastMeasurement + Self.measurementInterval)
    }
  }

  /// Starts the push; without effect while it is started.
  package mutating func start(now: MediaTime) -> [Action] {
    guard case .stopped = self.state else { return [] }
    self.state = .connecting(since: now)
    self.delay = Self.delays.minimum
    return [.connect]
  }

  /// Stops the push and drops the queued samples.
  package mutating func stop(now: MediaTime) -> [Action] {
    var actions: [Action] = []
    switch self.state {
    case .stopped: return []
    case .connecting, .sending: actions.append(.disconnect)
    case .waiting: break
    }
    self.releaseEncoding(&actions)
    self.queue.removeAll()
    self.state = .stopped
    return actions
  }

  /// Begins to send, since the server has accepted the stream.
  package mutating func handleConnected(now: MediaTime) -> [Action] {
    guard case .connecting = self.state else { return [] }
    var connection = Connection(
      start: now, lastProgress: now, lastMeasurement: now, nextCheck: now + Self.checkInterval,
      meter: PushMeter(at: now))
    if let minimum = self.settings.minimumBitrate {
      connection.rates = PushRates(bounds: minimum...self.settings.bitrate, isEstimated: self.settings.hasEstimate)
    }
    self.state = .sending(connection)
    self.queue.removeAll()
    if self.connectionCount > 0 { self.counters.reconnects += 1 }
    self.connectionCount += 1
    self.counters.failedAttempts = 0
    self.keyframes = PushKeyframes()
    guard self.settings.hasVideo else { return [] }
    if self.settings.alwaysHasOwnEncoding, !self.isEncodingUnusable {
      self.encoding = .requested
      return [.requestEncoding(bitrate: self.settings.bitrate)]
    }
    return self.requestKeyframe(at: now)
  }

  /// Changes ``PushSettings/bitrate`` and ``PushSettings/sharedBitrate``: the stream's own has changed, or is known better.
  package mutating func setBitrates(_ bitrate: Int, shared: Int?) -> [Action] {
    self.settings = self.settings.with(bitrate: bitrate)
    self.settings.sharedBitrate = shared
    guard case .sending(var connection) = self.state else {
      self.counters.bitrate = self.settings.bitrate
      return []
    }
    connection.rates?.setMaximum(self.settings.bitrate)
    self.state = .sending(connection)
    let target = connection.rates?.bitrate ?? self.settings.bitrate
    guard target != self.counters.bitrate else { return [] }
    self.counters.bitrate = target
    guard case .own = self.encoding else { return [] }
    return [.setBitrate(target)]
  }

  /// Removes everything that waits: faces are private from now on, and earlier frames show them. The next frame that is sent is
  /// a keyframe. A connection that holds such frames is closed without sending them, and another one is opened at once.
  ///
  /// - Parameter unsentByteCount: As for ``update(unsentByteCount:roundTripTime:estimate:now:)``.
  package mutating func discardEarlier(unsentByteCount: Int, now: MediaTime) -> [Action] {
    self.queue.removeAll()
    guard case .sending = self.state, unsentByteCount > 0 else { return [] }
    var actions: [Action] = [.abort]
    self.releaseEncoding(&actions)
    self.state = .connecting(since: now)
    return actions + [.connect]
  }

  /// Schedules the next attempt after one that has failed, or after the end of the connection.
  ///
  /// - Parameters:
  ///   - reason: One line for the owner, without address and key.
  ///   - minimumDelay: Minimum time until the next attempt, as the server wants it; zero where it says nothing.
  package mutating func handleDisconnected(
    _ reason: String, minimumDelay: MediaDuration = .zero, now: MediaTime
  ) -> [Action] {
    switch self.state {
    case .stopped, .waiting: return []
    case .connecting: self.counters.failedAttempts += 1
    case .sending(let connection):
      if now - connection.start >= self.settings.calmTime { self.delay = Self.delays.minimum }
    }
    self.counters.lastFailure = reason
    var actions: [Action] = []
    self.releaseEncoding(&actions)
    self.queue.removeAll()
    self.state = .waiting(until: now + max(self.nextDelay(), minimumDelay))
    return actions
  }

  /// Opens a new connection when the server asks for it, since it is about to stop: at once, unless it has asked within
  /// ``PushSettings/calmTime``.
  package mutating func handleReconnectRequest(now: MediaTime) -> [Action] {
    guard case .sending(let connection) = self.state else { return [] }
    guard now - connection.start >= self.settings.calmTime else {
      return [.disconnect] + self.handleDisconnected("the server asks for a new connection", now: now)
    }
    var actions: [Action] = [.disconnect]
    self.releaseEncoding(&actions)
    self.queue.removeAll()
    self.state = .connecting(since: now)
    return actions + [.connect]
  }

  /// The delay before the next attempt, a fifth longer or shorter by chance, so that the clients of a restarted server do
  /// not all return at once.
  private mutating func nextDelay() -> MediaDuration {
    let delay = self.delay
    self.delay = min(delay * 2, Self.delays.maximum)
    let fifth = delay.nanoseconds / 5
    return delay + MediaDuration(nanoseconds: Int64(self.makeRandom() % UInt64(2 * fifth + 1)) - fifth)
  }

  /// Enqueues a sample of the encoding that is sent; it is dropped while nothing is connected.
  package mutating func enqueue(_ sample: EncodedSample, now: MediaTime) -> [Action] {
    guard case .sending(var connection) = self.state else { return [] }
    if !connection.isStarted {
      // Audio before the first frame cannot be played along with anything.
      guard !self.settings.hasVideo || sample.kind == .video && sample.isKeyframe else { return [] }
      connection.isStarted = true
    }
    var actions: [Action] = []
    if sample.kind == .video {
      self.keyframes.handleFrame(isKeyframe: sample.isKeyframe, isOfStream: self.encoding == .stream, at: now)
      if sample.isKeyframe { self.requestEncodingForKeyframes(&actions) }
      if self.keyframes.isOverdue(after: self.settings.keyframeInterval, at: now) {
        actions += self.requestKeyframe(at: now)
      }
    }
    self.note(self.queue.append(sample, at: now), &actions, at: now)
    self.release(from: &connection, &actions, at: now)
    self.state = .sending(connection)
    return actions
  }

  /// Sends a changed configuration of the codecs before the next keyframe, for the samples that follow. Queued samples
  /// cannot be decoded with it and are dropped.
  package mutating func configurationChanged() {
    guard case .sending(var connection) = self.state else { return }
    self.queue.removeAll()
    connection.needsConfiguration = true
    self.state = .sending(connection)
  }

  /// Applies a change of the audio's configuration as ``configurationChanged()`` does, and requests the keyframe that
  /// is waited for: the video has no reason to send one.
  package mutating func audioConfigurationChanged(now: MediaTime) -> [Action] {
    guard case .sending = self.state else { return [] }
    self.configurationChanged()
    return self.settings.hasVideo ? self.requestKeyframe(at: now) : []
  }

  /// Measures the connection, sends what it takes, and runs timers. Called at ``nextDeadline``, and whenever bytes have left.
  ///
  /// - Parameter unsentByteCount: Number of bytes that were passed to the connection and have not left: those of the
  ///   program's buffer and of the system's, and those on their way.
  /// - Parameter roundTripTime: Minimum round-trip time of the connection; zero where the system does not report one.
  /// - Parameter estimate: What the connection carries, in bits per second, where the protocol estimates it
  ///   (``PushSettings/hasEstimate``); nil while unknown.
  package mutating func update(
    unsentByteCount: Int = 0, roundTripTime: MediaDuration = .zero, estimate: Int? = nil, now: MediaTime
  ) -> [Action] {
    switch self.state {
    case .stopped: return []
    case .waiting(let time):
      guard now >= time else { return [] }
      self.state = .connecting(since: now)
      return [.connect]
    case .connecting(let since):
      guard now - since >= self.settings.attemptTimeout else { return [] }
      return [.disconnect] + self.handleDisconnected("the server does not accept the stream", now: now)
    case .sending(var connection):
      var actions: [Action] = []
      connection.measure(unsentByteCount: unsentByteCount, roundTripTime: roundTripTime, at: now)
      if unsentByteCount > 0, now - connection.lastProgress >= self.settings.stallTimeout {
        return [.disconnect] + self.handleDisconnected("nothing can be sent any more", now: now)
      }
      // Queued samples leave no earlier than those that were passed to the connection before them. A bitrate that
      // follows the link shortens that.
      let transit = connection.rates == nil ? connection.transit(at: now) : .zero
      self.note(self.queue.dropExpired(at: now + transit), &actions, at: now)
      self.release(from: &connection, &actions, at: now)
      if now >= connection.nextCheck {
        connection.nextCheck = now + Self.checkInterval
        connection.meter.update(byteCount: connection.releasedByteCount, at: now)
        self.adapt(&connection, estimate: estimate, &actions, at: now)
      }
      self.state = .sending(connection)
      return actions
    }
  }

  // MARK: Sending

  /// Passes samples to the connection until a quarter second of them, and what a round trip takes, has not left.
  private mutating func release(from connection: inout Connection, _ actions: inout [Action], at now: MediaTime) {
    let rate = Double(self.counters.bitrate) / 8
    let window = max(Self.minimumWindow, Int64(rate / 4)) + Int64(rate * connection.roundTripTime.seconds)
    while connection.releasedByteCount - connection.leftByteCount < window, let entry = self.queue.popFirst() {
      let sample = entry.sample
      if connection.needsConfiguration, !self.settings.hasVideo || sample.kind == .video && sample.isKeyframe {
        connection.needsConfiguration = false
        actions.append(.sendConfiguration)
      }
      let start = connection.releasedByteCount
      connection.releasedByteCount += Int64(sample.payload.readableBytes)
      let end = connection.releasedByteCount
      connection.rates?.handleReleased(start..<end, at: now)
      connection.unsent.append((entry.time, now, end))
      self.counters.sentByteCount += sample.payload.readableBytes
      actions.append(.send(sample))
    }
  }

  private mutating func note(_ drops: PushQueue.Drops, _ actions: inout [Action], at now: MediaTime) {
    self.counters.droppedFrames += drops.videoSamples
    self.counters.droppedAudioFrames += drops.audioSamples
    guard case .own = self.encoding, self.queue.isSkippingToKeyframe, drops.videoSamples > 0 else { return }
    actions += self.requestKeyframe(at: now)
  }

  mutating func requestKeyframe(at now: MediaTime) -> [Action] {
    self.keyframes.request(at: now) ? [.requestKeyframe] : []
  }

  func oldestUnsentAge(_ connection: Connection, at now: MediaTime) -> MediaDuration {
    let unsentAge = connection.unsent.first.map { now - $0.time - connection.roundTripTime } ?? .zero
    return max(unsentAge, self.waitingAge(at: now))
  }

  /// Age of the oldest sample in the queue, which can be dropped.
  func waitingAge(at now: MediaTime) -> MediaDuration {
    self.queue.oldestTime.map { now - $0 } ?? .zero
  }
}
