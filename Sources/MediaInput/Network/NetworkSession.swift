internal import Capture
internal import Media
internal import Synchronization
internal import Threading

/// One run of a network source from start to stop: a thread that connects, reads and reconnects, and a thread that plays.
final class NetworkSession: Sendable {
  private let specification: NetworkSpecification
  private let consumers: NetworkConsumers
  private let interrupt: LibavInterrupt
  /// The initial connection; nil where the first is still to be established.
  private let first: Mutex<(any NetworkConnection)?>
  /// Whether the source is tried again until its first packet, without a report.
  private let connectsLater: Bool
  let buffer = PlayoutBuffer()
  private let reading = WorkerThread(name: "network")
  private let playing = WorkerThread(name: "network-play")
  private let isReading = Monitor(true)
  /// Called with the format of the frames on the playing thread.
  private let onFormat: @Sendable (VideoFormat) -> Void
  private let audioFormat: AudioFormat?

  private static let initialBackoff = RetryBackoff(first: .milliseconds(500), maximum: .seconds(10))

  /// Minimum duration of a connection that resets the back-off.
  private static let stableDuration = MediaDuration.seconds(5)
  /// Maximum time that ``stop()`` waits for the reading thread: libavformat cannot be interrupted while it resolves a name.
  private static let stopTimeout = MediaDuration.milliseconds(700)

  init(
    _ connection: (any NetworkConnection)?, connectsLater: Bool, specification: NetworkSpecification,
    consumers: NetworkConsumers, audioFormat: AudioFormat?, onFormat: @escaping @Sendable (VideoFormat) -> Void
  ) {
    self.interrupt = connection?.interrupt ?? LibavInterrupt()
    self.connectsLater = connectsLater
    self.first = Mutex(connection)
    self.specification = specification
    self.consumers = consumers
    self.audioFormat = audioFormat
    self.onFormat = onFormat
  }

  /// Number of dropped packets.
  var droppedCount: Int { self.buffer.droppedCount }

  /// Whether the caller runs on the thread that delivers.
  var isDelivering: Bool { self.playing.isCurrent }

  /// Starts both threads, which keep this object alive until ``stop()``.
  func start() throws(VidiconError) {
    try self.playing.start { _ in self.play() }
    do throws(VidiconError) {
      try self.reading.start { signal in
        self.read(signal)
        self.isReading.withLock { $0 = false }
      }
    } catch {
      self.buffer.close()
      self.playing.stop()
      throw error
    }
  }

  /// Ends both threads; the reading thread is detached while it resolves a name.
  func stop() {
    self.interrupt.cancel()
    self.buffer.close()
    self.playing.stop()
    self.reading.signalStop()
    let hasEnded = self.isReading.wait(until: StreamClock.system.now() + Self.stopTimeout) { $0 ? nil : true } ?? false
    if hasEnded { self.reading.stop() } else { self.reading.abandon() }
  }
}

// MARK: Reading thread
extension NetworkSession {
  private func read(_ signal: StopSignal) {
    var connection = self.first.withLock { $0.take() }
    var timeline = SourceTimeline()
    var backoff = Self.initialBackoff
    // Before the first packet the source has not ended, and only errors that do not pass are news.
    var isFirst = connection == nil || self.connectsLater
    var isLost = isFirst
    // Before any other connection the slate may have been shown: no frame is to have an earlier time than that.
    var startWaits = connection != nil
    while !signal.isStopped {
      do throws(VidiconError) {
        if connection == nil {
          let pause = backoff.next(jitter: Double.random(in: -1...1))
          guard signal.wait(until: StreamClock.system.now() + pause) else { break }
          connection = try self.connect()
        }
        guard let current = connection.take() else { continue }
        let start = StreamClock.system.now()
        defer { if StreamClock.system.now() - start >= Self.stableDuration { backoff = Self.initialBackoff } }
        let isFromStart = startWaits
        startWaits = false
        let hasEnded = try self.read(current, &timeline, startWaits: isFromStart) { (isLost, isFirst) = (false, false) }
        if hasEnded, !isLost {
          isLost = true
          self.buffer.append(.lost(nil))
        }
      } catch {
        guard !signal.isStopped, !isLost || isFirst && !error.mayPass else { continue }
        (isLost, isFirst) = (true, false)
        self.buffer.append(.lost(error))
      }
    }
  }

  /// Reconnects; the source must still have video if it is consumed.
  private func connect() throws(VidiconError) -> any NetworkConnection {
    let connection = try NetworkConnections.open(self.specification, interrupt: self.interrupt)
    guard connection.tracks.videoFormat != nil || !self.consumers.isAttached(.video) else {
      throw VidiconError(
        .missingTrack, subject: self.specification.description, cause: "it no longer sends video",
        nextStep: "list its streams with: ffprobe \(self.specification)")
    }
    return connection
  }

  /// Reads until the connection is lost or the buffer is closed.
  ///
  /// - Parameters:
  ///   - startWaits: Whether the first packets wait for each other: of the first connection alone.
  ///   - onPacket: Called for each packet.
  ///   - now: The clock on which packets arrive.
  /// - Returns: Whether the source has ended, without a failure.
  func read(
    _ connection: any NetworkConnection, _ timeline: inout SourceTimeline, startWaits: Bool, onPacket: () -> Void,
    now: () -> MediaTime = { StreamClock.system.now() }
  ) throws(VidiconError) -> Bool {
    timeline.restart(connection.pace, startWaits: startWaits && connection.pace != .counted)
    self.buffer.append(.tracks(connection.tracks))
    while !self.interrupt.isCancelled {
      guard let item = try connection.read() else { continue }
      var packet: NetworkPacket
      switch item {
      case .packet(let received): packet = received
      case .changedPace(let pace):
        timeline.restart(pace)
        continue
      case .changedCodecs(let codecs):
        self.buffer.appendChange(codecs)
        continue
      case .changedVideo(let track):
        self.buffer.append(.video(track))
        continue
      case .changedAudio(let track):
        self.buffer.append(.audio(track))
        continue
      case .videoWaits(let reason):
        self.buffer.append(.videoWaits(reason))
        continue
      case .ended: return true
      }
      onPacket()
      packet.times = timeline.map(
        packet.kind, decode: packet.decodeTime, presentation: packet.presentationTime, arrival: now())
      if let end = timeline.startEnd { self.buffer.holdStart(until: end, movedBy: timeline.takeMove()) }
      guard !timeline.skips(packet.kind, at: packet.times, isKeyframe: packet.isKeyframe) else { continue }
      if let span = timeline.bufferedSpan {
        guard self.buffer.appendWaiting(packet, span: span) else { return false }
      } else {
        self.buffer.appendLive(packet)
      }
    }
    return false
  }
}

// MARK: Playing thread
extension NetworkSession {
  private func play() {
    self.buffer.play(to: self.consumers, audioFormat: self.audioFormat, onFormat: self.onFormat)
  }
}
