public import Media
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
/// Samples wait in a bounded queue, and only a quarter second of them is passed to the connection at a time: what waits in
/// the system's buffer cannot be dropped. Congestion is judged by the age of what has not left.
///
/// A push sends the stream's own encoding. When its link falls short and ``PushSettings/minimumBitrate`` allows, it requests
/// an encoding of its own (``Action/requestEncoding(bitrate:)``) whose bitrate follows the link, and releases it when the
/// link carries the stream again. No other viewer of the stream is affected. Without one, frames are dropped by the queue's
/// rule, and sending goes on with the next keyframe: one is requested only when none has come for
/// ``PushSettings/keyframeInterval``, since keyframes of the stream are those of all its viewers.
public struct PushSender: ~Copyable {
  /// An action, performed in the order of the array.
  public enum Action: Sendable {
    /// Open a connection; call ``PushSender/handleConnected(now:)`` when the server accepts the stream, or
    /// ``PushSender/handleDisconnected(_:now:)``.
    case connect
    /// Close the connection or give the attempt up, without a call of ``PushSender/handleDisconnected(_:now:)``.
    case disconnect
    /// Send the codecs' configuration, before the next sample: at the start of a connection, and when it has changed.
    case sendConfiguration
    /// Send a sample, in decoding order; audio and video share the connection.
    case send(EncodedSample)
    /// Request a keyframe of the encoding that is sent.
    case requestKeyframe
    /// Start an encoding for this push alone, if one can be had, and call ``PushSender/encodingGranted(now:)``.
    case requestEncoding(bitrate: Int)
    /// Set the bitrate of the encoding of this push alone, in bits per second.
    case setBitrate(Int)
    /// End the encoding of this push alone: the stream's own is sent again, from a keyframe on.
    case releaseEncoding
  }

  private enum State {
    case stopped
    case connecting(since: MediaTime)
    case waiting(until: MediaTime)
    case sending(Connection)
  }

  /// The connection that a server has accepted.
  fileprivate struct Connection {
    var start: MediaTime
    var isStarted = false
    /// Whether the configuration is to be sent before the next keyframe.
    var needsConfiguration = true
    /// Bytes passed to the connection, and those that have left it.
    var releasedByteCount: Int64 = 0
    var leftByteCount: Int64 = 0
    /// Enqueue times of samples that have not left, each with ``releasedByteCount`` behind it.
    var unsent: [(time: MediaTime, end: Int64)] = []
    var lastProgress: MediaTime
    var lastMeasurement: MediaTime
    var nextCheck: MediaTime
    /// Nil where the bitrate does not follow the link.
    var rates: PushBitrate?
  }

  private enum Encoding: Equatable {
    case stream
    case requested
    /// Since when the bitrate is the stream's, so that the encoding is not needed.
    case own(fullSince: MediaTime?)
  }

  /// Minimum and maximum delay before a new connection, without jitter: with it, none is longer than 29 s.
  private static let delays = (minimum: MediaDuration.milliseconds(500), maximum: MediaDuration.seconds(24))
  /// Interval between two decisions, and between two measurements while something has not left.
  private static let checkInterval = MediaDuration.milliseconds(100)
  private static let measurementInterval = MediaDuration.milliseconds(20)
  /// Minimum of the bytes passed to the connection that have not left.
  private static let minimumWindow: Int64 = 16 << 10
  /// Minimum time between two requests for a keyframe.
  private static let keyframeInterval = MediaDuration.seconds(1)
  /// Time at the stream's bitrate after which an encoding of its own is released.
  private static let releaseTime = MediaDuration.seconds(15)

  private var settings: PushSettings
  private let makeRandom: @Sendable () -> UInt64
  private var state = State.stopped
  private var queue: PushQueue
  private var encoding = Encoding.stream
  private var delay = delays.minimum
  private var lastKeyframeRequest: MediaTime?
  /// When the last keyframe of the encoding that is sent has come; nil before the first of a connection.
  private var lastKeyframe: MediaTime?
  /// Whether no encoding of its own is requested any more, since one has failed.
  private var isEncodingUnusable = false
  private var connectionCount = 0
  private var counters = PushStatus()

  /// A push that is not started.
  ///
  /// - Parameter makeRandom: Returns random numbers, for the jitter of delays.
  public init(settings: PushSettings, makeRandom: @escaping @Sendable () -> UInt64) {
    self.settings = settings
    self.makeRandom = makeRandom
    self.queue = PushQueue()
    self.counters.bitrate = settings.bitrate
  }

  /// State and counters at a time, from which the age of the oldest queued sample is computed.
  public func status(at now: MediaTime) -> PushStatus {
    var status = self.counters
    status.hasOwnEncoding = if case .own = self.encoding { true } else { false }
    switch self.state {
    case .stopped: status.phase = .stopped
    case .connecting: status.phase = .connecting
    case .waiting(let time): status.phase = .waiting(until: time)
    case .sending(let connection):
      status.phase = .sending
      status.queueAge = self.oldestUnsentAge(connection, at: now)
    }
    return status
  }

  /// Time at which ``update(unsentByteCount:now:)`` is due; nil while the push is stopped.
  public var nextDeadline: MediaTime? {
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
  public mutating func start(now: MediaTime) -> [Action] {
    guard case .stopped = self.state else { return [] }
    self.state = .connecting(since: now)
    self.delay = Self.delays.minimum
    return [.connect]
  }

  /// Stops the push. What waits is not sent.
  public mutating func stop(now: MediaTime) -> [Action] {
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

  /// Handles that the server has accepted the stream.
  public mutating func handleConnected(now: MediaTime) -> [Action] {
    guard case .connecting = self.state else { return [] }
    var connection = Connection(
      start: now, lastProgress: now, lastMeasurement: now, nextCheck: now + Self.checkInterval)
    if let minimum = self.settings.minimumBitrate {
      connection.rates = PushBitrate(bounds: minimum...self.settings.bitrate)
    }
    self.state = .sending(connection)
    self.queue.removeAll()
    if self.connectionCount > 0 { self.counters.reconnects += 1 }
    self.connectionCount += 1
    self.counters.failedAttempts = 0
    self.lastKeyframeRequest = nil
    self.lastKeyframe = nil
    guard self.settings.hasVideo else { return [] }
    if self.settings.alwaysHasOwnEncoding, !self.isEncodingUnusable {
      self.encoding = .requested
      return [.requestEncoding(bitrate: self.settings.bitrate)]
    }
    return self.requestKeyframe(at: now)
  }

  /// Changes ``PushSettings/bitrate``, from the next connection on.
  public mutating func setBitrate(_ bitrate: Int) {
    self.settings = self.settings.with(bitrate: bitrate)
    if case .sending = self.state { return }
    self.counters.bitrate = self.settings.bitrate
  }

  /// Removes everything that waits: faces are private from now on, and earlier frames show them. The next frame that is sent is
  /// a keyframe.
  public mutating func discardEarlier() {
    self.queue.removeAll()
  }

  /// Handles that the attempt has failed, or that the connection has ended.
  ///
  /// - Parameter reason: One line for the owner, without address and key.
  public mutating func handleDisconnected(_ reason: String, now: MediaTime) -> [Action] {
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
    self.state = .waiting(until: now + self.nextDelay())
    return actions
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
  public mutating func enqueue(_ sample: EncodedSample, now: MediaTime) -> [Action] {
    guard case .sending(var connection) = self.state else { return [] }
    if !connection.isStarted {
      // Audio before the first frame cannot be played along with anything.
      guard !self.settings.hasVideo || sample.kind == .video && sample.isKeyframe else { return [] }
      connection.isStarted = true
    }
    var actions: [Action] = []
    if sample.kind == .video {
      if sample.isKeyframe { self.lastKeyframe = now }
      if let lastKeyframe, now - lastKeyframe > self.settings.keyframeInterval {
        actions += self.requestKeyframe(at: now)
      }
    }
    self.note(self.queue.append(sample, at: now), &actions, at: now)
    self.release(from: &connection, &actions, at: now)
    self.state = .sending(connection)
    return actions
  }

  /// Handles a change of the codecs' configuration for the samples that follow: it is sent before the next keyframe. What waits
  /// cannot be decoded with it.
  public mutating func configurationChanged() {
    guard case .sending(var connection) = self.state else { return }
    self.queue.removeAll()
    connection.needsConfiguration = true
    self.state = .sending(connection)
  }

  /// Handles the grant of an encoding for this push alone. Samples of it follow, from a keyframe on.
  public mutating func encodingGranted(now: MediaTime) -> [Action] {
    guard self.encoding == .requested else { return [.releaseEncoding] }
    self.encoding = .own(fullSince: nil)
    guard case .sending = self.state else { return [] }
    self.configurationChanged()
    var actions: [Action] = [.setBitrate(self.counters.bitrate)]
    // Queued samples of the stream's encoding cannot be continued by this one.
    self.queue.removeAll()
    actions += self.requestKeyframe(at: now)
    return actions
  }

  /// Handles the refusal of an encoding for this push alone: frames are dropped instead. It is requested again at the next
  /// change of the bitrate.
  public mutating func encodingRefused() {
    if self.encoding == .requested { self.encoding = .stream }
  }

  /// Handles the failure of the encoding for this push alone: the stream's own is sent, and no other is requested.
  public mutating func encodingFailed(now: MediaTime) -> [Action] {
    self.isEncodingUnusable = true
    guard self.encoding != .stream else { return [] }
    var actions: [Action] = []
    self.releaseEncoding(&actions)
    guard case .sending = self.state else { return actions }
    self.configurationChanged()
    return actions + self.requestKeyframe(at: now)
  }

  /// Measures the connection, sends what it takes, and runs timers. Called at ``nextDeadline``, and whenever bytes have left.
  ///
  /// - Parameter unsentByteCount: Number of bytes that were passed to the connection and have not left: those of the
  ///   program's buffer and of the system's.
  public mutating func update(unsentByteCount: Int = 0, now: MediaTime) -> [Action] {
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
      connection.measure(unsentByteCount: unsentByteCount, at: now)
      if unsentByteCount > 0, now - connection.lastProgress >= self.settings.stallTimeout {
        return [.disconnect] + self.handleDisconnected("nothing can be sent any more", now: now)
      }
      self.note(self.queue.dropExpired(at: now), &actions, at: now)
      self.release(from: &connection, &actions, at: now)
      if now >= connection.nextCheck {
        connection.nextCheck = now + Self.checkInterval
        self.adapt(&connection, &actions, at: now)
      }
      self.state = .sending(connection)
      return actions
    }
  }

  // MARK: Sending

  /// Passes samples to the connection until a quarter second of them has not left.
  private mutating func release(from connection: inout Connection, _ actions: inout [Action], at now: MediaTime) {
    let window = max(Self.minimumWindow, Int64(self.counters.bitrate) / 8 / 4)
    while connection.releasedByteCount - connection.leftByteCount < window, let entry = self.queue.popFirst() {
      let sample = entry.sample
      if connection.needsConfiguration, !self.settings.hasVideo || sample.kind == .video && sample.isKeyframe {
        connection.needsConfiguration = false
        actions.append(.sendConfiguration)
      }
      if connection.releasedByteCount == connection.leftByteCount {
        let leftByteCount = connection.leftByteCount
        connection.rates?.burstBegins(leftByteCount: leftByteCount, at: now)
      }
      connection.releasedByteCount += Int64(sample.payload.readableBytes)
      connection.unsent.append((entry.time, connection.releasedByteCount))
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

  private mutating func requestKeyframe(at now: MediaTime) -> [Action] {
    if let lastKeyframeRequest, now - lastKeyframeRequest < Self.keyframeInterval { return [] }
    self.lastKeyframeRequest = now
    return [.requestKeyframe]
  }

  private func oldestUnsentAge(_ connection: Connection, at now: MediaTime) -> MediaDuration {
    (connection.unsent.first?.time ?? self.queue.oldestTime).map { now - $0 } ?? .zero
  }

  // MARK: Bitrate

  private mutating func adapt(_ connection: inout Connection, _ actions: inout [Action], at now: MediaTime) {
    let (leftByteCount, age) = (connection.leftByteCount, self.oldestUnsentAge(connection, at: now))
    if let bitrate = connection.rates?.update(leftByteCount: leftByteCount, age: age, at: now) {
      self.counters.bitrate = bitrate
      self.apply(bitrate, &actions)
    }
    guard case .own(let fullSince) = self.encoding else { return }
    guard self.counters.bitrate >= self.settings.bitrate else { return self.encoding = .own(fullSince: nil) }
    self.encoding = .own(fullSince: fullSince ?? now)
    if let fullSince, !self.settings.alwaysHasOwnEncoding, now - fullSince >= Self.releaseTime {
      self.releaseEncoding(&actions)
      connection.needsConfiguration = true
      self.queue.removeAll()
      actions += self.requestKeyframe(at: now)
    }
  }

  private mutating func apply(_ bitrate: Int, _ actions: inout [Action]) {
    switch self.encoding {
    case .stream where bitrate < self.settings.bitrate && !self.isEncodingUnusable:
      self.encoding = .requested
      actions.append(.requestEncoding(bitrate: bitrate))
    case .own: actions.append(.setBitrate(bitrate))
    case .stream, .requested: break
    }
  }

  private mutating func releaseEncoding(_ actions: inout [Action]) {
    if self.encoding != .stream { actions.append(.releaseEncoding) }
    self.encoding = .stream
    self.counters.bitrate = self.settings.bitrate
  }
}

extension PushSender.Connection {
  /// Follows what has left.
  fileprivate mutating func measure(unsentByteCount: Int, at now: MediaTime) {
    let left = max(self.leftByteCount, self.releasedByteCount - Int64(unsentByteCount))
    if left > self.leftByteCount || unsentByteCount == 0 { self.lastProgress = now }
    self.leftByteCount = left
    self.lastMeasurement = now
    self.rates?.measure(leftByteCount: left, isEmpty: left == self.releasedByteCount, at: now)
    if let kept = self.unsent.firstIndex(where: { $0.end > left }) {
      self.unsent.removeFirst(kept)
    } else {
      self.unsent.removeAll(keepingCapacity: true)
    }
  }
}
